// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stages: the blocks of a program that run in one go.

use marklab_p4::ir::visit::{any_statement, bodies};
use marklab_p4::ir::{Arch, BlockId, ExternCall, Program, Request, Stmt, StmtKind, Tna};

/// The parts of a program that run in one go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// v1model: parser, checksum verification, ingress. TNA: ingress parser, control and deparser, so the packet leaves
    /// the stage as bytes. If the parser [refuses](crate::Effects::refused) the packet, the stage ends.
    Ingress,
    /// v1model: egress. TNA: egress parser, control and deparser.
    Egress,
    /// v1model: checksum update and deparser, which rewrites the front of the packet.
    Deparse,
    /// v1model: the parser alone, for a clone of a packet as it arrived. Only for programs that clone in ingress.
    Parse,
    /// TNA: the ghost of Tofino 2, if the program has one. The packet is not used.
    Ghost,
}

impl Stage {
    /// All stages, of all architectures.
    pub const ALL: [Stage; 5] = [Stage::Ingress, Stage::Egress, Stage::Deparse, Stage::Parse, Stage::Ghost];

    /// The stages that every packet goes through, in order.
    pub fn of_packets(program: &Program) -> Vec<Stage> {
        match program.arch {
            Arch::V1Model { .. } => vec![Stage::Ingress, Stage::Egress, Stage::Deparse],
            Arch::Tna(_) => vec![Stage::Ingress, Stage::Egress],
        }
    }

    /// Whether a program has this stage.
    pub fn used_by(self, program: &Program) -> bool {
        !self.blocks(program).is_empty()
    }

    /// The blocks of a stage, in order.
    pub(crate) fn blocks(self, program: &Program) -> Vec<BlockId> {
        match program.arch {
            Arch::V1Model { parser, verify_checksum, ingress, egress, compute_checksum, deparser } => match self {
                Stage::Ingress => vec![parser, verify_checksum, ingress],
                Stage::Egress => vec![egress],
                Stage::Deparse => vec![compute_checksum, deparser],
                Stage::Parse if clones_in_ingress(program) => vec![parser],
                Stage::Parse | Stage::Ghost => Vec::new(),
            },
            Arch::Tna(Tna { ingress, egress, ghost, .. }) => match self {
                Stage::Ingress => vec![ingress.parser, ingress.control, ingress.deparser],
                Stage::Egress => vec![egress.parser, egress.control, egress.deparser],
                Stage::Ghost => ghost.into_iter().collect(),
                Stage::Deparse | Stage::Parse => Vec::new(),
            },
        }
    }

    /// The statements of the stage's blocks, without those of actions.
    pub fn bodies(self, program: &Program) -> Vec<&[Stmt]> {
        let blocks = self.blocks(program).into_iter();
        blocks.flat_map(|block| bodies(std::slice::from_ref(&program.blocks[block.index()]), &[], &[])).collect()
    }

    /// The deparser that ends a stage.
    pub(crate) fn deparser(self, program: &Program) -> Option<BlockId> {
        match (program.arch.clone(), self) {
            (Arch::V1Model { deparser, .. }, Stage::Deparse) => Some(deparser),
            (Arch::Tna(tna), Stage::Ingress) => Some(tna.ingress.deparser),
            (Arch::Tna(tna), Stage::Egress) => Some(tna.egress.deparser),
            _ => None,
        }
    }
}

fn clones_in_ingress(program: &Program) -> bool {
    let clones =
        |stmt: &StmtKind| matches!(stmt, StmtKind::Extern(ExternCall::Request(Request::Clone { egress: false, .. })));
    any_statement(bodies(&program.blocks, &program.actions, &program.register_actions), &clones)
}
