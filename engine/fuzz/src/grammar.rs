// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random valid programs for v1model: they compile, whatever the input decides.
//!
//! Each decision takes a byte or two of the input. Behind its end come zeros, which choose the simplest alternative, so
//! a shorter input makes a smaller program. The [`Scope`] holds what is decided once (types, headers, state of the
//! switch); expressions and statements are written within it.

mod expr;
mod parser;
mod scope;
mod stmt;
mod table;

use std::fmt::Write;

use crate::bytes::Bytes;
use scope::{Scope, Type};

/// Largest number of statements of a program: generated code grows with them.
const MOST_STATEMENTS: usize = 60;
/// Largest number of operators of a program.
const MOST_OPERATORS: usize = 400;

/// Source of the program for an input.
pub(crate) fn program(input: &[u8]) -> String {
    Writer::new(Bytes::new(input)).program()
}

/// Writes a program, decision by decision.
struct Writer<'a> {
    input: Bytes<'a>,
    scope: Scope,
    statements: usize,
    operators: usize,
    /// Number of loops around the present statement.
    loops: usize,
    /// Number of names given so far, which makes names unique.
    names: usize,
}

impl<'a> Writer<'a> {
    fn new(input: Bytes<'a>) -> Writer<'a> {
        let scope = Scope::default();
        Writer { input, scope, statements: MOST_STATEMENTS, operators: MOST_OPERATORS, loops: 0, names: 0 }
    }

    fn program(mut self) -> String {
        let mut text = String::from("#include <core.p4>\n#include <v1model.p4>\n");
        text += &self.declarations();
        text += &self.parser();
        text += "control Check(inout headers_t hdr, inout metadata_t meta) { apply { } }\n";
        for name in ["In", "Out"] {
            text += &self.control(name);
        }
        self.scope.forget_standard_metadata();
        text += &self.compute();
        text += &self.deparser();
        text += "V1Switch(Parse(), Check(), In(), Out(), Sum(), Emit()) main;\n";
        text
    }

    /// Types of headers, the headers of a packet, and metadata.
    fn declarations(&mut self) -> String {
        let mut text = String::new();
        for number in 0..1 + self.input.below(3) {
            text += &self.header_type(number);
        }
        text += "struct headers_t {\n";
        for number in 0..1 + self.input.below(4) {
            let of = self.input.below(self.scope.header_types.len());
            let name = format!("h{number}");
            // No stacks of headers with a varbit: `extraction` writes no width for the next element of a stack.
            match self.input.below(3) {
                2 if self.scope.header_types[of].varbit.is_none() => {
                    let len = 1 + self.input.below(4);
                    _ = writeln!(text, "    t{of}_t[{len}] {name};");
                    self.scope.add_stack(&format!("hdr.{name}"), of, len);
                }
                _ => {
                    _ = writeln!(text, "    t{of}_t {name};");
                    self.scope.add_header(format!("hdr.{name}"), of);
                }
            }
        }
        text += "}\nstruct metadata_t {\n";
        for number in 0..1 + self.input.below(6) {
            let ty = self.scalar_type();
            _ = writeln!(text, "    {ty} m{number};");
            self.scope.add_variable(format!("meta.m{number}"), ty);
        }
        text += "}\n";
        self.scope.add_standard_metadata();
        text
    }

    fn header_type(&mut self, number: usize) -> String {
        let mut text = format!("header t{number}_t {{\n");
        let mut fields = Vec::new();
        let mut bits = 0;
        for field in 0..1 + self.input.below(4) {
            let ty = match self.scalar_type() {
                Type::Bool => Type::Bits(1),
                ty => ty,
            };
            bits += ty.width();
            fields.push((format!("f{field}"), ty));
        }
        if !u32::is_multiple_of(bits, 8) {
            fields.push(("pad".to_owned(), Type::Bits(8 - bits % 8)));
        }
        for (name, ty) in &fields {
            _ = writeln!(text, "    {ty} {name};");
        }
        let varbit = (self.input.below(5) == 4).then(|| 8 * (1 + self.input.below(20) as u32));
        if let Some(most) = varbit {
            _ = writeln!(text, "    varbit<{most}> rest;");
        }
        self.scope.add_header_type(fields, varbit);
        text + "}\n"
    }

    /// A control with its actions, tables and arrays.
    fn control(&mut self, name: &str) -> String {
        let mut text = format!(
            "control {name}(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{\n{}",
            self.arrays()
        );
        let outside = self.scope.enter();
        for _ in 0..self.input.below(4) {
            text += &self.action();
        }
        for _ in 0..self.input.below(3) {
            text += &self.table();
        }
        let body = self.block(2, 10);
        self.scope.leave(outside);
        text + "    apply " + &body + "}\n"
    }

    /// Registers and counters. Forgets the objects of the previous control.
    fn arrays(&mut self) -> String {
        let mut text = String::new();
        self.scope.actions.clear();
        self.scope.tables.clear();
        self.scope.registers.clear();
        self.scope.counters.clear();
        for _ in 0..self.input.below(3) {
            let (name, ty, size) = (self.name("r"), self.number_type(), 1 + self.input.below(5));
            _ = writeln!(text, "    register<{ty}>({size}) {name};");
            self.scope.registers.push((name, ty));
        }
        if self.input.below(3) > 0 {
            let (name, size) = (self.name("c"), 1 + self.input.below(5));
            let kind = self.one_of(&["packets", "bytes", "packets_and_bytes"]);
            _ = writeln!(text, "    counter({size}, CounterType.{kind}) {name};");
            self.scope.counters.push(name);
        }
        text
    }

    /// Checksums over fields of headers.
    fn compute(&mut self) -> String {
        let mut text = String::from("control Sum(inout headers_t hdr, inout metadata_t meta) {\n    apply {\n");
        let fields = self.scope.fields();
        let sums: Vec<String> =
            fields.iter().filter(|(_, ty)| *ty == Type::Bits(16)).map(|(name, _)| name.clone()).collect();
        if !sums.is_empty() && self.input.below(2) == 1 {
            let sum = sums[self.input.below(sums.len())].clone();
            let data: Vec<String> =
                (0..1 + self.input.below(6)).map(|_| fields[self.input.below(fields.len())].0.clone()).collect();
            let condition = self.expr(Type::Bool, 1);
            let algorithm = self.algorithm();
            let call = self.one_of(&["update_checksum", "update_checksum_with_payload"]);
            _ = writeln!(text, "        {call}({condition}, {{ {} }}, {sum}, {algorithm});", data.join(", "));
        }
        text + "    }\n}\n"
    }

    fn deparser(&mut self) -> String {
        let mut text = String::from("control Emit(packet_out p, in headers_t hdr) {\n    apply {\n");
        for name in self.scope.emitted() {
            match self.input.below(6) {
                5 => {}
                4 => _ = writeln!(text, "        if ({}) {{ p.emit({name}); }}", self.header_condition()),
                _ => _ = writeln!(text, "        p.emit({name});"),
            }
        }
        text + "    }\n}\n"
    }

    // Decisions

    /// A width, often close to the limits of machine registers.
    fn width(&mut self) -> u32 {
        const EDGES: [u32; 20] = [8, 1, 16, 32, 9, 3, 7, 31, 33, 48, 63, 64, 65, 100, 127, 128, 129, 192, 257, 600];
        match self.input.below(32) {
            edge @ 0..20 => EDGES[edge],
            _ => 1 + self.input.below(140) as u32,
        }
    }

    fn number_type(&mut self) -> Type {
        let width = self.width();
        // `int<1>` has no positive values.
        if self.input.below(4) == 3 { Type::Int(width.max(2)) } else { Type::Bits(width) }
    }

    fn scalar_type(&mut self) -> Type {
        if self.input.below(8) == 7 { Type::Bool } else { self.number_type() }
    }

    fn algorithm(&mut self) -> &'static str {
        self.one_of(&[
            "HashAlgorithm.csum16",
            "HashAlgorithm.crc16",
            "HashAlgorithm.crc32",
            "HashAlgorithm.xor16",
            "HashAlgorithm.identity",
        ])
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.input.below(list.len())]
    }

    fn name(&mut self, kind: &str) -> String {
        self.names += 1;
        format!("{kind}{}", self.names)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use marklab_p4::loader::Memory;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn every_input_is_a_program_that_compiles() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for len in (0..1200).step_by(12) {
            let input: Vec<u8> = (0..len).map(|_| random.random()).collect();
            let text = program(&input);
            let files = Memory::single("random.p4", &text);
            let compilation = marklab_p4::compile_with(Path::new("random.p4"), &Default::default(), &files);
            assert!(compilation.program.is_some(), "{}\n{text}", compilation.render(false));
        }
    }

    #[test]
    fn less_input_makes_a_smaller_program() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        // Single inputs vary: an early decision can determine how much of the rest is used.
        let mut mean = |len: usize| {
            let total: usize =
                (0..50).map(|_| program(&(0..len).map(|_| random.random()).collect::<Vec<u8>>()).len()).sum();
            total / 50
        };
        let lengths = [0, 50, 200, 800].map(&mut mean);
        assert!(lengths.windows(2).all(|pair| 3 * pair[1] > 4 * pair[0]), "{lengths:?}");
    }
}
