//! What Tofino cannot do, and what a program needs of it.
//!
//! Reads the IR of a TNA program and runs nothing. The limits are those that p4c's Tofino back end and its assembler
//! enforce; each check names the file that it is taken from. What takes the whole compiler (packing fields into
//! containers, crossbars, hash bits, the choice of memories) is estimated or left out, as docs/tofino.md says.
//!
//! - [`limit`]: the closed list of messages; `remedy`: what to do about them; [`chip`]: numbers;
//! - `salu`: bodies of `RegisterAction`s as instructions of a stateful ALU;
//! - `flow`: controls as steps with the decisions that lead to them; `access`: who uses which register;
//! - `actions`: one step each; `conditions`: gateways; `tables`: keys and applications of tables; `parser`: both ends.

mod access;
mod actions;
pub mod chip;
mod conditions;
mod findings;
mod flow;
pub mod limit;
mod parser;
mod remedy;
mod salu;
mod tables;

use marklab_p4::Diagnostic;
use marklab_p4::ir::{Arch, BlockBody, BlockId, Program};

use crate::chip::Limits;
use crate::findings::Findings;
use crate::flow::Flow;
use crate::limit::Limit;

/// Everything that a program asks of Tofino in vain; `None` if it is not written for Tofino.
pub fn check(program: &Program) -> Option<Vec<Diagnostic<Limit>>> {
    let Arch::Tna(tna) = &program.arch else { return None };
    let limits = Limits::of(tna.chip);
    let mut findings = Findings::default();
    let flows: Vec<(BlockId, Flow<'_>)> = [Some(tna.ingress.control), Some(tna.egress.control), tna.ghost]
        .into_iter()
        .flatten()
        .filter_map(|block| match &program.blocks[block.index()].body {
            BlockBody::Control(body) => Some((block, Flow::of(program, body))),
            BlockBody::Parser(_) => None,
        })
        .collect();
    salu::check(program, &limits, &mut findings);
    access::check(program, &flows, tna.egress.control, &mut findings);
    actions::check(program, &flows, &mut findings);
    conditions::check(&flows, &mut findings);
    tables::check(program, &flows, &limits, &mut findings);
    parser::check(program, tna.ingress, tna.egress, &limits, &mut findings);
    Some(findings.into_list())
}
