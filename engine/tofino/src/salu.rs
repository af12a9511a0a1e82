// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stateful ALUs: what one access can do to an element of a register.
//!
//! Each check is one function. The source is p4c's `backends/tofino`: `bf-p4c/mau/stateful_alu.cpp` makes the
//! instructions, and `bf-asm/salu_inst.cpp` encodes them.

mod body;
mod value;

use std::collections::BTreeSet;

use marklab_p4::ir::{ExternCall, Program, Register, RegisterAction, RegisterId, StmtKind, visit};
use marklab_p4::source::Span;
use num_bigint::BigInt;

use self::body::{Body, Target, Write};
use self::value::{Op, Operand, Predicate, Value};
use crate::chip::{self, Limits};
use crate::findings::{Findings, label};
use crate::limit::Limit;

/// A register with its actions.
struct Use<'a> {
    register: &'a Register,
    actions: Vec<(&'a RegisterAction, Body)>,
}

/// Checks all registers.
pub(crate) fn check(program: &Program, limits: &Limits, findings: &mut Findings) {
    for (index, register) in program.registers.iter().enumerate() {
        let id = RegisterId(index as u32);
        let plain = plain_accesses(program, id);
        let mine = program.register_actions.iter().filter(|action| action.register == id);
        let used =
            Use { register, actions: mine.map(|action| (action, body::body(program, action, limits))).collect() };
        let Some(first) = used.actions.first().map(|(action, _)| action.span).or(plain.first().copied()) else {
            continue; // it is never used
        };
        if !element(register, limits) {
            let bits = register.parts.iter().map(|part| part.width.to_string()).collect::<Vec<_>>().join(" + ");
            findings.report(first, Limit::RegisterElement { register: register.name.clone(), bits });
            continue;
        }
        action_count(&used, &plain, findings);
        for (action, body) in &used.actions {
            for (span, problem) in &body.problems {
                findings.report(*span, problem.clone());
            }
            check_action(program, register, action, body, limits, findings);
        }
        constant_rows(&used, findings);
        packet_inputs(&used, findings);
        math_units(program, &used, findings);
    }
}

fn check_action(
    program: &Program,
    register: &Register,
    action: &RegisterAction,
    body: &Body,
    limits: &Limits,
    findings: &mut Findings,
) {
    if register.ty.width == 1 {
        return one_bit(body, findings);
    }
    comparison_count(action, body, limits, findings);
    comparison_forms(register, body, limits, findings);
    for write in &body.writes {
        operands(register, write, findings);
        wide_words(register, write, findings);
    }
    values_per_word(register, body, findings);
    exclusive_writes(program, action, body, findings);
    result(register, action, body, findings);
}

/// Places where a register is read or written without a `RegisterAction`: one for each body of statements.
fn plain_accesses(program: &Program, id: RegisterId) -> Vec<Span> {
    let mut places = Vec::new();
    for body in visit::bodies(&program.blocks, &program.actions, &[]) {
        let mut found = None;
        visit::statements(body, &mut |stmt| match &stmt.kind {
            StmtKind::Extern(
                ExternCall::RegisterRead { register, .. } | ExternCall::RegisterWrite { register, .. },
            ) if *register == id => found = found.or(Some(stmt.span)),
            _ => {}
        });
        places.extend(found);
    }
    places
}

/// Whether an ALU supports the elements of a register: 1 bit; 8, 16 or 32 bits, or two such words of equal width; 64
/// bits (`CheckStatefulAlu`). On Tofino 2, words can have 64 bits.
fn element(register: &Register, limits: &Limits) -> bool {
    let widest = if limits.comparisons > 2 { 2 * chip::WORD_BITS } else { chip::WORD_BITS };
    let word = |width: u32| width >= 8 && width.is_power_of_two() && width <= widest;
    match register.parts[..] {
        [one] => one.width == 1 || word(one.width) || one.width == 2 * widest,
        [one, other] => word(one.width) && one.width == other.width && one.signed == other.signed,
        _ => false,
    }
}

/// Checks that a register has at most four different uses (`bf-p4c/midend/register_read_write.cpp`).
fn action_count(used: &Use<'_>, plain: &[Span], findings: &mut Findings) {
    let found = used.actions.len() + plain.len();
    if found > chip::REGISTER_ACTIONS {
        let places: Vec<Span> =
            used.actions.iter().map(|(action, _)| action.span).chain(plain.iter().copied()).collect();
        let limit = chip::REGISTER_ACTIONS;
        let register = used.register.name.clone();
        findings.report(places[limit], Limit::RegisterActions { register, found, limit });
    }
}

