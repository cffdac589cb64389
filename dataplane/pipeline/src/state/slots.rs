//! A hash table from keys, which the rows themselves hold, to row numbers.

use hashbrown::HashTable;

/// The rows of keys, each with the hash of its key.
#[derive(Debug, Default)]
pub(crate) struct Slots(HashTable<(u32, u32)>);

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
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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

    /// A row whose key has this hash, and that is wanted, or 0.
    #[inline(always)]
    pub fn find(&self, hash: u32, mut wanted: impl FnMut(u32) -> bool) -> u32 {
        let found = self.0.find(spread(hash), |&(_, row)| wanted(row));
        found.map_or(0, |&(_, row)| row)
    }

    /// Adds a row, whose number is not 0.
    pub fn insert(&mut self, hash: u32, row: u32) {
        self.0.insert_unique(spread(hash), (hash, row), |&(hash, _)| spread(hash));
    }

    /// Removes a row, if it is there.
    pub fn remove(&mut self, hash: u32, row: u32) {
        if let Ok(entry) = self.0.find_entry(spread(hash), |&slot| slot == (hash, row)) {
            entry.remove();
        }
    }
}

/// The hash for the table, which takes a slot by the lowest bits and a tag by the highest.
#[inline(always)]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
#[path = "tests/slots.rs"]
mod tests;
