// SPDX-License-Identifier: MIT OR Apache-2.0
//! The place of each slot in a packet's state.
//!
//! [`Phv`] (packet header vector, the term of the RMT papers) is the state that a packet carries through a switch:
//! headers, validity, user and intrinsic metadata. Interpreter and JIT use the same bytes, so two runs can be compared
//! by their `Phv`s.
//!
//! A scalar takes the smallest of 1, 2, 4, 8 and 16 bytes that holds it, or whole 8-byte words if it is larger. It is
//! little endian, and its unused bits are 0. A `varbit` keeps its wire bytes, left aligned. Each element of a header
//! stack starts at a multiple of 8, so that elements lie a constant number of bytes apart.
//!
//! The metadata of v1model that a switch sets for each packet lie at the same [`Standard`] places for all programs.

use std::sync::atomic::{AtomicU64, Ordering};

use marklab_p4::ir::{Arch, Class, HeaderId, Program, Slot, SlotId, Stack};
use marklab_prefetch::prefetch;
use num_bigint::BigUint;

/// A packet's state in a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phv {
    lines: Box<[CacheLine]>,
    /// Id of the layout.
    id: LayoutId,
}

/// Aligned, so that a `Phv` takes no more cache lines than its size needs: if many packets wait, their states are not
/// in the nearest cache.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(align(64))]
struct CacheLine([u64; 8]);

/// Fields that every `Phv` has before its slots.
pub(crate) mod reserved {
    /// `u32`: bytes that the parser consumed. The payload begins behind them.
    pub(crate) const PAYLOAD_OFFSET: usize = 0;
    /// `u32`: length of the frame at arrival, which counters and meters count.
    pub(crate) const ARRIVAL_BYTES: usize = 4;
    /// Bytes reserved.
    pub(crate) const SIZE: usize = 8;
}

/// A field of v1model's `standard_metadata`, with its own place in the state of every packet of a v1model program. If the
/// program declares the field with this width, its slot has this place; then a switch writes it without knowing the
/// program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standard {
    name: &'static str,
    /// Bits.
    width: u32,
    field: Field,
}

impl Standard {
    /// `ingress_port`.
    pub const INGRESS_PORT: Standard = Standard::new("ingress_port", 9, 8);
    /// `egress_spec`.
    pub const EGRESS_SPEC: Standard = Standard::new("egress_spec", 9, 10);
    /// `egress_port`.
    pub const EGRESS_PORT: Standard = Standard::new("egress_port", 9, 12);
    /// `priority`.
    pub const PRIORITY: Standard = Standard::new("priority", 3, 14);
    /// `packet_length`.
    pub const PACKET_LENGTH: Standard = Standard::new("packet_length", 32, 16);
    /// `enq_qdepth`.
    pub const ENQ_QDEPTH: Standard = Standard::new("enq_qdepth", 19, 20);
    /// `deq_qdepth`.
    pub const DEQ_QDEPTH: Standard = Standard::new("deq_qdepth", 19, 24);
    /// `enq_timestamp`.
    pub const ENQ_TIMESTAMP: Standard = Standard::new("enq_timestamp", 32, 28);
    /// `deq_timedelta`.
    pub const DEQ_TIMEDELTA: Standard = Standard::new("deq_timedelta", 32, 32);
    /// `ingress_global_timestamp`.
    pub const INGRESS_GLOBAL_TIMESTAMP: Standard = Standard::new("ingress_global_timestamp", 48, 40);
    /// `egress_global_timestamp`.
    pub const EGRESS_GLOBAL_TIMESTAMP: Standard = Standard::new("egress_global_timestamp", 48, 48);

    /// All of them.
    pub const ALL: [Standard; 11] = [
        Standard::INGRESS_PORT,
        Standard::EGRESS_SPEC,
        Standard::EGRESS_PORT,
        Standard::PRIORITY,
        Standard::PACKET_LENGTH,
        Standard::ENQ_QDEPTH,
        Standard::DEQ_QDEPTH,
        Standard::ENQ_TIMESTAMP,
        Standard::DEQ_TIMEDELTA,
        Standard::INGRESS_GLOBAL_TIMESTAMP,
        Standard::EGRESS_GLOBAL_TIMESTAMP,
    ];
    /// End of the last one.
    const END: u64 = 56;

    const fn new(name: &'static str, width: u32, offset: u32) -> Standard {
        Standard { name, width, field: Field { offset, size: container(width) } }
    }

    /// Its name in `standard_metadata`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Its place.
    pub fn field(self) -> Field {
        self.field
    }

