// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads of memory ahead of its use.
//!
//! A large network does not fit into caches, and a frame comes to a node long after it was last used. An ordinary read
//! that nothing waits for does not do: it cannot retire before its data are there, so the instructions behind it pile up.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Has the processor bring a value into its nearest cache while it goes on. On processors other than x86-64, this does
/// nothing.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    for line in (0..size_of_val(value)).step_by(LINE) {
        prefetch_line(first.wrapping_add(line));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction changes no value, and does nothing for an address that cannot be read.
    #[expect(unsafe_code, reason = "there is no safe function for it")]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}
