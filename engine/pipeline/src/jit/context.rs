// SPDX-License-Identifier: MIT OR Apache-2.0
//! The border between generated code and Rust: the data that the code receives, and the functions that it calls.
//!
//! =====================================================================================================================
//! CAUTION: the generator uses the offsets of the `repr(C)` structs here. Pointers given to generated code stay valid
//! for one call: tables are `Fixed`, and register and counter arrays never grow. Packets move only in functions after
//! which the code reads the packet's pointers again.
//! =====================================================================================================================
#![expect(unsafe_code, reason = "called by generated code with raw pointers")]

use cranelift_jit::JITBuilder;
use num_bigint::BigUint;

pub(super) use crate::state::{Cells, Context, Operation, Referred, TableView};
use crate::table::{Row, Table};
use crate::words::{limbs, limbs_of, words_for};
use crate::{Packet, State};

/// Colour of a meter that did not run.
pub(super) const NO_COLOUR: u64 = u64::MAX;

/// [`Context::emitted_len`] before a deparser ends.
const NOT_DEPARSED: u64 = u64::MAX;

/// Runs generated code on a packet, and collects its results. Returns the number of bytes emitted, if it deparsed.
#[inline(always)]
pub(super) fn enter(
    state: &mut State,
    packet: &mut Packet,
    referred: &Referred,
    code: impl FnOnce(*mut Context),
) -> Option<usize> {
    // An engine of the same program at the same address needs no more room than the one before it.
    if !std::ptr::eq(state.context.referred, referred) {
        refer(state, referred);
    }
    let context = &mut state.context;
    context.length = packet.len() as u64;
    context.packet = packet;
    context.see_packet();
    context.emitted_len = NOT_DEPARSED;
    let state: *mut State = state;
    // SAFETY: `state` comes from a reference. From here on there is no other reference to it, to its parts or to the
    // packet.
    unsafe {
        (*state).context.state = state;
        code(&raw mut (*state).context);
        (*state).faults += std::mem::take(&mut (*state).context.faults);
        let emitted = (*state).context.emitted_len;
        (emitted != NOT_DEPARSED).then_some(emitted as usize)
    }
}

/// Prepares a state for code that refers to these objects.
#[cold]
#[inline(never)]
fn refer(state: &mut State, referred: &Referred) {
    let State { emitted, scratch, context, .. } = state;
    for (room, bytes) in [(&mut *emitted, referred.emitted_bytes), (&mut *scratch, referred.scratch_bytes)] {
        room.resize(room.len().max(bytes), 0);
    }
    (context.emitted, context.scratch) = (emitted.as_mut_ptr(), scratch.as_mut_ptr());
    context.referred = referred;
}

/// Makes at least `end` bytes of the packet readable. Returns 0 if it has fewer.
unsafe extern "C" fn need_bytes(context: *mut Context, end: u64) -> u64 {
    // SAFETY: generated code passes the context that it received, which `enter` keeps alive.
    let context = unsafe { &mut *context };
    if end > context.length {
        return 0;
    }
    // SAFETY: the packet outlives the context.
    unsafe { (*context.packet).store(end as usize) };
    context.see_packet();
    1
}

/// Makes the headroom at least `bytes`.
unsafe extern "C" fn make_room(context: *mut Context, bytes: u64) {
    // SAFETY: generated code passes the context that it received, which `enter` keeps alive.
    let context = unsafe { &mut *context };
    // SAFETY: the packet outlives the context; generated code reads its pointers again after this call.
    let packet = unsafe { &mut *context.packet };
    packet.make_room(bytes as usize, packet.stored().len());
    context.see_packet();
}

unsafe extern "C" fn lookup(table: *const Table, key: *const u64, words: u64) -> *const u64 {
    // SAFETY: a table of the state's views, and a key of the table's number of words on the code's stack.
    unsafe { (*table).lookup(std::slice::from_raw_parts(key, words as usize)).as_ptr() }
}

unsafe extern "C" fn lookup_word(table: *mut Table, key: u64) -> *const u64 {
    // SAFETY: a table of the state's views; generated code holds no row pointer of this table that this could change.
    unsafe { (*table).lookup_word(key) }
}