    /// The largest value.
    #[inline]
    pub fn largest(self) -> u64 {
        (1 << self.width) - 1
    }

    /// The value.
    #[inline(always)]
    pub fn get(self, phv: &Phv) -> u64 {
        phv.get(self.field)
    }

    /// Sets the value modulo its width.
    #[inline(always)]
    pub fn set(self, phv: &mut Phv, value: u64) {
        phv.set(self.field, value & self.largest());
    }

    /// Its slot, if the program has the field and declares it with this width.
    fn slot(self, program: &Program) -> Option<SlotId> {
        let slot = program.intrinsic(&format!("standard_metadata.{}", self.name))?;
        let Slot { class, ty, varbit_width, .. } = &program.slots[slot.index()];
        let same = *class == Class::Packet && ty.width == self.width && varbit_width.is_none();
        same.then_some(slot)
    }
}

/// Place of a packet-class slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Byte offset.
    pub offset: u32,
    /// Bytes taken.
    pub size: u32,
}

/// Distinguishes a layout from all others of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LayoutId(u64);

impl LayoutId {
    fn new() -> LayoutId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        LayoutId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Places of all slots of a program.
#[derive(Clone, Debug)]
pub struct Layout {
    id: LayoutId,
    fields: Vec<Option<Field>>,
    /// Bytes between elements, for each stack.
    strides: Vec<u32>,
    size: usize,
}

/// Bytes for a scalar of `width` bits.
const fn container(width: u32) -> u32 {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        65..=128 => 16,
        _ => width.div_ceil(64) * 8,
    }
}

/// Bytes for the value of a slot.
pub(crate) fn storage_bytes(slot: &Slot) -> u32 {
    match slot.varbit_width {
        Some(_) => slot.ty.width.div_ceil(64) * 8,
        None => container(slot.ty.width),
    }
}

impl Layout {
    /// Lays out the packet-class slots of a program, in order.
    pub fn new(program: &Program) -> Layout {
        let mut element_starts = vec![false; program.slots.len()];
        for stack in &program.stacks {
            for slot in element_slots(program, stack) {
                element_starts[slot.index()] = true;
            }
        }
        let v1model = matches!(program.arch, Arch::V1Model { .. });
        let mut standard = vec![None; program.slots.len()];
        for known in Standard::ALL.into_iter().filter(|_| v1model) {
            if let Some(slot) = known.slot(program) {
                standard[slot.index()] = Some(known.field);
            }
        }
        let mut end = if v1model { Standard::END } else { reserved::SIZE as u64 };
        let fields: Vec<Option<Field>> = program
            .slots
            .iter()
            .zip(&element_starts)
            .zip(standard)
            .map(|((slot, &element_start), standard)| {
                if standard.is_some() {
                    return standard;
                }
                (slot.class == Class::Packet).then(|| {
                    let size = storage_bytes(slot);
                    let align = if element_start { 8 } else { size.min(8) };
                    let offset = end.next_multiple_of(align.into());
                    end = offset + u64::from(size);
                    // Saturates far beyond the limit of `State::new`.
                    Field { offset: offset.try_into().unwrap_or(u32::MAX), size }
                })
            })
            .collect();
        let strides = program
            .stacks
            .iter()
            .map(|stack| {
                let mut starts = element_slots(program, stack).filter_map(|slot| fields[slot.index()]);
                match (starts.next(), starts.next()) {
                    (Some(first), Some(second)) => second.offset - first.offset,
                    _ => 0,
                }
            })
            .collect();
        Layout { id: LayoutId::new(), fields, strides, size: end as usize }
    }

    /// Place of a slot; `None` for locals, which do not live in the `Phv`.
    pub fn field(&self, slot: SlotId) -> Option<Field> {
        self.fields[slot.index()]
    }

    /// Bytes between the same field of neighbouring elements of a stack.
    pub fn stride(&self, stack: marklab_p4::ir::StackId) -> u32 {
        self.strides[stack.index()]
    }

    /// Whether this is the layout of the program's slots.
    pub(crate) fn is_of(&self, program: &Program) -> bool {
        let own = Layout::new(program);
        (&self.fields, &self.strides, self.size) == (&own.fields, &own.strides, own.size)
    }

    pub(crate) fn id(&self) -> LayoutId {
        self.id
    }

    /// Bytes of a packet's state.
    pub(crate) fn bytes(&self) -> usize {
        self.size
    }

    /// An empty packet state: everything 0 and invalid.
    pub fn phv(&self) -> Phv {
        Phv { lines: vec![CacheLine::default(); self.size.div_ceil(size_of::<CacheLine>())].into(), id: self.id }
    }
}

