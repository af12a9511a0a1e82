// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control operations: both engines' states give the same answers, refuse what is wrong, and then treat packets alike.

use marklab_p4::ir::{MatchKind, RegisterId, TableId};
use marklab_pipeline::{EntryHandle, KeyMatch, State, Table, TableEntry};
use num_bigint::BigUint;

use super::number;
use crate::bytes::Bytes;
use crate::programs::{Loaded, Pair, chosen};

/// Largest number of operations of one input.
const MOST_OPERATIONS: usize = 64;

pub(super) fn run(input: &[u8]) -> Result<u64, String> {
    let mut input = Bytes::new(input);
    let (number_of_program, loaded) = chosen(&mut input);
    let mut pair = loaded.states();
    let mut features = vec![number_of_program];
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        features.extend(operate(loaded, &mut pair, &mut input)?);
    }
    loaded.send(&mut pair, &mut input)?;
    pair.compare()?;
    Ok(number(features))
}

/// One operation, or a packet.
pub(super) fn operate(loaded: &Loaded, pair: &mut Pair, input: &mut Bytes<'_>) -> Result<Vec<u8>, String> {
    let operation = input.byte() % 8;
    if operation == 0 {
        return loaded.send(pair, input);
    }
    let mut feature = vec![operation];
    if operation == 1 && !loaded.program.registers.is_empty() {
        let register = input.below(loaded.program.registers.len());
        let value = input.value(loaded.program.registers[register].ty.width);
        let cell = input.byte().into();
        for state in &mut pair.states {
            state.set_register(RegisterId(register as u32), cell, &value);
        }
    } else if !loaded.program.tables.is_empty() {
        let table = input.below(loaded.program.tables.len());
        let change = change(operation, pair.states[0].table(TableId(table as u32)), input);
        let [meant, compiled] = pair.states.each_mut().map(|state| apply(state, table, &change));
        if meant != compiled {
            return Err(format!("{change:?}: the interpreter's state answers {meant}, the JIT's {compiled}"));
        }
        // The kind of the answer: the length of its name, without its details.
        feature.extend([table as u8, meant.split(['(', ' ']).nth(1).map_or(0, |kind| kind.len() as u8)]);
    }
    Ok(feature)
}

/// An operation on a table.
#[derive(Debug)]
enum Change {
    Insert(TableEntry),
    Modify(EntryHandle, u32, Vec<BigUint>),
    Delete(EntryHandle),
    SetDefault(u32, Vec<BigUint>),
    Clear,
}

fn change(operation: u8, table: &Table, input: &mut Bytes<'_>) -> Change {
    // One more than there are actions, so that an unknown action occurs as well.
    let action = input.below(table.actions().len() + 1);
    let params = table.actions().get(action).map_or(&[][..], |(_, params)| params);
    let args: Vec<BigUint> = params.iter().map(|param| input.value(param.ty.width)).collect();
    let action = action as u32;
    let handle = EntryHandle(u32::from(input.byte() % 8));
    match operation {
        2 => Change::Modify(handle, action, args),
        3 => Change::Delete(handle),
        4 => Change::SetDefault(action, args),
        5 if input.byte() == 0 => Change::Clear,
        _ => {
            let keys = table.spec().keys.iter().filter(|key| key.kind != MatchKind::Selector);
            let keys = keys.map(|key| key_match(key.kind, key.expr.ty.width, input)).collect();
            Change::Insert(TableEntry { keys, action, args, priority: u32::from(input.byte() % 4) })
        }
    }
}

/// An entry's match for a key component, sometimes of another kind.
fn key_match(kind: MatchKind, width: u32, input: &mut Bytes<'_>) -> KeyMatch {
    let kinds = [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary, MatchKind::Range];
    let kind = match input.byte() {
        0..8 => return KeyMatch::Any,
        odd @ 8..16 => kinds[usize::from(odd % 4)],
        _ => kind,
    };
    let value = input.value(width);
    match kind {
        MatchKind::Exact | MatchKind::Optional | MatchKind::Selector => KeyMatch::Exact(value),
        MatchKind::Lpm => KeyMatch::Lpm { value, prefix_len: input.below(width as usize + 2) as u32 },
        MatchKind::Ternary => KeyMatch::Ternary { value, mask: input.value(width) },
        MatchKind::Range => KeyMatch::Range { lo: value, hi: input.value(width) },
    }
}

/// Carries out a change. Returns the answer as text.
fn apply(state: &mut State, table: usize, change: &Change) -> String {
    let mut table = state.table_mut(TableId(table as u32));
    match change {
        Change::Insert(entry) => format!("{:?}", table.insert(entry.clone())),
        Change::Modify(handle, action, args) => format!("{:?}", table.modify(*handle, *action, args.clone())),
        Change::Delete(handle) => format!("{:?}", table.delete(*handle)),
        Change::SetDefault(action, args) => format!("{:?}", table.set_default(*action, args)),
        Change::Clear => format!("{:?}", table.clear()),
    }
}