unsafe extern "C" fn count_hit(table: *mut Table, head: u64, bytes: u64) {
    // SAFETY: a table of the state's views; the row pointer that generated code holds does not point to its counters.
    unsafe { (*table).count_hit(head, bytes) }
}

/// [`Table::resolve`].
unsafe extern "C" fn resolve(table: *const Table, row: *const u64, hash: u64) -> *const u64 {
    // SAFETY: a table of the state's views that has an `implementation`, and a row of it: a head and one parameter.
    unsafe { (*table).resolve(std::slice::from_raw_parts(row, Row::ARGS + 1), hash).as_ptr() }
}

/// Whether a value set contains the value in these words.
unsafe extern "C" fn in_value_set(context: *mut Context, set: u64, words: *const u64) -> u64 {
    // SAFETY: the context and its state are alive; the value sets do not change during the call.
    let set = unsafe { &(&(*(*context).state).value_sets)[set as usize] };
    // SAFETY: a value of the set's shape on the code's stack.
    set.contains(unsafe { std::slice::from_raw_parts(words, set.shape().words) }).into()
}

/// Colour of the packet, or [`NO_COLOUR`] if the index is out of range.
unsafe extern "C" fn execute_meter(context: *mut Context, meter: u64, index: u64, bytes: u64) -> u64 {
    // SAFETY: the context and its state are alive; nothing else refers to the meters during the call.
    let state = unsafe { &mut *(*context).state };
    state.meters[meter as usize].execute(index, state.now, bytes).unwrap_or(NO_COLOUR)
}

/// Passes a sample to a filter, and stores the output in `context.drawn`. Returns 0 if the index is out of range.
unsafe extern "C" fn filter(context: *mut Context, filter: u64, index: u64, sample: u64) -> u64 {
    // SAFETY: the context and its state are alive; nothing else refers to the filters and the random stream during the
    // call.
    let State { filters, random, now, .. } = unsafe { &mut *(*context).state };
    filters[filter as usize].execute(index, *now, sample, random).map_or(0, |value| {
        // SAFETY: as above; nothing else writes `drawn` meanwhile.
        unsafe { (*context).drawn = value };
        1
    })
}

/// Colour of the packet from the direct meter of the entry whose row has this first word, or [`NO_COLOUR`] on a miss.
unsafe extern "C" fn meter_hit(context: *mut Context, table: *mut Table, head: u64, bytes: u64) -> u64 {
    // SAFETY: the context and its state are alive.
    let now = unsafe { (*(*context).state).now };
    // SAFETY: a table of the state's views; the row pointer that generated code holds does not point to its meters.
    unsafe { (*table).meter_hit(head, now, bytes) }.unwrap_or(NO_COLOUR)
}

unsafe extern "C" fn crc32(data: *const u8, len: u64) -> u64 {
    // SAFETY: a buffer of that length on the code's stack.
    u64::from(crate::hash::crc32(unsafe { std::slice::from_raw_parts(data, len as usize) }))
}

unsafe extern "C" fn hash(context: *const Context, algorithm: u64, data: *const u8, len: u64) -> u64 {
    // SAFETY: as above; the generator numbers algorithms by their place in the list.
    unsafe {
        let algorithm = (&(*(*context).referred).algorithms)[algorithm as usize];
        crate::hash::hash(algorithm, std::slice::from_raw_parts(data, len as usize)).unwrap_or(0)
    }
}

/// Hash over the buffer, followed by the packet from `payload` on.
unsafe extern "C" fn hash_with_payload(
    context: *mut Context,
    algorithm: u64,
    data: *const u8,
    len: u64,
    payload: u64,
) -> u64 {
    // SAFETY: as above.
    let (context, data) = unsafe { (&mut *context, std::slice::from_raw_parts(data, len as usize)) };
    // SAFETY: the packet outlives the context; generated code reads its pointers again after this call.
    let packet = unsafe { &mut *context.packet };
    packet.store(packet.len());
    let input = [data, packet.stored().get(payload as usize..).unwrap_or_default()].concat();
    context.see_packet();
    // SAFETY: as for `hash`.
    let algorithm = unsafe { (&(*context.referred).algorithms)[algorithm as usize] };
    crate::hash::hash(algorithm, &input).unwrap_or(0)
}