/// Checks that an action has no more different comparisons than the ALU has units (`postorder(IR::Function)`).
fn comparison_count(action: &RegisterAction, body: &Body, limits: &Limits, findings: &mut Findings) {
    let (found, limit) = (body.comparisons.len(), limits.comparisons);
    if found > limit {
        let labels = body.comparisons[..limit].iter().map(|one| label(one.span, "one of the others")).collect();
        let problem = Limit::Comparisons { action: action.name.clone(), found, limit };
        findings.report_with(body.comparisons[limit].span, problem, labels);
    }
}

/// Checks that a comparison has one operand of each kind, no wider than the ALU. Constants of unsigned comparisons are
/// signed in the ALU (`CmpOP::Decode::decode`, `CheckStatefulAlu::postorder`).
fn comparison_forms(register: &Register, body: &Body, limits: &Limits, findings: &mut Findings) {
    for comparison in &body.comparisons {
        let count = |kind: fn(&Operand) -> bool| comparison.terms.iter().filter(|(_, term)| kind(term)).count();
        let what = if count(|term| matches!(term, Operand::Memory(_))) > 1 {
            Some("two words of the register")
        } else if count(|term| matches!(term, Operand::Packet(..))) > 1 {
            Some("two values of the packet")
        } else if count(|term| matches!(term, Operand::Constant(_))) > 1 {
            Some("two constants")
        } else if count(|term| matches!(term, Operand::Math(..))) > 0 {
            Some("a math unit")
        } else {
            None
        };
        if let Some(what) = what {
            findings.report(comparison.span, Limit::ComparisonForm { what });
        }
        for (_, term) in &comparison.terms {
            operand_width(register, term, comparison.span, findings);
            if let Operand::Constant(value) = term
                && !limits.masks_compared
                && !comparison.signed
                && comparison.relation.is_order()
                && (*value > BigInt::from(1u32 << 31) || *value < BigInt::from(i32::MIN))
            {
                findings.report(comparison.span, Limit::ComparedConstant { value: value.to_string() });
            }
        }
    }
}

/// Width of the ALU: that of a word, but at least 8.
fn alu_bits(register: &Register) -> u32 {
    register.parts.first().map_or(0, |part| part.width).max(8)
}

/// Checks that an operand is no wider than the ALU (`CheckStatefulAlu::preorder`).
fn operand_width(register: &Register, operand: &Operand, span: Span, findings: &mut Findings) {
    match operand {
        Operand::Packet(_, width) if *width > alu_bits(register) => {
            findings.report(span, Limit::OperandWidth { width: *width, word: alu_bits(register) });
        }
        Operand::Math(_, of) => operand_width(register, of, span, findings),
        _ => {}
    }
}

/// Checks the operands of an operation: one is of the register or a constant, the other of the packet, a constant or of
/// a math unit (`AluOP::Decode::decode`).
fn operands(register: &Register, write: &Write, findings: &mut Findings) {
    for value in instructions_of(&write.value) {
        match value {
            Value::Operation(_, left, right, _) => {
                let first = |operand: &Operand| matches!(operand, Operand::Memory(_) | Operand::Constant(_));
                let second = |operand: &Operand| !matches!(operand, Operand::Memory(_) | Operand::Stored(_));
                if !(first(left) && second(right) || first(right) && second(left)) {
                    let problem = Limit::OperandPlaces { left: left.kind(), right: right.kind() };
                    findings.report(write.span, problem);
                }
                operand_width(register, left, write.span, findings);
                operand_width(register, right, write.span, findings);
            }
            Value::Operand(operand) => operand_width(register, operand, write.span, findings),
            _ => {}
        }
    }
    let math = instructions_of(&write.value).into_iter().any(has_math);
    if math && write.target != Target::Word(0) {
        findings.report(write.span, Limit::MathToHigh {});
    }
}

fn has_math(value: &Value) -> bool {
    match value {
        Value::Operand(operand) => matches!(operand, Operand::Math(..)),
        Value::Operation(_, left, right, _) => [left, right].iter().any(|one| matches!(one, Operand::Math(..))),
        _ => false,
    }
}

/// Instructions that write a value: two for an OR of operations.
fn instructions_of(value: &Value) -> Vec<&Value> {
    match value {
        Value::Either(one, other) => vec![one, other],
        value => vec![value],
    }
}

/// Checks that no assignment has 64 bits: words are assigned 32 bits at a time, even if an element is one word of 64
/// bits (`doAssignment`).
fn wide_words(register: &Register, write: &Write, findings: &mut Findings) {
    let width = register.parts.first().map_or(0, |part| part.width);
    if width == 2 * chip::WORD_BITS && write.target != Target::Result {
        findings.report(write.span, Limit::WideWord { width });
    }
}

