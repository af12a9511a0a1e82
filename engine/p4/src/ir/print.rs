// SPDX-License-Identifier: MIT OR Apache-2.0
//! The IR as text, for people and for snapshots.
//!
//! Slots are written by name; where a name is not unique, `~` and the slot's number follow it.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

use num_bigint::BigUint;

use super::{
    Action, ActionCall, BinaryOp, Block, BlockBody, Checksum, Class, DataField, Expr, ExprKind, ExternCall, Header,
    HeaderId, HeaderRef, Index, KeySet, Place, Program, RegisterAction, Request, SlotId, State, Stmt, StmtKind, Table,
    Target, Transition, Ty, UnaryOp, Unit,
};

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}>", if self.signed { "int" } else { "bit" }, self.width)
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(self).program(f)
    }
}

struct Printer<'a> {
    program: &'a Program,
    names: Vec<String>,
}

type Text = String;

impl<'a> Printer<'a> {
    fn new(program: &'a Program) -> Printer<'a> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for slot in &program.slots {
            *counts.entry(&slot.name).or_default() += 1;
        }
        let names = program.slots.iter().enumerate().map(|(id, slot)| match counts[slot.name.as_str()] {
            1 => slot.name.clone(),
            _ => format!("{}~{id}", slot.name),
        });
        Printer { program, names: names.collect() }
    }

    fn program(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let program = self.program;
        writeln!(f, "program {}", program.name)?;
        self.storage(f)?;
        self.objects(f)?;
        for action in &program.actions {
            self.action(f, action)?;
        }
        for table in &program.tables {
            self.table(f, table)?;
        }
        for action in &program.register_actions {
            self.register_action(f, action)?;
        }
        for (part, id) in program.arch.parts() {
            self.block(f, part, &program.blocks[id.index()])?;
        }
        Ok(())
    }

    /// Headers with their fields, then all slots that are in no header.
    fn storage(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let program = self.program;
        let mut in_header = vec![false; program.slots.len()];
        for Header { name, valid, fields } in &program.headers {
            in_header[valid.index()] = true;
            let fields: Vec<Text> = fields
                .iter()
                .map(|field| {
                    in_header[field.index()] = true;
                    let slot = &program.slots[field.index()];
                    let own = slot.name.strip_prefix(name.as_str()).unwrap_or(&slot.name).trim_start_matches('.');
                    match slot.varbit_width {
                        Some(width) => {
                            in_header[width.index()] = true;
                            format!("{own}: varbit<{}>", slot.ty.width)
                        }
                        None => format!("{own}: {}", slot.ty),
                    }
                })
                .collect();
            writeln!(f, "header {name} {{ {} }}", fields.join(", "))?;
        }
        for stack in &program.stacks {
            writeln!(f, "stack {}[{}]", stack.name, stack.len)?;
        }
        for (id, slot) in program.slots.iter().enumerate().filter(|(id, _)| !in_header[*id]) {
            let class = match slot.class {
                Class::Packet => "packet".to_string(),
                Class::Local(block) => format!("local {}", program.blocks[block.index()].name),
            };
            writeln!(f, "slot {}: {} {class}", self.names[id], slot.ty)?;
        }
        Ok(())
    }