/// Copies bytes.
unsafe extern "C" fn copy(target: *mut u8, source: *const u8, len: u64) {
    // SAFETY: generated code checked both ends: a field of the `Phv`, the packet's stored bytes, or a buffer of its own.
    unsafe { std::ptr::copy(source, target, len as usize) }
}

unsafe extern "C" fn clear(target: *mut u8, len: u64) {
    // SAFETY: a buffer of that length, which belongs to the code.
    unsafe { target.write_bytes(0, len as usize) }
}

/// Makes room for `bytes` more bytes in the buffer that a deparser has filled up to `end`. Returns the new end.
unsafe extern "C" fn reserve(context: *mut Context, end: *mut u8, bytes: u64) -> *mut u8 {
    // SAFETY: generated code passes the context that it received, which `enter` keeps alive.
    let context = unsafe { &mut *context };
    // SAFETY: the state is alive, and nothing else refers to the buffer during the call.
    let emitted = unsafe { &mut (*context.state).emitted };
    let used = end as usize - context.emitted as usize;
    if emitted.len() < used + bytes as usize {
        emitted.resize((used + bytes as usize).next_power_of_two(), 0);
        context.emitted = emitted.as_mut_ptr();
    }
    context.emitted.wrapping_add(used)
}

unsafe fn read_words(words: *const u64, width: u32) -> BigUint {
    // SAFETY: the caller passes the address of a value of that width.
    limbs(unsafe { std::slice::from_raw_parts(words, words_for(width)) })
}

unsafe fn write_words(target: *mut u64, value: &BigUint, words: usize) {
    // SAFETY: the caller passes room for that many words.
    unsafe { std::slice::from_raw_parts_mut(target, words) }.copy_from_slice(&limbs_of(value, words));
}

/// Computes the operation of that number on the values at `first` and, if it takes two, `last`.
unsafe extern "C" fn operate(
    context: *mut Context,
    number: u64,
    target: *mut u64,
    first: *const u64,
    last: *const u64,
) {
    // SAFETY: the generator numbers operations by their place in the list, and passes values of their types.
    unsafe {
        let operation = &(&(*(*context).referred).operations)[number as usize];
        let values = [first, last].into_iter().zip(&operation.operands);
        let values: Vec<_> = values.map(|(words, &ty)| (read_words(words, ty.width), ty)).collect();
        let value = operation.operator.apply(&values, operation.ty).unwrap_or_else(|| {
            (*context).faults += 1;
            BigUint::ZERO
        });
        write_words(target, &value, words_for(operation.ty.width));
    }
}

/// Stores bytes, most significant first, as a number of `words` words.
unsafe extern "C" fn varbit_number(target: *mut u64, words: u64, bytes: *const u8, len: u64) {
    // SAFETY: a varbit's bytes, no longer than the field, and room for the words of the field.
    unsafe {
        let value = BigUint::from_bytes_be(std::slice::from_raw_parts(bytes, len as usize));
        write_words(target, &value, words as usize);
    }
}

/// Stores a value of `width` bits as bytes in wire order, left aligned.
unsafe extern "C" fn wire_bits(target: *mut u8, words: *const u64, width: u64) {
    // SAFETY: a value of that width, and room for its bytes.
    unsafe {
        let bytes = width.div_ceil(8);
        let digits = (read_words(words, width as u32) << (bytes * 8 - width)).to_bytes_be();
        let target = std::slice::from_raw_parts_mut(target, bytes as usize);
        target.fill(0);
        // 0 has one digit, even if its width is 0.
        let digits = &digits[digits.len().saturating_sub(target.len())..];
        let start = target.len() - digits.len();
        target[start..].copy_from_slice(digits);
    }
}

/// Copies `bits` bits, left aligned at `source`, to bit `at` of `target`; zeros fill the last byte.
unsafe extern "C" fn put_bits(target: *mut u8, at: u64, source: *const u8, bits: u64) {
    // SAFETY: generated code has made room for all bits, and the source has that many.
    let (target, source) = unsafe {
        (
            std::slice::from_raw_parts_mut(target.add(at as usize / 8), (at % 8 + bits).div_ceil(8) as usize),
            std::slice::from_raw_parts(source, bits.div_ceil(8) as usize),
        )
    };
    crate::words::put_bits(target, at as u32 % 8, source, bits);
}

