// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Tofino cannot do, and what a program needs of a Tofino chip.
//!
//! Reads the IR of a TNA program and runs nothing. The limits are those that p4c's Tofino back end and its assembler
//! enforce; each check names the file that it is taken from. What takes the whole compiler (packing fields into
//! containers, crossbars, hash bits, the choice of memories) is estimated or left out: docs/tofino.md has the details.
//!
//! - [`limit`]: the closed list of messages; `remedy`: what to do about each; [`chip`]: numbers of the chips;
//! - `salu`: bodies of `RegisterAction`s as instructions of a stateful ALU;
//! - `flow`: controls as steps with the decisions that lead to them; `access`: accesses of registers; `attached`:
//!   registers, meters, counters and selectors that tables use;
//! - `actions`: what one action can do; `conditions`: gateways; `tables`: keys and applications of tables; `parser`:
//!   parsers and deparsers;
//! - [`estimate`]: stages, memories and bits.

mod access;
mod actions;
mod attached;
pub mod chip;
mod conditions;
pub mod estimate;
mod fields;
mod findings;
mod flow;
pub mod limit;
mod parser;
mod remedy;
mod salu;
mod tables;

use marklab_p4::Diagnostic;
use marklab_p4::ir::{Arch, BlockBody, BlockId, Program};
use marklab_p4::source::SourceMap;

use crate::chip::Limits;
use crate::estimate::Estimate;
use crate::findings::Findings;
use crate::flow::Flow;
use crate::limit::Limit;

/// Result of the examination of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examination {
    /// Everything that its chip cannot do, in the order of the source.
    pub diagnostics: Vec<Diagnostic<Limit>>,
    /// What the program needs.
    pub estimate: Estimate,
}

/// Examines a program for its chip; `None` if it is not written for Tofino.
pub fn examine(program: &Program, sources: &SourceMap) -> Option<Examination> {
    let Arch::Tna(tna) = &program.arch else { return None };
    let limits = Limits::of(tna.chip);
    let mut findings = Findings::default();
    let (blocks, flows): (Vec<BlockId>, Vec<Flow<'_>>) =
        [Some(tna.ingress.control), Some(tna.egress.control), tna.ghost]
            .into_iter()
            .flatten()
            .filter_map(|block| match &program.blocks[block.index()].body {
                BlockBody::Control(body) => Some((block, Flow::of(program, body))),
                BlockBody::Parser(_) => None,
            })
            .unzip();
    salu::check(program, &limits, &mut findings);
    access::check(program, &flows, &|flow| blocks[flow] == tna.egress.control, &mut findings);
    attached::check(program, &mut findings);
    actions::check(program, &flows, &mut findings);
    conditions::check(program, &flows, &mut findings);
    tables::check(program, &flows, &limits, &mut findings);
    parser::check(program, tna.ingress, tna.egress, &limits, &mut findings);
    let estimate = estimate::estimate(program, sources, &flows, &limits, &mut findings);
    Some(Examination { diagnostics: findings.into_list(), estimate })
}