    fn objects(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let program = self.program;
        let unit = |unit: Unit| match unit {
            Unit::Packets => "packets",
            Unit::Bytes => "bytes",
            Unit::PacketsAndBytes => "packets_and_bytes",
        };
        let size = |size: Option<u64>| size.map_or("direct".to_string(), |size| format!("[{size}]"));
        for register in &program.registers {
            let parts: Vec<Text> = register.parts.iter().map(Ty::to_string).collect();
            write!(f, "register {}: {}[{}]", register.name, parts.join(", "), register.size)?;
            if register.initial != BigUint::ZERO {
                write!(f, " = {}", number(&register.initial))?;
            }
            writeln!(f)?;
        }
        for unit in &program.math_units {
            let invert = if unit.invert { "inverted, " } else { "" };
            let (shift, scale) = (unit.shift, unit.scale);
            writeln!(f, "math unit {}: {invert}shift {shift}, scale {scale}, {:?}", unit.name, unit.table)?;
        }
        for filter in &program.filters {
            writeln!(f, "filter {}: {}[{}] {:?}", filter.name, filter.ty, filter.size, filter.wred)?;
        }
        for counter in &program.counters {
            writeln!(f, "counter {}: {} {}", counter.name, unit(counter.unit), size(counter.size))?;
        }
        for meter in &program.meters {
            writeln!(f, "meter {}: {} {}", meter.name, unit(meter.unit), size(meter.size))?;
        }
        for profile in &program.profiles {
            writeln!(f, "profile {}: [{}] {:?}", profile.name, profile.size, profile.selector)?;
        }
        for set in &program.value_sets {
            let tys: Vec<Text> = set.tys.iter().map(Ty::to_string).collect();
            writeln!(f, "value_set {}: ({})[{}]", set.name, tys.join(", "), set.size)?;
        }
        for name in &program.foreign {
            writeln!(f, "foreign {name}")?;
        }
        for (name, slot) in &program.intrinsics {
            writeln!(f, "intrinsic {name} = {}", self.names[slot.index()])?;
        }
        Ok(())
    }

    fn action(&self, f: &mut Formatter<'_>, action: &Action) -> fmt::Result {
        let params: Vec<Text> = action
            .params
            .iter()
            .map(|param| format!("{}: {} in {}", param.name, param.ty, self.names[param.slot.index()]))
            .collect();
        writeln!(f, "action {}({}) {{", action.name, params.join(", "))?;
        self.stmts(f, &action.body, 1)?;
        writeln!(f, "}}")
    }

    fn register_action(&self, f: &mut Formatter<'_>, action: &RegisterAction) -> fmt::Result {
        let value: Vec<&str> = action.value.iter().map(|slot| self.slot(*slot)).collect();
        let register = &self.program.registers[action.register.index()].name;
        write!(f, "register action {} of {register}: value {}", action.name, value.join(", "))?;
        if let Some(slot) = action.returned {
            write!(f, ", result {}", self.slot(slot))?;
        }
        writeln!(f, " {{")?;
        self.stmts(f, &action.body, 1)?;
        writeln!(f, "}}")
    }

    fn table(&self, f: &mut Formatter<'_>, table: &Table) -> fmt::Result {
        writeln!(f, "table {} {{", table.name)?;
        for key in &table.keys {
            writeln!(f, "    key {:?} = {}: {:?}", key.name, self.expr(&key.expr), key.kind)?;
        }
        for (index, entry) in table.actions.iter().enumerate() {
            let only = match (entry.default_only, entry.table_only) {
                (true, _) => " @defaultonly",
                (_, true) => " @tableonly",
                _ => "",
            };
            writeln!(f, "    action {index} = {}{only}", self.program.actions[entry.action.index()].name)?;
        }
        let constant = if table.const_default { "const " } else { "" };
        writeln!(f, "    {constant}default {}", self.action_call(table, &table.default_action))?;
        for entry in &table.entries {
            let keys: Vec<Text> = entry.keys.iter().map(|set| self.key_set(set)).collect();
            let call = self.action_call(table, &entry.call);
            writeln!(f, "    entry {} ({}) = {call}", entry.priority, keys.join(", "))?;
        }
        let constant = if table.const_entries { ", const entries" } else { "" };
        writeln!(f, "    size {}{constant}", table.size)?;
        if let Some(counter) = table.direct_counter {
            writeln!(f, "    counters {}", self.program.counters[counter.index()].name)?;
        }
        if let Some(meter) = table.direct_meter {
            writeln!(f, "    meters {}", self.program.meters[meter.index()].name)?;
        }
        if let Some(profile) = table.profile {
            writeln!(f, "    implementation {}", self.program.profiles[profile.index()].name)?;
        }
        writeln!(f, "}}")
    }

    fn action_call(&self, table: &Table, call: &ActionCall) -> Text {
        let action = table.actions[call.action as usize].action;
        format!("{}({})", self.program.actions[action.index()].name, list(&call.args))
    }

