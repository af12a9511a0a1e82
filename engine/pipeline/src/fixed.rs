// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values whose addresses generated code keeps.
#![expect(unsafe_code, reason = "the address of a value is kept beside references to it")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A value on the heap that stays where it is.
///
/// A `Box` claims that nothing else leads to its value, each time that it is moved or borrowed, so that a pointer made
/// before must not be used any more. Here references are made from the pointer that others have as well.
pub(crate) struct Fixed<T>(NonNull<T>);

// SAFETY: it owns its value, as a `Box` does.
unsafe impl<T: Send> Send for Fixed<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Fixed<T> {}

impl<T> Fixed<T> {
    pub(crate) fn new(value: T) -> Fixed<T> {
        Fixed(NonNull::from(Box::leak(Box::new(value))))
    }

    /// The address, until `self` is dropped. Nothing may be done by it while a reference to the value is in use.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Deref for Fixed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value lives as long as `self`, which is borrowed; who has the address does nothing meanwhile.
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
        // SAFETY: made by a box in `new`, and dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Fixed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
