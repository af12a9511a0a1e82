// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dependencies between logical tables: their order, and whether they need different stages (p4c's
//! `bf-p4c/mau/table_dependency_graph.h`).

use super::units::{Kind, Unit};
use crate::flow::exclusive;

/// A dependency: table `to` comes after table `from`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// 1 if `to` has to be in a later stage, 0 if it can be in the same stage.
    pub(super) stages: usize,
}

/// All dependencies between tables of the same control. Each leads from a smaller index to a larger one.
pub(super) fn edges(units: &[Unit]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (to, later) in units.iter().enumerate() {
        for (from, earlier) in units[..to].iter().enumerate() {
            if earlier.flow == later.flow
                && let Some(stages) = distance(earlier, later)
            {
                edges.push(Edge { from, to, stages });
            }
        }
    }
    edges
}

/// Stages between two tables of a control; `None` if they do not depend on each other.
fn distance(earlier: &Unit, later: &Unit) -> Option<usize> {
    if exclusive(&earlier.within, &later.within) {
        return None;
    }
    // Match, action and output dependencies.
    let writes = &earlier.writes;
    if [&later.matches, &later.reads, &later.writes].iter().any(|fields| writes.overlaps(fields)) {
        return Some(1);
    }
    // A decision comes before the tables that depend on it, and a read before a later write.
    let (first, last) = earlier.steps;
    let decides = later.within.iter().any(|choice| (first..=last).contains(&choice.decision));
    let anti = earlier.matches.overlaps(&later.writes) || earlier.reads.overlaps(&later.writes);
    (decides || anti).then_some(0)
}

/// Number of stages that the longest chain of dependent tables takes, and the chain.
pub(super) fn longest_chain(units: &[Unit], edges: &[Edge]) -> (usize, Vec<usize>) {
    // Stages before a table, and the table that it waits for.
    let mut before: Vec<(usize, Option<usize>)> = vec![(0, None); units.len()];
    for edge in edges {
        // Edges are sorted by `to`, so all edges to this edge's `from` came before.
        let stage = before[edge.from].0 + edge.stages;
        if stage > before[edge.to].0 {
            before[edge.to] = (stage, Some(edge.from));
        }
    }
    let Some(last) = (0..units.len()).max_by_key(|unit| (before[*unit].0, std::cmp::Reverse(*unit))) else {
        return (0, Vec::new());
    };
    let mut chain = vec![last];
    while let Some(from) = before[*chain.last().expect("begins with one")].1 {
        chain.push(from);
    }
    chain.reverse();
    (before[last].0 + 1, chain)
}

/// Number of stages that have to come after each table.
pub(super) fn urgency(units: &[Unit], edges: &[Edge]) -> Vec<usize> {
    let mut after = vec![0; units.len()];
    for edge in edges.iter().rev() {
        after[edge.from] = after[edge.from].max(after[edge.to] + edge.stages);
    }
    after
}

/// Whether each unit is a condition that shares the logical table of a table: it is the innermost condition around that
/// table.
pub(super) fn merged_conditions(units: &[Unit]) -> Vec<bool> {
    let mut merged = vec![false; units.len()];
    for unit in units.iter().filter(|unit| !matches!(unit.kind, Kind::Condition(_))) {
        let Some(choice) = unit.within.last() else { continue };
        let decides = |one: &Unit| one.flow == unit.flow && one.steps.0 == choice.decision;
        if let Some(index) = units.iter().position(|one| matches!(one.kind, Kind::Condition(_)) && decides(one)) {
            merged[index] = true;
        }
    }
    merged
}