    fn block(&self, f: &mut Formatter<'_>, part: &str, block: &Block) -> fmt::Result {
        writeln!(f, "{part} {} {{", block.name)?;
        match &block.body {
            BlockBody::Control(body) => self.stmts(f, body, 1)?,
            BlockBody::Parser(parser) => {
                writeln!(f, "    start {}", parser.states[parser.start.index()].name)?;
                for state in &parser.states {
                    self.state(f, state, &parser.states)?;
                }
            }
        }
        writeln!(f, "}}")
    }

    fn state(&self, f: &mut Formatter<'_>, state: &State, states: &[State]) -> fmt::Result {
        let target = |target: &Target| match target {
            Target::State(id) => states[id.index()].name.clone(),
            Target::Accept => "accept".to_string(),
            Target::Reject => "reject".to_string(),
        };
        writeln!(f, "    state {} {{", state.name)?;
        self.stmts(f, &state.body, 2)?;
        match &state.next {
            Transition::Goto(next) => writeln!(f, "        goto {}", target(next))?,
            Transition::Select { keys, cases, .. } => {
                let keys: Vec<Text> = keys.iter().map(|key| self.expr(key)).collect();
                writeln!(f, "        select ({}) {{", keys.join(", "))?;
                for (sets, next) in cases {
                    let sets: Vec<Text> = sets.iter().map(|set| self.key_set(set)).collect();
                    writeln!(f, "            ({}): {}", sets.join(", "), target(next))?;
                }
                writeln!(f, "        }}")?;
            }
        }
        writeln!(f, "    }}")
    }

    fn key_set(&self, set: &KeySet) -> Text {
        match set {
            KeySet::Any => "_".to_string(),
            KeySet::Value(value) => number(value),
            KeySet::Mask { value, mask } => format!("{} &&& {}", number(value), number(mask)),
            KeySet::Range { lo, hi } => format!("{} .. {}", number(lo), number(hi)),
            KeySet::ValueSet(id) => self.program.value_sets[id.index()].name.clone(),
        }
    }

    fn stmts(&self, f: &mut Formatter<'_>, stmts: &[Stmt], depth: usize) -> fmt::Result {
        stmts.iter().try_for_each(|stmt| self.stmt(f, stmt, depth))
    }

    fn stmt(&self, f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
        let indent = "    ".repeat(depth);
        f.write_str(&indent)?;
        match &stmt.kind {
            StmtKind::Assign { dst, src } => writeln!(f, "{} = {}", self.place(dst), self.expr(src)),
            StmtKind::SetValid(header) => writeln!(f, "{}.setValid()", self.header(header)),
            StmtKind::SetInvalid(header) => writeln!(f, "{}.setInvalid()", self.header(header)),
            StmtKind::If { cond, then, otherwise } => {
                writeln!(f, "if {} {{", self.expr(cond))?;
                self.stmts(f, then, depth + 1)?;
                if !otherwise.is_empty() {
                    writeln!(f, "{indent}}} else {{")?;
                    self.stmts(f, otherwise, depth + 1)?;
                }
                writeln!(f, "{indent}}}")
            }
            StmtKind::Switch { value, cases, default } => {
                writeln!(f, "switch {} {{", self.expr(value))?;
                for (labels, body) in cases {
                    writeln!(f, "{indent}{}:", list(labels))?;
                    self.stmts(f, body, depth + 1)?;
                }
                if !default.is_empty() {
                    writeln!(f, "{indent}default:")?;
                    self.stmts(f, default, depth + 1)?;
                }
                writeln!(f, "{indent}}}")
            }
            StmtKind::Block { label, body } | StmtKind::Loop { label, body } => {
                let word = if matches!(stmt.kind, StmtKind::Loop { .. }) { "loop" } else { "block" };
                writeln!(f, "{word} L{} {{", label.0)?;
                self.stmts(f, body, depth + 1)?;
                writeln!(f, "{indent}}}")
            }
            StmtKind::Break(label) => writeln!(f, "break L{}", label.0),
            StmtKind::Continue(label) => writeln!(f, "continue L{}", label.0),
            StmtKind::Exit => writeln!(f, "exit"),
            StmtKind::Apply { table, hit, action_run } => {
                write!(f, "apply {}", self.program.tables[table.index()].name)?;
                if let Some(slot) = hit {
                    write!(f, " hit {}", self.names[slot.index()])?;
                }
                if let Some(slot) = action_run {
                    write!(f, " action_run {}", self.names[slot.index()])?;
                }
                writeln!(f)
            }
            StmtKind::Extern(call) => writeln!(f, "{}", self.extern_call(call)),
            StmtKind::Extract { header, varbit_width } => {
                writeln!(f, "extract {}{}", self.header(header), self.width(varbit_width.as_ref()))
            }
            StmtKind::ExtractNext { stack, varbit_width } => {
                let stack = &self.program.stacks[stack.index()].name;
                writeln!(f, "extract {stack}.next{}", self.width(varbit_width.as_ref()))
            }
            StmtKind::Advance(bits) => writeln!(f, "advance {}", self.expr(bits)),
            StmtKind::Verify { cond, error } => writeln!(f, "verify {} else {}", self.expr(cond), self.expr(error)),
            StmtKind::Emit(header) => writeln!(f, "emit {}", self.program.headers[header.index()].name),
        }
    }

