// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parser.

use std::fmt::Write;

use num_bigint::BigUint;

use super::Writer;
use super::expr::convert;
use super::scope::Type;

impl Writer<'_> {
    pub(super) fn parser(&mut self) -> String {
        let mut text = String::from(
            "parser Parse(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {\n",
        );
        let states = 1 + self.input.below(5);
        for state in 0..states {
            _ = writeln!(text, "    state {} {{", name(state));
            let mut consumes = false;
            for _ in 0..1 + self.input.below(3) {
                text += "        ";
                text += &self.step(&mut consumes);
                text.push('\n');
            }
            _ = writeln!(text, "        transition {}\n    }}", self.transition(state, states, consumes));
        }
        text + "}\n"
    }

    /// A statement. Sets `consumes` if it consumes part of the packet, so that a loop through its state ends.
    fn step(&mut self, consumes: &mut bool) -> String {
        match self.input.below(10) {
            0..=4 => self.extraction(consumes),
            5 => {
                let width = self.width();
                let at = self.input.below(self.scope.variables.len());
                let to = self.scope.variables[at].clone();
                if !to.writable {
                    return self.extraction(consumes);
                }
                let value = convert(format!("p.lookahead<bit<{width}>>()"), Type::Bits(width), to.ty);
                format!("{} = {value};", to.name)
            }
            6 => {
                let bits = match self.input.below(4) {
                    0 => self.expr(Type::Bits(32), 1),
                    bytes => format!("32w{}", 8 * bytes),
                };
                format!("p.advance({bits});")
            }
            7 => {
                let error = self.one_of(&["NoMatch", "PacketTooShort", "ParserInvalidArgument"]);
                format!("verify({}, error.{error});", self.expr(Type::Bool, 2))
            }
            _ => {
                let at = self.input.below(self.scope.variables.len());
                let to = self.scope.variables[at].clone();
                match to.writable {
                    true => format!("{} = {};", to.name, self.expr(to.ty, 2)),
                    false => self.extraction(consumes),
                }
            }
        }
    }

    fn extraction(&mut self, consumes: &mut bool) -> String {
        *consumes = true;
        if !self.scope.stacks.is_empty() && self.input.below(2) == 1 {
            let stack = self.scope.stacks[self.input.below(self.scope.stacks.len())].name.clone();
            return format!("p.extract({stack}.next);");
        }
        let header = self.scope.headers[self.input.below(self.scope.headers.len())].clone();
        match self.scope.header_types[header.of].varbit {
            None => format!("p.extract({});", header.name),
            Some(most) => {
                let width = match self.input.below(4) {
                    0 => self.expr(Type::Bits(32), 1),
                    _ => format!("32w{}", 8 * self.input.below(most as usize / 8 + 2)),
                };
                format!("p.extract({}, {width});", header.name)
            }
        }
    }

    fn transition(&mut self, state: usize, states: usize, consumes: bool) -> String {
        let keys: Vec<u32> = (0..self.input.below(3)).map(|_| self.width()).collect();
        if keys.is_empty() {
            return format!("{};", self.next(state, states, false));
        }
        let values: Vec<String> = keys.iter().map(|&width| self.expr(Type::Bits(width), 1)).collect();
        let mut text = format!("select({}) {{\n", values.join(", "));
        // A loop needs another transition, or no packet would be accepted.
        let default = self.input.below(3) > 0;
        for _ in 0..self.input.below(4) {
            let sets: Vec<String> = keys.iter().map(|&width| self.case(width)).collect();
            let set = if sets.len() == 1 { sets[0].clone() } else { format!("({})", sets.join(", ")) };
            _ = writeln!(text, "            {set}: {};", self.next(state, states, consumes && default));
        }
        if default {
            _ = writeln!(text, "            default: {};", self.next(state, states, false));
        }
        text + "        }"
    }

    fn case(&mut self, width: u32) -> String {
        let literal = |value: &BigUint| format!("{width}w{value}");
        let (one, other) = (self.value(width), self.value(width));
        match self.input.below(4) {
            0 => literal(&one),
            1 => format!("{} &&& {}", literal(&one), literal(&other)),
            2 => format!("{} .. {}", literal((&one).min(&other)), literal((&one).max(&other))),
            _ => "_".to_owned(),
        }
    }

    /// The next state: a later one, or any state if parsing may go back.
    fn next(&mut self, state: usize, states: usize, back: bool) -> String {
        let earliest = if back { 0 } else { state + 1 };
        match self.input.below(states + 2) {
            0 => "accept".to_owned(),
            1 => "reject".to_owned(),
            chosen => match (earliest + chosen - 2).min(states) {
                beyond if beyond == states => "accept".to_owned(),
                known => name(known),
            },
        }
    }
}

fn name(state: usize) -> String {
    if state == 0 { "start".to_owned() } else { format!("s{state}") }
}
