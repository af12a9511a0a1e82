// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ghost thread of Tofino 2, which runs on each change of a queue's depth.

use marklab_p4::ir::Program;
use marklab_pipeline::{Layout, Packet, Stage};

use crate::common::Common;
use crate::intrinsic::Intrinsic;

/// Fields for the report of a queue.
#[derive(Debug)]
pub(super) struct Ghost {
    /// Depth in cells.
    qlength: Intrinsic,
    /// The queue's number among those of all ports, port by port; its pipe is 0.
    qid: Intrinsic,
}

impl Ghost {
    /// `None` for a program without a ghost.
    pub(super) fn new(program: &Program, layout: &Layout) -> Option<Ghost> {
        // Ingress may have a header of that type too, which precedes the ghost's in the list.
        let field = |name: &str| {
            let known = program.intrinsics.iter().rev().find(|(known, _)| known == name);
            Intrinsic::of(program, layout, known.map(|&(_, slot)| slot))
        };
        Stage::Ghost
            .used_by(program)
            .then(|| Ghost { qlength: field("gh_intr_md.qlength"), qid: field("gh_intr_md.qid") })
    }

    pub(super) fn run<F>(&self, common: &mut Common<F>, queue: usize, cells: u64) {
        let mut phv = common.blank();
        self.qlength.set_at_most(&mut phv, cells);
        self.qid.set(&mut phv, queue as u64);
        common.engine.run(Stage::Ghost, &mut common.state, &mut Packet::default(), &mut phv);
        common.effects();
        common.spare.push(phv);
    }
}
