//! Frames on their way from one island to another, handed over between windows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::frame_queue::Batch;

/// The half of each mailbox that is written in a window; the other half is read.
pub type Half = usize;

/// The mailbox of one direction of a link. No thread waits for its lock: in each window one island writes
/// one half and one island reads the other.
#[derive(Debug, Default)]
pub struct Mailbox {
    full: [AtomicBool; 2],
    batches: [Mutex<Batch>; 2],
}

impl Mailbox {
    /// Puts a batch into this window's half and leaves an empty one in its place.
    pub fn put(&self, parity: Half, batch: &mut Batch) {
        let mut slot = lock(&self.batches[parity]);
        std::mem::swap(&mut *slot, batch);
        self.full[parity].store(true, Ordering::Release);
    }

    /// Hands the previous window's batch to `take`, which leaves an empty one in its place.
    #[inline]
    pub fn collect(&self, parity: Half, take: impl FnOnce(&mut Batch)) {
        let parity = 1 - parity;
        if self.full[parity].load(Ordering::Acquire) {
            self.full[parity].store(false, Ordering::Release);
            take(&mut lock(&self.batches[parity]));
        }
    }
}

/// A batch is whole at any time, so a panic elsewhere does not spoil it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
