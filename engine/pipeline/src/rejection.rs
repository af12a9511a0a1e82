// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to a packet whose parser ends with an error.
//!
//! v1model goes on with the headers that were extracted. If the program rejects, or no case of a `select` matches,
//! v1model ends parsing without an error; Tofino counts both as errors. Its ingress parser then refuses the packet,
//! unless the program reads `parser_err`; its egress parser goes on. Tofino's parsers do not know errors by name, so
//! the bits of `parser_err` for the errors of the core library are our reading of the names.

use marklab_p4::ir::{Arch, BlockId, Program, SlotId, visit};

/// Codes of `parser_err` (`tofino.p4`). Any other error counts as `NoMatch`.
const TOFINO_CODES: [(&str, u32); 8] = [
    ("NoError", 0x0000),
    ("PacketTooShort", 0x0002),
    ("CounterRange", 0x0004),
    ("Timeout", 0x0008),
    ("ParserTimeout", 0x0010),
    ("StackOutOfBounds", 0x0040),
    ("PhvOwner", 0x0080),
    ("MultiWrite", 0x0100),
];

const TOFINO_NO_MATCH: u32 = 0x0001;

/// Name of the error of a rejection that names none; `None` if such a rejection is not an error.
pub(crate) fn unnamed(program: &Program) -> Option<&'static str> {
    matches!(program.arch, Arch::Tna(_)).then_some("NoMatch")
}

/// What happens when a parser ends with an error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rejection {
    /// The slot for the error.
    pub(crate) slot: Option<SlotId>,
    /// Whether the packet is refused, so that the stage ends.
    pub(crate) refuses: bool,
    tofino: bool,
}

impl Rejection {
    /// The rejection of a program's parser.
    pub(crate) fn of(program: &Program, parser: BlockId) -> Rejection {
        let Arch::Tna(tna) = &program.arch else {
            return Rejection {
                slot: program.intrinsic("standard_metadata.parser_error"),
                refuses: false,
                tofino: false,
            };
        };
        let ingress = parser == tna.ingress.parser;
        let metadata = if ingress { "ig_intr_md_from_prsr" } else { "eg_intr_md_from_prsr" };
        let slot = program.intrinsic(&format!("{metadata}.parser_err"));
        Rejection { slot, refuses: ingress && !slot.is_some_and(|slot| is_read(program, slot)), tofino: true }
    }

    /// The value stored for each error of the program, indexed by the error's code in the program.
    pub(crate) fn codes(self, program: &Program) -> Vec<u32> {
        let tofino = |name: &String| {
            TOFINO_CODES.iter().find(|(known, _)| known == name).map_or(TOFINO_NO_MATCH, |&(_, code)| code)
        };
        match self.tofino {
            true => program.errors.iter().map(tofino).collect(),
            false => (0..program.errors.len() as u32).collect(),
        }
    }
}

/// Whether a program reads a slot.
fn is_read(program: &Program, slot: SlotId) -> bool {
    let mut read = false;
    let mut look = |expr| visit::loads(expr, &mut |loaded| read |= loaded == slot);
    visit::keys(&program.blocks, &program.tables).into_iter().for_each(&mut look);
    for body in visit::bodies(&program.blocks, &program.actions, &program.register_actions) {
        visit::statements(body, &mut |stmt| visit::operands(stmt).into_iter().for_each(&mut look));
    }
    read
}