/// First slot of each element of a stack: the lowest, since an element's slots are consecutive.
fn element_slots<'a>(program: &'a Program, stack: &'a Stack) -> impl Iterator<Item = SlotId> + 'a {
    (stack.first.0..stack.first.0 + stack.len).map(|header| {
        let header = &program.headers[HeaderId(header).index()];
        header.fields.iter().copied().fold(header.valid, SlotId::min)
    })
}

impl Phv {
    #[inline]
    pub(crate) fn layout_id(&self) -> LayoutId {
        self.id
    }

    /// Prefetches all of it.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.lines[..]);
    }

    /// Sets everything to 0.
    pub fn clear(&mut self) {
        self.lines.fill(CacheLine::default());
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let lines = &self.lines;
        // SAFETY: lines are arrays of u64 without padding, so that all of their bytes are initialised.
        #[expect(unsafe_code, reason = "a byte view of what is kept as lines for their alignment")]
        unsafe {
            std::slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(&lines[..]))
        }
    }

    /// The bytes, mutable.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let lines = &mut self.lines;
        // SAFETY: as above; every byte pattern is a valid u64.
        #[expect(unsafe_code, reason = "a byte view of what is kept as lines for their alignment")]
        unsafe {
            std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), size_of_val(&lines[..]))
        }
    }

    /// Value of a field of up to 64 bits.
    #[inline]
    pub fn get(&self, field: Field) -> u64 {
        debug_assert!(field.size <= 8);
        let at = field.offset as usize;
        let bytes = self.bytes();
        // Reads of a fixed size: this happens for every packet, and a copy of variable size is a function call.
        match field.size {
            1 => bytes[at].into(),
            2 => u16::from_le_bytes(fixed(&bytes[at..at + 2])).into(),
            4 => u32::from_le_bytes(fixed(&bytes[at..at + 4])).into(),
            _ => u64::from_le_bytes(fixed(&bytes[at..at + 8])),
        }
    }

    /// Sets a field of up to 64 bits; the value must fit its type.
    #[inline]
    pub fn set(&mut self, field: Field, value: u64) {
        debug_assert!(field.size <= 8);
        let at = field.offset as usize;
        let bytes = self.bytes_mut();
        match field.size {
            1 => bytes[at] = value as u8,
            2 => bytes[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes()),
            4 => bytes[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
            _ => bytes[at..at + 8].copy_from_slice(&value.to_le_bytes()),
        }
    }

    /// Value of a field of any width.
    pub fn get_wide(&self, field: Field) -> BigUint {
        let offset = field.offset as usize;
        BigUint::from_bytes_le(&self.bytes()[offset..offset + field.size as usize])
    }

    /// Sets a field of any width; the value must fit its type.
    pub fn set_wide(&mut self, field: Field, value: &BigUint) {
        let offset = field.offset as usize;
        let target = &mut self.bytes_mut()[offset..offset + field.size as usize];
        let bytes = value.to_bytes_le();
        target.fill(0);
        target[..bytes.len()].copy_from_slice(&bytes);
    }

    /// Copies a field of any width from a packet state of the same layout.
    pub fn copy_field(&mut self, from: &Phv, field: Field) {
        let range = field.offset as usize..(field.offset + field.size) as usize;
        self.bytes_mut()[range.clone()].copy_from_slice(&from.bytes()[range]);
    }

    /// Sets a field of any width to 0.
    pub fn clear_field(&mut self, field: Field) {
        self.bytes_mut()[field.offset as usize..(field.offset + field.size) as usize].fill(0);
    }

    /// Bytes that the parser consumed.
    pub fn payload_offset(&self) -> usize {
        self.get(Field { offset: reserved::PAYLOAD_OFFSET as u32, size: 4 }) as usize
    }

    pub(crate) fn set_payload_offset(&mut self, bytes: usize) {
        self.set(Field { offset: reserved::PAYLOAD_OFFSET as u32, size: 4 }, bytes as u64);
    }

    /// Length of the frame at arrival in bytes.
    pub fn arrival_bytes(&self) -> u64 {
        self.get(Field { offset: reserved::ARRIVAL_BYTES as u32, size: 4 })
    }

    /// Sets the length of the frame at arrival.
    pub fn set_arrival_bytes(&mut self, bytes: u64) {
        self.set(Field { offset: reserved::ARRIVAL_BYTES as u32, size: 4 }, bytes);
    }
}

/// The bytes as an array. There must be `N` of them.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a slice of N bytes")
}