/// Copies `bits` bits from bit `at` of `source`, left aligned.
unsafe extern "C" fn get_bits(target: *mut u8, source: *const u8, at: u64, bits: u64) {
    // SAFETY: as above.
    let (target, source) = unsafe {
        (
            std::slice::from_raw_parts_mut(target, bits.div_ceil(8) as usize),
            std::slice::from_raw_parts(source, (at + bits).div_ceil(8) as usize),
        )
    };
    crate::words::get_bits(target, source, at as u32, bits);
}

/// Draws from `lo..=hi` into `context.drawn`. Returns 0 if the range is empty.
unsafe extern "C" fn draw(context: *mut Context, lo: u64, hi: u64) -> u64 {
    // SAFETY: the context and its state are alive; nothing else refers to the random stream during the call.
    let drawn = crate::random::draw(unsafe { &mut (*(*context).state).random }, lo, hi);
    drawn.map_or(0, |value| {
        // SAFETY: as above.
        unsafe { (*context).drawn = value };
        1
    })
}

/// Adds an operand of `words` words for the next `request`.
unsafe extern "C" fn operand(context: *mut Context, value: *const u64, words: u64) {
    // SAFETY: as above.
    unsafe { (*(*context).state).operands.push(limbs(std::slice::from_raw_parts(value, words as usize))) }
}

/// Records the request of that number, with the operands added before.
unsafe extern "C" fn request(context: *mut Context, number: u64) {
    // SAFETY: as above; the generator numbers requests by their place in the list.
    unsafe {
        let operands = std::mem::take(&mut (*(*context).state).operands);
        (*(*context).state).effects.keep(&(&(*(*context).referred).requests)[number as usize], operands);
    }
}

/// Result of the math unit of that number for `x`.
unsafe extern "C" fn math(context: *const Context, unit: u64, x: u64) -> u64 {
    // SAFETY: the context and its state are alive; math units are numbered as in the program.
    let program = unsafe { (*(*context).state).program() };
    crate::math::evaluate(&program.math_units[unit as usize], x)
}

/// Records that the parser refuses the packet.
unsafe extern "C" fn refuse(context: *mut Context) {
    // SAFETY: the context and its state are alive; nothing else refers to the effects during the call.
    unsafe { (*(*context).state).effects.refuse() }
}

/// A function that generated code may call: its name, number of parameters, and whether it returns a value.
pub(super) struct Import {
    pub(super) name: &'static str,
    pub(super) params: usize,
    pub(super) returns: bool,
}

macro_rules! imports {
    ($($constant:ident = $function:ident / $params:literal $(-> $result:literal)?;)*) => {
        $(
            pub(super) const $constant: Import =
                Import { name: stringify!($function), params: $params, returns: imports!(@returns $($result)?) };
        )*

        /// Registers the functions by name.
        pub(super) fn declare_symbols(builder: &mut JITBuilder) {
            $(builder.symbol(stringify!($function), $function as *const u8);)*
        }
    };
    (@returns $result:literal) => { true };
    (@returns) => { false };
}

imports! {
    NEED_BYTES = need_bytes / 2 -> 1;
    MAKE_ROOM = make_room / 2;
    LOOKUP = lookup / 3 -> 1;
    LOOKUP_WORD = lookup_word / 2 -> 1;
    COUNT_HIT = count_hit / 3;
    COPY = copy / 3;
    RESOLVE = resolve / 3 -> 1;
    IN_VALUE_SET = in_value_set / 3 -> 1;
    EXECUTE_METER = execute_meter / 4 -> 1;
    METER_HIT = meter_hit / 4 -> 1;
    CLEAR = clear / 2;
    RESERVE = reserve / 3 -> 1;
    OPERATE = operate / 5;
    VARBIT_NUMBER = varbit_number / 4;
    WIRE_BITS = wire_bits / 3;
    PUT_BITS = put_bits / 4;
    GET_BITS = get_bits / 4;
    CRC32 = crc32 / 2 -> 1;
    HASH = hash / 4 -> 1;
    HASH_WITH_PAYLOAD = hash_with_payload / 5 -> 1;
    DRAW = draw / 3 -> 1;
    OPERAND = operand / 3;
    REQUEST = request / 2;
    FILTER = filter / 4 -> 1;
    MATH = math / 3 -> 1;
    REFUSE = refuse / 1;
}

#[cfg(test)]
mod tests;
