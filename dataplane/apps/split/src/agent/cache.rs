//! The bytes of streams, in blocks of one size from one bounded and reused pool.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::Range;

/// Bytes of a block. Small enough that an idle stream costs little, large enough that a system call
/// moves much.
pub const BLOCK: usize = 64 << 10;
/// Blocks read or written by one system call: few enough to stay in a core's second-level cache between the
/// read and the writes.
const VECTOR: usize = 4;
/// Free blocks kept for the next stream.
const SPARE: usize = 256;

type CacheBlock = Box<[u8]>;

/// The blocks of all streams, up to a bound.
#[derive(Debug)]
pub struct BlockPool {
    free: Vec<CacheBlock>,
    used: usize,
    limit: usize,
}

impl BlockPool {
    /// A pool of at most `bytes`, rounded down to whole blocks.
    pub fn new(bytes: u64) -> BlockPool {
        let limit = usize::try_from(bytes).unwrap_or(usize::MAX) / BLOCK;
        BlockPool { free: Vec::new(), used: 0, limit }
    }

    /// Bytes that streams hold.
    pub fn used(&self) -> u64 {
        (self.used * BLOCK) as u64
    }

    /// The bound in bytes.
    pub fn limit(&self) -> u64 {
        (self.limit * BLOCK) as u64
    }

    pub fn is_exhausted(&self) -> bool {
        self.used >= self.limit
    }

    fn take(&mut self) -> Option<CacheBlock> {
        if self.is_exhausted() {
            return None;
        }
        self.used += 1;
        Some(self.free.pop().unwrap_or_else(|| vec![0; BLOCK].into_boxed_slice()))
    }

    fn give(&mut self, block: CacheBlock) {
        self.used -= 1;
        if self.free.len() < SPARE {
            self.free.push(block);
        }
    }
}

/// The cached bytes of one stream, by their offsets in it.
#[derive(Debug)]
pub struct ByteCache {
    blocks: VecDeque<CacheBlock>,
    /// The offset of the first block's first byte.
    origin: u64,
    end: u64,
}

impl ByteCache {
    /// An empty cache of a stream that begins at this offset.
    pub fn new(offset: u64) -> ByteCache {
        ByteCache { blocks: VecDeque::new(), origin: offset, end: offset }
    }

    /// Reads once, up to `room` bytes. `Ok(None)`: the pool has no block. `Ok(Some(0))`: the input has ended.
    pub fn fill(
        &mut self, pool: &mut BlockPool, mut from: impl Read, room: u64,
    ) -> io::Result<Option<usize>> {
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(VECTOR * BLOCK);
        let filled = self.filled();
        while self.blocks.len() * BLOCK < filled + room {
            match pool.take() {
                Some(block) => self.blocks.push_back(block),
                None => break,
            }
        }
        let room = room.min(self.blocks.len() * BLOCK - filled);
        if room == 0 {
            return Ok(None);
        }
        let first = filled / BLOCK;
        let mut skip = filled % BLOCK;
        let mut left = room;
        let mut parts = Vec::with_capacity(VECTOR + 1);
        for block in self.blocks.range_mut(first..) {
            let part = &mut block[skip..];
            let take = part.len().min(left);
            if take == 0 {
                break;
            }
            parts.push(IoSliceMut::new(&mut part[..take]));
            left -= take;
            skip = 0;
        }
        let result = from.read_vectored(&mut parts);
        drop(parts);
        if let Ok(count) = result {
            self.end += count as u64;
        }
        self.shrink(pool);
        result.map(Some)
    }

    /// Writes once from the beginning of `range`, which must be cached; returns the bytes written.
    pub fn drain(&self, mut to: impl Write, range: &Range<u64>) -> io::Result<usize> {
        debug_assert!(self.origin <= range.start && range.end <= self.end);
        let mut at = (range.start - self.origin) as usize;
        let stop = ((range.end - self.origin) as usize).min(at + VECTOR * BLOCK);
        let mut parts = Vec::with_capacity(VECTOR + 1);
        while at < stop {
            let (index, skip) = (at / BLOCK, at % BLOCK);
            let take = (BLOCK - skip).min(stop - at);
            parts.push(IoSlice::new(&self.blocks[index][skip..skip + take]));
            at += take;
        }
        to.write_vectored(&parts)
    }

    /// Frees all blocks that end before `base`; all blocks, if nothing is left.
    pub fn discard(&mut self, pool: &mut BlockPool, base: u64) {
        if base >= self.end {
            self.release(pool);
            self.origin = self.end;
            return;
        }
        while self.origin + BLOCK as u64 <= base {
            match self.blocks.pop_front() {
                Some(block) => pool.give(block),
                None => break,
            }
            self.origin += BLOCK as u64;
        }
    }

    pub fn release(&mut self, pool: &mut BlockPool) {
        self.blocks.drain(..).for_each(|block| pool.give(block));
    }

    fn filled(&self) -> usize {
        (self.end - self.origin) as usize
    }

    /// Frees blocks into which nothing was read.
    fn shrink(&mut self, pool: &mut BlockPool) {
        while self.blocks.len() > self.filled().div_ceil(BLOCK) {
            if let Some(block) = self.blocks.pop_back() {
                pool.give(block);
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/cache.rs"]
mod tests;
