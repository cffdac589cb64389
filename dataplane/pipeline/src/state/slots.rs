//! A hash table from keys, which the rows themselves hold, to row numbers.

/// Open addressing with linear probing. A slot is 0 where it is empty; otherwise the hash of the row's key,
/// and the row's number.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    slots: Vec<u64>,
    /// Slots, a power of two, less one.
    mask: usize,
    used: usize,
}

/// A key's hash. Only the control plane adds keys, so packets cannot provoke long chains.
#[inline(always)]
pub(crate) fn hash(key: impl IntoIterator<Item = u64>) -> u32 {
    let mut hash = 0;
    for word in key {
        // Multiply and fold: the high half of the product carries every input bit.
        let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xf135_7aea_2e62_a9c5;
        hash = (product >> 64) as u64 ^ product as u64;
    }
    (hash >> 32) as u32 ^ hash as u32
}

/// The rows of a table, one after another, and where in a row its key begins.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub rows: &'a [u64],
    pub stride: usize,
    pub first: usize,
}

impl<'a> Keys<'a> {
    /// The words of a row from its key on.
    #[inline(always)]
    pub fn of(self, row: u32) -> &'a [u64] {
        let first = row as usize * self.stride;
        &self.rows[first + self.first..first + self.stride]
    }
}

impl Slots {
    pub fn new() -> Slots {
        Slots { slots: vec![0; 8], mask: 7, used: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The row of a key, or 0.
    #[inline(always)]
    pub fn get(&self, key: &[u64], keys: Keys<'_>) -> u32 {
        self.find(hash(key.iter().copied()), |row| {
            let first = row as usize * keys.stride + keys.first;
            // Word by word: native code has just stored them so, and a wider load would wait for memory.
            let words = keys.rows.get(first..first + key.len());
            words.is_some_and(|words| words.iter().zip(key).all(|(a, b)| a == b))
        })
    }

    /// The first row whose key has this hash, and that is wanted, or 0.
    #[inline(always)]
    pub fn find(&self, hash: u32, mut wanted: impl FnMut(u32) -> bool) -> u32 {
        let mut at = hash as usize & self.mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 || (slot >> 32) as u32 == hash && wanted(slot as u32) {
                return slot as u32;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Adds a row, whose number is not 0.
    pub fn insert(&mut self, hash: u32, row: u32) {
        // At most half full, so that chains stay short and always end.
        if 2 * (self.used + 1) > self.mask + 1 {
            let capacity = 2 * (self.mask + 1);
            let old = std::mem::replace(&mut self.slots, vec![0; capacity]);
            self.mask = capacity - 1;
            old.into_iter().filter(|slot| *slot != 0).for_each(|slot| self.put(slot));
        }
        self.used += 1;
        self.put(u64::from(hash) << 32 | u64::from(row));
    }

    fn put(&mut self, slot: u64) {
        let mut at = self.home(slot);
        while self.slots[at] != 0 {
            at = (at + 1) & self.mask;
        }
        self.slots[at] = slot;
    }

    fn home(&self, slot: u64) -> usize {
        (slot >> 32) as usize & self.mask
    }

    /// Removes a row that is there, and closes the gap: later slots of the chain move up.
    pub fn remove(&mut self, hash: u32, row: u32) {
        let slot = u64::from(hash) << 32 | u64::from(row);
        let mut gap = self.home(slot);
        while self.slots[gap] != slot {
            if self.slots[gap] == 0 {
                return;
            }
            gap = (gap + 1) & self.mask;
        }
        self.used -= 1;
        let mut at = (gap + 1) & self.mask;
        while self.slots[at] != 0 {
            // The entry may move to the gap unless that is before its home.
            let home = self.home(self.slots[at]);
            if at.wrapping_sub(home) & self.mask >= at.wrapping_sub(gap) & self.mask {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
            at = (at + 1) & self.mask;
        }
        self.slots[gap] = 0;
    }
}

#[cfg(test)]
#[path = "tests/slots.rs"]
mod tests;
