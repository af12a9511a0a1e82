//! Tables (p4c's `backends/tofino`; files as named at the checks).

use marklab_p4::ir::{BlockId, Program};

use crate::findings::{Findings, label};
use crate::flow::{Flow, What, exclusive};
use crate::limit::Limit;

/// Checks all tables.
pub(crate) fn check(program: &Program, flows: &[(BlockId, Flow<'_>)], findings: &mut Findings) {
    for (_, flow) in flows {
        applied_once(program, flow, findings);
    }
}

/// A packet passes a table once (`bf-p4c/common/multiple_apply.cpp`).
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
