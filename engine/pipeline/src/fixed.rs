// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values whose addresses generated code keeps.
#![expect(unsafe_code, reason = "the address of a value is kept in addition to references to it")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A value on the heap with a stable address.
///
/// Each time a `Box` is moved or borrowed, it claims to be the only way to its value, so earlier pointers to the value
/// must not be used any more. Here, references are made from the pointer that generated code has as well.
pub(crate) struct Fixed<T>(NonNull<T>);

// SAFETY: it owns its value, as a `Box` does.
unsafe impl<T: Send> Send for Fixed<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    pub(crate) fn new(value: T) -> Fixed<T> {
        Fixed(NonNull::from(Box::leak(Box::new(value))))
    }

    /// The address, valid until `self` is dropped. It must not be used while a reference to the value is in use.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as `self`, which is borrowed; nothing uses the address meanwhile.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Fixed<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: `new` made the pointer from a box, and it is dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Fixed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
