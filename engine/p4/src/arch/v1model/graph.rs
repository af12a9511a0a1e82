// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where tables are applied. For simple_switch a control is a graph, in which a table is one node, however often it is
//! applied.
//!
//! So a packet cannot meet a table twice, and each application of a table is followed by the same statement.
//! p4c-bm2-ss refuses other programs; here they run.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{BlockBody, Class, ExprKind, SlotId, Stmt, StmtKind, TableId, UnaryOp, visit};
use crate::lower::Lowerer;
use crate::source::Span;

/// A node of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Node {
    Table(TableId),
    /// Any other statement, by its address.
    Stmt(*const Stmt),
    End,
}

/// What is known about a point between statements.
#[derive(Clone, Debug)]
struct Point {
    /// What runs next.
    next: Node,
    /// If that branches on the result of a table: the slot of the result, and what runs next in each case.
    choice: Option<(SlotId, Vec<Node>)>,
    /// The tables that may still be applied, and where.
    ahead: FxHashMap<TableId, Span>,
}

/// A place at which a table is applied.
#[derive(Debug)]
struct Site {
    span: Span,
    /// What may run next.
    successors: Vec<Node>,
    /// Where the same packet may meet the table again.
    again: Option<Span>,
}

/// The walk through one control, from its end to its beginning.
struct Walk<'a> {
    is_nothing: &'a dyn Fn(&Stmt) -> bool,
    /// Sites by table.
    sites: BTreeMap<TableId, Vec<Site>>,
    /// The point where a `break` of a label continues.
    exits: FxHashMap<u32, Point>,
}

/// Places at which a table is applied in a way that p4c-bm2-ss does not allow, and a description of the construct.
pub(super) fn tables_beyond_bmv2(lowerer: &Lowerer<'_>) -> Vec<(Span, &'static str)> {
    let out = &lowerer.out;
    let read = read_slots(lowerer);
    let exit_flags: FxHashSet<SlotId> = lowerer.objects.iter().filter_map(|object| object.exit_flag).collect();
    // p4c removes variables that are never read, and replaces parameters by arguments.
    let is_nothing = |stmt: &Stmt| match &stmt.kind {
        // The test that follows an action with an `exit`.
        StmtKind::If { cond, .. } => result(cond).is_some_and(|slot| exit_flags.contains(&slot)),
        StmtKind::Assign { .. } if lowerer.applications.contains(&stmt.span) => true,
        StmtKind::Assign { dst, .. } => {
            matches!(out.slots[dst.slot.index()].class, Class::Local(_)) && !read.contains(&dst.slot)
        }
        _ => false,
    };
    let mut found = Vec::new();
    for block in &out.blocks {
        let BlockBody::Control(body) = &block.body else { continue };
        let mut walk = Walk { is_nothing: &is_nothing, sites: BTreeMap::new(), exits: FxHashMap::default() };
        walk.before(body, Point { next: Node::End, choice: None, ahead: FxHashMap::default() });
        for sites in walk.sites.values_mut() {
            sites.sort_by_key(|site| (site.span.file, site.span.start));
            found.extend(complaint(sites));
        }
    }
    found.sort_by_key(|(span, _)| (span.file, span.start));
    found
}

/// The fault of a table that is applied at these places, which are in source order.
fn complaint(sites: &[Site]) -> Option<(Span, &'static str)> {
    if let Some(again) = sites.iter().find_map(|site| site.again) {
        return Some((again, "a table that a packet may meet twice"));
    }
    let first = sites.first()?;
    let other = sites.iter().find(|site| !same(&site.successors, &first.successors))?;
    Some((other.span, "a table followed by different statements in different places"))
}

/// Whether both lists hold the same nodes.
fn same(one: &[Node], other: &[Node]) -> bool {
    one.len() == other.len()
        && one.iter().all(|node| other.contains(node))
        && other.iter().all(|node| one.contains(node))
}

/// All slots that some expression reads.
fn read_slots(lowerer: &Lowerer<'_>) -> FxHashSet<SlotId> {
    let out = &lowerer.out;
    let mut read = FxHashSet::default();
    let mut look = |expr| {
        visit::loads(expr, &mut |slot| {
            read.insert(slot);
        });
    };
    for body in visit::bodies(&out.blocks, &out.actions, &[]) {
        visit::statements(body, &mut |stmt| visit::operands(stmt).into_iter().for_each(&mut look));
    }
    visit::keys(&out.blocks, &out.tables).into_iter().for_each(look);
    read
}

impl Walk<'_> {
    /// The point before some statements, from the point after them.
    fn before(&mut self, body: &[Stmt], after: Point) -> Point {
        body.iter().rev().fold(after, |after, stmt| self.before_one(stmt, after))
    }

    fn before_one(&mut self, stmt: &Stmt, after: Point) -> Point {
        if (self.is_nothing)(stmt) {
            return after;
        }
        let node = Node::Stmt(std::ptr::from_ref(stmt));
        match &stmt.kind {
            StmtKind::Apply { table, hit, action_run } => self.apply(*table, hit.or(*action_run), stmt.span, after),
            StmtKind::If { cond, then, otherwise } => {
                let branches = [then, otherwise].map(|body| self.before(body, after.clone()));
                choice(node, result(cond), branches.into())
            }
            StmtKind::Switch { value, cases, default } => {
                let mut branches = vec![self.before(default, after.clone())];
                for (labels, body) in cases {
                    let branch = self.before(body, after.clone());
                    branches.extend(std::iter::repeat_n(branch, labels.len()));
                }
                choice(node, result(value), branches)
            }
            // p4c-bm2-ss keeps only the body of a loop; another warning reports that.
            StmtKind::Block { label, body } | StmtKind::Loop { label, body } => {
                self.exits.insert(label.0, after.clone());
                self.before(body, after)
            }
            StmtKind::Break(label) | StmtKind::Continue(label) => self.exits.get(&label.0).cloned().unwrap_or(after),
            StmtKind::Exit => Point { next: node, choice: None, ahead: FxHashMap::default() },
            _ => Point { next: node, choice: None, ahead: after.ahead },
        }
    }

    fn apply(&mut self, table: TableId, gives: Option<SlotId>, span: Span, after: Point) -> Point {
        let again = after.ahead.get(&table).copied();
        let successors = match after.choice {
            Some((slot, branches)) if Some(slot) == gives => branches,
            _ => vec![after.next],
        };
        self.sites.entry(table).or_default().push(Site { span, successors, again });
        let mut ahead = after.ahead;
        ahead.insert(table, span);
        Point { next: Node::Table(table), choice: None, ahead }
    }
}

/// The point before a choice among branches, one for each label.
fn choice(node: Node, result: Option<SlotId>, branches: Vec<Point>) -> Point {
    let next = branches.iter().map(|branch| branch.next).collect();
    let ahead = branches.into_iter().flat_map(|branch| branch.ahead).collect();
    Point { next: node, choice: result.map(|slot| (slot, next)), ahead }
}

/// The slot that decides a condition, if it reads only one.
fn result(expr: &crate::ir::Expr) -> Option<SlotId> {
    match &expr.kind {
        ExprKind::Load(place) => Some(place.slot),
        ExprKind::Unary(UnaryOp::Not, of) => result(of),
        _ => None,
    }
}