    fn width(&self, width: Option<&Expr>) -> Text {
        width.map_or(String::new(), |width| format!(", varbit of {}", self.expr(width)))
    }

    fn index(&self, index: Option<&Index>) -> Text {
        index.map_or(String::new(), |index| format!("@[{}]", self.expr(&index.expr)))
    }

    fn place(&self, place: &Place) -> Text {
        format!("{}{}", self.slot(place.slot), self.index(place.index.as_ref()))
    }

    fn slot(&self, slot: SlotId) -> &str {
        &self.names[slot.index()]
    }

    fn header(&self, header: &HeaderRef) -> Text {
        format!("{}{}", self.header_name(header.header), self.index(header.index.as_ref()))
    }

    fn header_name(&self, header: HeaderId) -> &str {
        &self.program.headers[header.index()].name
    }

    fn expr(&self, expr: &Expr) -> Text {
        match &expr.kind {
            ExprKind::Const(value) => format!("{}{}{}", expr.ty.width, sign(expr.ty), number(value)),
            ExprKind::Load(place) => self.place(place),
            ExprKind::Unary(op, of) => {
                let op = match op {
                    UnaryOp::Neg => '-',
                    UnaryOp::Not => '~',
                };
                format!("{op}{}", self.expr(of))
            }
            ExprKind::Binary(op, a, b) => format!("({} {} {})", self.expr(a), operator(*op), self.expr(b)),
            ExprKind::Mux { cond, then, otherwise } => {
                format!("({} ? {} : {})", self.expr(cond), self.expr(then), self.expr(otherwise))
            }
            ExprKind::Slice { of, hi, lo } => format!("{}[{hi}:{lo}]", self.expr(of)),
            ExprKind::Concat(a, b) => format!("({} ++ {})", self.expr(a), self.expr(b)),
            ExprKind::Cast(of) => format!("({}){}", expr.ty, self.expr(of)),
            ExprKind::Lookahead { offset } => format!("lookahead<{}>({offset})", expr.ty.width),
            ExprKind::PacketLength => "packet_length".to_string(),
        }
    }

    fn fields(&self, fields: &[DataField]) -> Text {
        let fields: Vec<Text> = fields.iter().map(|field| self.expr(&field.expr)).collect();
        format!("{{{}}}", fields.join(", "))
    }

    fn exprs(&self, exprs: &[Expr]) -> Text {
        let exprs: Vec<Text> = exprs.iter().map(|expr| self.expr(expr)).collect();
        format!("{{{}}}", exprs.join(", "))
    }

    fn checksum(&self, name: &str, sum: &Checksum) -> Text {
        format!(
            "{name}{} if {} {} over {} by {:?}",
            if sum.with_payload { "_with_payload" } else { "" },
            self.expr(&sum.condition),
            self.place(&sum.field),
            self.fields(&sum.data),
            sum.algorithm
        )
    }

