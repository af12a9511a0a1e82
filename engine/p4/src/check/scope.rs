// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scopes and name lookup (spec section 6.8).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::source::Span;
use crate::token::Name;
use crate::typed::{ActionId, ConstId, FunctionId, InstanceId, TableId, ValueSetId, VarId};
use crate::types::Type;

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(super) enum Symbol {
    /// A type; generic ones have no arguments yet.
    Type(Type),
    /// Parsers, controls or packages that differ in their constructors.
    Overloads(Vec<Type>),
    Var(VarId),
    Const(ConstId),
    /// Functions that differ in their parameters.
    Functions(Vec<FunctionId>),
    Action(ActionId),
    Table(TableId),
    Instance(InstanceId),
    ValueSet(ValueSetId),
    /// A broken declaration.
    Poison,
}

impl Symbol {
    /// For messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Symbol::Type(_) | Symbol::Overloads(_) => "a type",
            Symbol::Var(_) => "a variable",
            Symbol::Const(_) => "a constant",
            Symbol::Functions(_) => "a function",
            Symbol::Action(_) => "an action",
            Symbol::Table(_) => "a table",
            Symbol::Instance(_) => "an instance",
            Symbol::ValueSet(_) => "a value set",
            Symbol::Poison => "a broken declaration",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) symbol: Symbol,
    pub(super) span: Span,
}

/// Scopes, innermost last.
#[derive(Debug)]
pub(super) struct Scopes {
    stack: Vec<FxHashMap<Name, Entry>>,
}

impl Scopes {
    pub(super) fn new() -> Scopes {
        Scopes { stack: vec![FxHashMap::default()] }
    }

    pub(super) fn push(&mut self) {
        self.stack.push(FxHashMap::default());
    }

    pub(super) fn pop(&mut self) {
        self.stack.pop();
    }

    /// Declares a name; returns the entry that already has the name in the same scope.
    pub(super) fn declare(&mut self, name: &Name, entry: Entry) -> Option<&mut Entry> {
        let scope = self.stack.last_mut().expect("the top level is never left");
        if scope.contains_key(name) {
            return scope.get_mut(name);
        }
        scope.insert(name.clone(), entry);
        None
    }

    /// Looks up a name, only at top level if `absolute`.
    pub(super) fn find(&self, name: &str, absolute: bool) -> Option<&Entry> {
        let scopes = if absolute { &self.stack[..1] } else { &self.stack[..] };
        scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// All visible names, in order.
    pub(super) fn visible(&self) -> BTreeMap<&Name, &Entry> {
        self.stack.iter().flatten().collect()
    }

    /// The visible name that is most similar to an unknown one.
    pub(super) fn nearest(&self, name: &str, wanted: impl Fn(&Symbol) -> bool) -> Option<String> {
        let visible = self.stack.iter().flat_map(|scope| scope.iter());
        nearest(name, visible.filter(|(_, entry)| wanted(&entry.symbol)).map(|(known, _)| &**known))
    }
}

/// The candidate most similar to a name, if one is similar enough.
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = match name.chars().count() {
        0..=1 => 0,
        2 => 1,
        3..=6 => 2,
        _ => 3,
    };
    let ranked = candidates.map(|candidate| (distance(name, candidate), candidate));
    ranked.filter(|&(distance, _)| distance <= limit).min().map(|(_, candidate)| candidate.to_string())
}

/// Number of insertions, deletions, replacements and swaps of neighbours between two words; 0 if only the case differs.
fn distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 0;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 3 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let same = a[i - 1] == b[j - 1];
            let mut best = (rows[i - 1][j - 1] + usize::from(!same)).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_only_if_near() {
        let names = ["ethernet", "ipv4", "ipv6", "tcp"];
        let near = |name| nearest(name, names.into_iter());
        assert_eq!(near("etehrnet").as_deref(), Some("ethernet"));
        assert_eq!(near("IPV4").as_deref(), Some("ipv4"));
        assert_eq!(near("vlan"), None);
    }
}
