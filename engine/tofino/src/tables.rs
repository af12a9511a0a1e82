// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables (p4c's `backends/tofino`; each check names its file).

use marklab_p4::ir::{ExprKind, MatchKind, Program, Table};

use crate::chip::{self, Limits};
use crate::findings::{Findings, label};
use crate::flow::{Flow, What, exclusive};
use crate::limit::Limit;

/// Checks all tables.
pub(crate) fn check(program: &Program, flows: &[Flow<'_>], limits: &Limits, findings: &mut Findings) {
    for table in &program.tables {
        range_keys(table, findings);
        mixed_keys(table, findings);
        ternary_bits(table, limits, findings);
    }
    for flow in flows {
        applied_once(program, flow, findings);
        results_alone(flow, findings);
    }
}

/// Checks that a packet passes a table once (`bf-p4c/common/multiple_apply.cpp`).
fn applied_once(program: &Program, flow: &Flow<'_>, findings: &mut Findings) {
    for (place, step) in flow.steps.iter().enumerate() {
        let What::Apply(table) = step.what else { continue };
        let mut earlier = flow.steps[..place].iter();
        let again = |one: &&crate::flow::Step<'_>| {
            matches!(one.what, What::Apply(other) if other == table) && !exclusive(&one.within, &step.within)
        };
        if let Some(earlier) = earlier.find(again) {
            let problem = Limit::AppliedTwice { table: program.tables[table.index()].name.clone() };
            findings.report_with(step.span, problem, vec![label(earlier.span, "applied here before")]);
        }
    }
}

/// Checks that a condition with the result of a table contains nothing else (`bf-p4c/common/extract_maupipe.cpp`).
fn results_alone(flow: &Flow<'_>, findings: &mut Findings) {
    for step in &flow.steps {
        if let What::Test { value, is_condition: true } = step.what
            && flow.reads_result(value)
        {
            findings.report(step.span, Limit::ResultInCondition {});
        }
    }
}

/// Checks that a range key touches at most 5 nibbles of a container (`bf-p4c/mau/resource_estimate.cpp`,
/// `input_xbar.cpp`).
fn range_keys(table: &Table, findings: &mut Findings) {
    for key in table.keys.iter().filter(|key| key.kind == MatchKind::Range) {
        let width = key.expr.ty.width;
        if width > chip::RANGE_KEY_BITS {
            let problem = Limit::RangeKey { key: key.name.clone(), width, limit: chip::RANGE_KEY_BITS };
            findings.report(key.expr.span, problem);
            continue;
        }
        let ExprKind::Slice { hi, lo, .. } = key.expr.kind else { continue };
        let (found, limit) = (hi / 4 - lo / 4 + 1, chip::RANGE_KEY_BITS / 4);
        if found > limit {
            let problem = Limit::RangeNibbles { key: key.name.clone(), low: lo, found, limit };
            findings.report(key.expr.span, problem);
        }
    }
}

/// Checks that a table with an `lpm` key has no `ternary` or `range` keys (`bf-p4c/midend/check_unsupported.cpp`).
fn mixed_keys(table: &Table, findings: &mut Findings) {
    let has = |kind| table.keys.iter().any(|key| key.kind == kind);
    for (kind, name) in [(MatchKind::Ternary, "ternary"), (MatchKind::Range, "range")] {
        if has(MatchKind::Lpm) && has(kind) {
            findings.report(table.span, Limit::MixedKeys { table: table.name.clone(), kind: name });
        }
    }
}

/// Checks that a table takes no more than all TCAMs of the chip (`bf-p4c/midend/check_unsupported.cpp`).
fn ternary_bits(table: &Table, limits: &Limits, findings: &mut Findings) {
    let ternary = table.keys.iter().filter(|key| key.kind == MatchKind::Ternary);
    let found = ternary.map(|key| u64::from(key.expr.ty.width)).sum::<u64>() * table.size;
    let limit = (chip::TCAM_BLOCKS * limits.stages) as u64 * chip::TCAM_ENTRIES * chip::TCAM_BITS;
    if found > limit {
        findings.report(table.span, Limit::TernaryBits { table: table.name.clone(), found, limit });
    }
}