    fn extern_call(&self, call: &ExternCall) -> Text {
        let program = self.program;
        let meter = |id: &super::MeterId| &program.meters[id.index()].name;
        let counter = |id: &super::CounterId| &program.counters[id.index()].name;
        let register = |id: &super::RegisterId| &program.registers[id.index()].name;
        match call {
            ExternCall::RegisterRead { register: id, dst, index } => {
                format!("{} = {}[{}]", self.place(dst), register(id), self.expr(index))
            }
            ExternCall::RegisterWrite { register: id, index, value } => {
                format!("{}[{}] = {}", register(id), self.expr(index), self.expr(value))
            }
            ExternCall::ExecuteRegister { action, index, dst } => {
                let action = &program.register_actions[action.index()].name;
                let dst = dst.as_ref().map_or(String::new(), |dst| format!("{} = ", self.place(dst)));
                format!("{dst}execute {action}[{}]", self.expr(index))
            }
            ExternCall::Math { unit, dst, input } => {
                let unit = &program.math_units[unit.index()].name;
                format!("{} = math {unit}({})", self.place(dst), self.expr(input))
            }
            ExternCall::Filter { filter, dst, value, index } => {
                let filter = &program.filters[filter.index()].name;
                format!("{} = filter {filter}[{}]({})", self.place(dst), self.expr(index), self.expr(value))
            }
            ExternCall::ChecksumAdd { sum, data, subtract } => {
                let sign = if *subtract { "-=" } else { "+=" };
                format!("{} {sign} {}", self.place(sum), self.fields(data))
            }
            ExternCall::Count { counter: id, index } => format!("count {}[{}]", counter(id), self.expr(index)),
            ExternCall::DirectCount { counter: id } => format!("count {}", counter(id)),
            ExternCall::ExecuteMeter { meter: id, dst, index } => {
                format!("{} = meter {}[{}]", self.place(dst), meter(id), self.expr(index))
            }
            ExternCall::DirectMeterRead { meter: id, dst } => format!("{} = meter {}", self.place(dst), meter(id)),
            ExternCall::Random { dst, lo, hi } => {
                format!("{} = random {} .. {}", self.place(dst), self.expr(lo), self.expr(hi))
            }
            ExternCall::Hash { dst, algorithm, base, data, max } => {
                let (base, max) = (self.expr(base), self.expr(max));
                format!("{} = {base} + {algorithm:?}{} mod {max}", self.place(dst), self.fields(data))
            }
            ExternCall::VerifyChecksum(sum) => self.checksum("verify_checksum", sum),
            ExternCall::UpdateChecksum(sum) => self.checksum("update_checksum", sum),
            ExternCall::MarkToDrop => "mark_to_drop".to_string(),
            ExternCall::Request(request) => self.request(request),
        }
    }

    fn request(&self, request: &Request) -> Text {
        match request {
            Request::MirrorEmit { session, data } => {
                format!("mirror session {} {}", self.expr(session), self.fields(data))
            }
            Request::ResubmitEmit { data } => format!("resubmit {}", self.fields(data)),
            Request::Clone { egress, session, field_list } => {
                let kind = if *egress { "E2E" } else { "I2E" };
                format!("clone {kind} session {} fields {field_list:?}", self.expr(session))
            }
            Request::Resubmit { field_list } => format!("resubmit fields {field_list}"),
            Request::Recirculate { field_list } => format!("recirculate fields {field_list}"),
            Request::Digest { name, data } => format!("digest {name} {}", self.exprs(data)),
            Request::Truncate(bytes) => format!("truncate {}", self.expr(bytes)),
            Request::Assert { cond, assume } => {
                format!("{} {}", if *assume { "assume" } else { "assert" }, self.expr(cond))
            }
            Request::LogMsg { format, data } => format!("log_msg {format:?} {}", self.exprs(data)),
        }
    }
}

fn number(value: &BigUint) -> Text {
    if *value < BigUint::from(10u8) { value.to_string() } else { format!("{value:#x}") }
}

fn list(values: &[BigUint]) -> Text {
    let mut text = String::new();
    for value in values {
        let comma = if text.is_empty() { "" } else { ", " };
        let written = write!(text, "{comma}{}", number(value));
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    text
}

fn sign(ty: Ty) -> char {
    if ty.signed { 's' } else { 'w' }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::AddSat => "|+|",
        BinaryOp::SubSat => "|-|",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
    }
}
