// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of a trace as JSON, with names of the program and lines of the source.

use marklab_p4::ir::{self, SlotId, Target};
use marklab_p4::source::{SourceMap, Span};
use marklab_pipeline::{Event, EventKind, FieldValue};
use num_bigint::BigUint;
use serde_json::{Value, json};

/// Each event is an object with `file`, `line`, `kind` and the fields of its kind.
pub(crate) fn to_json(events: &[Event], program: &ir::Program, sources: &SourceMap) -> Value {
    let words = Words { program };
    let events = events.iter().map(|event| {
        let mut object = words.event(&event.kind);
        let (file, line) = place(sources, event.span);
        object["file"] = file;
        object["line"] = line;
        object
    });
    events.collect()
}

/// File and line; nulls for statements that the compiler added.
fn place(sources: &SourceMap, span: Span) -> (Value, Value) {
    if span == Span::default() || sources.files().len() <= span.file.0 as usize {
        return (Value::Null, Value::Null);
    }
    (json!(sources.file(span.file).path.to_string_lossy()), json!(sources.line_column(span).0))
}

struct Words<'a> {
    program: &'a ir::Program,
}

impl Words<'_> {
    fn event(&self, kind: &EventKind) -> Value {
        let program = self.program;
        match kind {
            EventKind::Block { block, metadata } => {
                json!({"kind": "block", "block": program.blocks[block.index()].name, "fields": self.fields(metadata)})
            }
            EventKind::State { block, state } => json!({"kind": "state", "state": self.state(*block, *state)}),
            EventKind::Selected { block, values, target } => {
                let target = match target {
                    Target::State(state) => self.state(*block, *state),
                    Target::Accept => "accept",
                    Target::Reject => "reject",
                };
                json!({"kind": "select", "values": numbers(values), "target": target})
            }
            EventKind::Rejected(code) => {
                let name = program.errors.get(*code as usize).map_or("?", |name| name);
                json!({"kind": "reject", "error": name})
            }
            EventKind::Extracted { header, fields } => {
                json!({"kind": "extract", "header": program.headers[header.index()].name, "fields": self.fields(fields)})
            }
            EventKind::Advanced(bits) => json!({"kind": "advance", "bits": bits}),
            EventKind::Branch(taken) => json!({"kind": "branch", "taken": taken}),
            EventKind::Assigned(field) => json!({"kind": "assign", "fields": [self.field(field)]}),
            EventKind::Validity { header, valid } => {
                json!({"kind": "validity", "header": program.headers[header.index()].name, "valid": valid})
            }
            EventKind::LookedUp { table, key, entry, action, args } => {
                let spec = &program.tables[table.index()];
                let keys = spec.keys.iter().filter(|key| key.kind != ir::MatchKind::Selector).zip(key);
                let action = action.map(|action| &program.actions[action.index()]);
                let args = action.map(|action| &action.params).into_iter().flatten().zip(args);
                json!({
                    "kind": "table",
                    "table": spec.name,
                    "key": keys.map(|(key, value)| json!([key.name, hex(value)])).collect::<Vec<_>>(),
                    "entry": entry.map(|entry| entry.0),
                    "action": action.map(|action| &action.name),
                    "args": args.map(|(param, value)| json!([param.name, hex(value)])).collect::<Vec<_>>(),
                })
            }
            EventKind::RegisterRead { register, index, value } => json!({
                "kind": "register_read",
                "object": program.registers[register.index()].name,
                "index": index,
                "value": value.as_ref().map(hex),
            }),
            EventKind::RegisterWritten { register, index, value } => json!({
                "kind": "register_write",
                "object": program.registers[register.index()].name,
                "index": index,
                "value": hex(value),
            }),
            EventKind::Counted { counter, index } => {
                json!({"kind": "count", "object": program.counters[counter.index()].name, "index": index})
            }
            EventKind::Metered { meter, index, colour } => json!({
                "kind": "meter",
                "object": program.meters[meter.index()].name,
                "index": index,
                "value": colour,
            }),
            EventKind::Verified { slot, expected, found } => json!({
                "kind": "verify_checksum",
                "object": self.slot(*slot),
                "expected": hex(expected),
                "found": hex(found),
            }),
            EventKind::Called { name, values } => json!({"kind": "call", "name": name, "values": numbers(values)}),
            EventKind::Emitted { header, fields } => {
                json!({"kind": "emit", "header": program.headers[header.index()].name, "fields": self.fields(fields)})
            }
            EventKind::Exited => json!({"kind": "exit"}),
        }
    }

    fn state(&self, block: ir::BlockId, state: ir::StateId) -> &str {
        match &self.program.blocks[block.index()].body {
            ir::BlockBody::Parser(parser) => &parser.states[state.index()].name,
            ir::BlockBody::Control(_) => "?",
        }
    }

    fn slot(&self, slot: SlotId) -> &str {
        &self.program.slots[slot.index()].name
    }

    /// Name, width in bits, value.
    fn field(&self, field: &FieldValue) -> Value {
        json!([self.slot(field.slot), field.width, hex(&field.value)])
    }

    fn fields(&self, fields: &[FieldValue]) -> Vec<Value> {
        fields.iter().map(|field| self.field(field)).collect()
    }
}

fn hex(value: &BigUint) -> String {
    format!("{value:#x}")
}

fn numbers(values: &[BigUint]) -> Vec<String> {
    values.iter().map(hex).collect()
}