/// Checks that a word gets at most two different values: these come from its two adders (`AluOP::pass1` finds no slot
/// for a third).
fn values_per_word(register: &Register, body: &Body, findings: &mut Findings) {
    for (word, name) in [(0, "the first word"), (1, "the second word")] {
        let mut values: Vec<&Value> = Vec::new();
        for write in body.writes.iter().filter(|write| write.target == Target::Word(word)) {
            for value in instructions_of(&write.value) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            if values.len() > chip::VALUES_PER_WORD {
                let name = if register.parts.len() == 1 { "the element" } else { name };
                let problem = Limit::Values { word: name, found: values.len(), limit: chip::VALUES_PER_WORD };
                findings.report(write.span, problem);
            }
        }
    }
}

/// Checks that writes exclude each other: two writes in one access are ORed (`checkWriteAfterWrite`, `checkActions`). A
/// result of 0 is not a write: the output is 0 unless it is driven.
fn exclusive_writes(program: &Program, action: &RegisterAction, body: &Body, findings: &mut Findings) {
    for (index, write) in body.writes.iter().enumerate() {
        let earlier = body.writes[..index].iter().filter(|old| old.target == write.target);
        let mut silent = false;
        for old in earlier {
            // The default value of a result, which is assigned first.
            let default = old.target == Target::Result && old.predicate == Predicate::Always && is_zero(&old.value);
            let same =
                old.value == write.value && old.predicate != Predicate::Always && old.predicate != write.predicate;
            if !default && !same && !silent && overlap(body, &old.predicate, &write.predicate) {
                let name = target_name(program, action, write.target);
                let labels = vec![label(old.span, "written here before")];
                findings.report_with(write.span, Limit::NotExclusive { name }, labels);
                silent = true;
            }
        }
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Operand(operand) if operand.is_zero())
}

/// Name of the target of a write in the action.
fn target_name(program: &Program, action: &RegisterAction, target: Target) -> String {
    let slot = match target {
        Target::Result => action.returned,
        Target::Word(word) => action.value.get(word).copied(),
    };
    slot.map_or(String::new(), |slot| program.slots[slot.index()].name.clone())
}

/// Whether both predicates can hold, for comparisons that do not exclude each other.
fn overlap(body: &Body, one: &Predicate, other: &Predicate) -> bool {
    let units = body.comparisons.len();
    if units > 8 {
        return false; // too many, which has been reported
    }
    let excluded = |truths: u32| {
        let holds = |index: usize| truths >> index & 1 == 1;
        (0..units).any(|a| (0..a).any(|b| holds(a) && holds(b) && body.comparisons[a].excludes(&body.comparisons[b])))
    };
    (0..1u32 << units).any(|truths| one.holds(truths) && other.holds(truths) && !excluded(truths))
}

/// Checks the single output. Its source is an old word, a stored word, the packet or, if an element is one word, a
/// value from the spare half of the ALU. A power of two can also come from the predicate (`createInstruction`,
/// `setup_output`).
fn result(register: &Register, action: &RegisterAction, body: &Body, findings: &mut Findings) {
    let writes = body.writes.iter().filter(|write| write.target == Target::Result && !is_zero(&write.value));
    let writes: Vec<&Write> = writes.collect();
    let pair = register.parts.len() == 2 || register.parts.iter().any(|part| part.width > chip::WORD_BITS);
    let mut different: Vec<&Value> = Vec::new();
    for write in &writes {
        if !different.contains(&&write.value) {
            different.push(&write.value);
        }
        let computed =
            !matches!(write.value, Value::Operand(Operand::Memory(_) | Operand::Stored(_) | Operand::Packet(..)));
        if pair && computed && !is_power_of_two(&write.value) {
            findings.report(write.span, Limit::ResultNotStored {});
        }
    }
    let Some(last) = writes.last() else { return };
    // The spare half cannot see the value that the other half stores.
    let stored = different.iter().any(|value| matches!(value, Value::Operand(Operand::Stored(_))));
    let limit = if pair || stored { 1 } else { chip::VALUES_PER_WORD };
    let instructions: usize = different.iter().map(|value| instructions_of(value).len()).sum();
    if different.len() > 1 && instructions > limit {
        let labels = writes[..writes.len() - 1].iter().map(|write| label(write.span, "also returned")).collect();
        findings.report_with(last.span, Limit::OneResult { action: action.name.clone() }, labels);
    }
}

fn is_power_of_two(value: &Value) -> bool {
    matches!(value, Value::Operand(Operand::Constant(value))
        if *value > BigInt::ZERO && (value & (value - 1)) == BigInt::ZERO)
}

