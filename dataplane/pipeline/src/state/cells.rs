//! A fixed array that both Rust and native code work on.

use std::fmt;
use std::ptr::NonNull;

/// Numbers at an address that never changes.
///
/// All access goes through the one raw pointer, so that native code may use it, too, while no slice is
/// borrowed.
pub(crate) struct Cells<T: Copy> {
    first: NonNull<T>,
    len: usize,
}

impl<T: Copy> Cells<T> {
    pub fn new(value: T, len: usize) -> Cells<T> {
        let cells = Box::leak(vec![value; len].into_boxed_slice());
        Cells { first: NonNull::from(&mut *cells).cast(), len }
    }

    /// For native code.
    pub fn as_ptr(&self) -> *mut T {
        self.first.as_ptr()
    }
}

impl<T: Copy> std::ops::Deref for Cells<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `new` made the pointer from a slice of this length; it is freed in `drop` only.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<T: Copy> std::ops::DerefMut for Cells<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; `&mut self` makes it the only borrow.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for Cells<T> {
    fn drop(&mut self) {
        let slice = std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), self.len);
        // SAFETY: this is the box that `new` leaked, and nothing uses it any more.
        drop(unsafe { Box::from_raw(slice) });
    }
}

// SAFETY: it owns its cells, as a box does.
unsafe impl<T: Copy + Send> Send for Cells<T> {}
// SAFETY: a shared reference gives shared references to the cells only.
unsafe impl<T: Copy + Sync> Sync for Cells<T> {}

impl<T: Copy + fmt::Debug> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().fmt(f)
    }
}