/// Checks that a register of single bits is only set, cleared or read (`createInstruction`).
fn one_bit(body: &Body, findings: &mut Findings) {
    for comparison in &body.comparisons {
        findings.report(comparison.span, Limit::OneBit {});
    }
    for write in &body.writes {
        let simple = match (&write.value, write.target) {
            (Value::Operand(Operand::Constant(_)), Target::Word(_)) => true,
            (Value::Operand(Operand::Memory(_) | Operand::Stored(_)), _) => true,
            (Value::Operation(Op::Complemented, _, zero, _), Target::Result) => zero.is_zero(),
            (Value::Operand(operand), Target::Result) => operand.is_zero(),
            _ => false,
        };
        if !simple || write.predicate != Predicate::Always {
            findings.report(write.span, Limit::OneBit {});
        }
    }
}

/// Checks that the four rows suffice for constants that do not fit into an instruction (`CheckStatefulAlu::postorder`).
/// A constant that a comparison subtracts is stored negated.
fn constant_rows(used: &Use<'_>, findings: &mut Findings) {
    let (smallest, largest) = chip::INLINE_CONSTANTS;
    let mut rows: BTreeSet<BigInt> = BTreeSet::new();
    let mut add = |value: BigInt, span: Span, findings: &mut Findings| {
        if (BigInt::from(smallest)..=BigInt::from(largest)).contains(&value) || !rows.insert(value) {
            return;
        }
        if rows.len() > chip::CONSTANT_ROWS {
            let (register, found, limit) = (used.register.name.clone(), rows.len(), chip::CONSTANT_ROWS);
            findings.report(span, Limit::ConstantRows { register, found, limit });
        }
    };
    for (_, body) in &used.actions {
        for comparison in &body.comparisons {
            for (minus, term) in &comparison.terms {
                if let Operand::Constant(value) = term {
                    add(if *minus { -value } else { value.clone() }, comparison.span, findings);
                }
            }
        }
        for write in &body.writes {
            // If there is no spare half to compute it, a returned power of two comes from the predicate.
            if write.target == Target::Result && used.register.parts.len() == 2 {
                continue;
            }
            for operand in instructions_of(&write.value).into_iter().flat_map(leaves) {
                if let Operand::Constant(value) = operand {
                    add(value.clone(), write.span, findings);
                }
            }
        }
    }
}

/// Operands of an instruction.
fn leaves(value: &Value) -> Vec<&Operand> {
    match value {
        Value::Operand(operand) => vec![of_math(operand)],
        Value::Operation(_, left, right, _) => vec![of_math(left), of_math(right)],
        Value::Either(one, other) => leaves(one).into_iter().chain(leaves(other)).collect(),
        _ => Vec::new(),
    }
}

/// The input of a math unit instead of its result; other operands are returned as they are.
fn of_math(operand: &Operand) -> &Operand {
    match operand {
        Operand::Math(_, of) => of,
        operand => operand,
    }
}

/// Checks that two values of the packet suffice: no more reach an ALU, over all of its operations
/// (`bf-p4c/mau/tofino/input_xbar.cpp`).
fn packet_inputs(used: &Use<'_>, findings: &mut Findings) {
    let mut inputs: BTreeSet<&str> = BTreeSet::new();
    for (_, body) in &used.actions {
        let compared = body.comparisons.iter().flat_map(|one| one.terms.iter().map(move |(_, term)| (term, one.span)));
        let written =
            body.writes.iter().flat_map(|write| leaves(&write.value).into_iter().map(|one| (one, write.span)));
        for (operand, span) in compared.chain(written) {
            let Operand::Packet(text, _) = operand else { continue };
            if inputs.insert(text) && inputs.len() > chip::PACKET_INPUTS {
                let (register, found, limit) = (used.register.name.clone(), inputs.len(), chip::PACKET_INPUTS);
                findings.report(span, Limit::PacketInputs { register, found, limit });
            }
        }
    }
}

/// Checks that all actions of a register use one setting of the math unit (`postorder(IR::Function)`).
fn math_units(program: &Program, used: &Use<'_>, findings: &mut Findings) {
    let mut first = None;
    for (_, body) in &used.actions {
        for write in &body.writes {
            let operands = instructions_of(&write.value).into_iter().flat_map(|value| match value {
                Value::Operand(operand) => vec![operand],
                Value::Operation(_, left, right, _) => vec![left, right],
                _ => Vec::new(),
            });
            for operand in operands {
                let Operand::Math(unit, _) = operand else { continue };
                let unit = &program.math_units[unit.index()];
                let known = first.get_or_insert(unit);
                let setting = |unit: &marklab_p4::ir::MathUnit| (unit.invert, unit.shift, unit.scale, unit.table);
                if setting(known) != setting(unit) {
                    findings.report(write.span, Limit::MathUnits { register: used.register.name.clone() });
                }
            }
        }
    }
}
