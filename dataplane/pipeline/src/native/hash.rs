//! A hash table from keys of a fixed number of words to row numbers.

/// Open addressing with linear probing; each slot holds a row number (0: empty) and the key.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Words of a key.
    width: usize,
    slots: Vec<u64>,
    /// Slots, a power of two, less one.
    mask: usize,
    used: usize,
}

/// Only the control plane adds keys, so packets cannot provoke long chains.
#[inline(always)]
fn hash(key: &[u64]) -> usize {
    let mut hash = 0;
    for &word in key {
        // Multiply and fold: the high half of the product carries every input bit.
        let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xf135_7aea_2e62_a9c5;
        hash = (product >> 64) as u64 ^ product as u64;
    }
    hash as usize
}

impl Slots {
    pub fn new(width: usize) -> Slots {
        Slots { width, slots: vec![0; 8 * (width + 1)], mask: 7, used: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn slot(&self, at: usize) -> &[u64] {
        &self.slots[at * (self.width + 1)..(at + 1) * (self.width + 1)]
    }

    /// The row of a key, or 0.
    #[inline(always)]
    pub fn get(&self, key: &[u64]) -> u32 {
        let stride = key.len() + 1;
        let mut at = hash(key) & self.mask;
        loop {
            let slot = &self.slots[at * stride..(at + 1) * stride];
            if slot[0] == 0 || slot[1..] == *key {
                return slot[0] as u32;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Adds a key that is not there; `row` is not 0.
    pub fn insert(&mut self, key: &[u64], row: u32) {
        // At most half full, so that chains stay short and always end.
        if 2 * (self.used + 1) > self.mask + 1 {
            self.grow();
        }
        self.used += 1;
        let mut at = hash(key) & self.mask;
        while self.slot(at)[0] != 0 {
            at = (at + 1) & self.mask;
        }
        self.put(at, u64::from(row), key);
    }

    fn put(&mut self, at: usize, row: u64, key: &[u64]) {
        let first = at * (self.width + 1);
        self.slots[first] = row;
        self.slots[first + 1..=first + self.width].copy_from_slice(key);
    }

    fn grow(&mut self) {
        let stride = self.width + 1;
        let capacity = 2 * (self.mask + 1);
        let old = std::mem::replace(&mut self.slots, vec![0; capacity * stride]);
        (self.mask, self.used) = (capacity - 1, 0);
        for slot in old.chunks_exact(stride).filter(|slot| slot[0] != 0) {
            self.insert(&slot[1..], slot[0] as u32);
        }
    }

    /// Removes a key that is there, and closes the gap: later slots of the chain move up.
    pub fn remove(&mut self, key: &[u64]) {
        let mut gap = hash(key) & self.mask;
        while self.slot(gap)[0] == 0 || self.slot(gap)[1..] != *key {
            if self.slot(gap)[0] == 0 {
                return;
            }
            gap = (gap + 1) & self.mask;
        }
        self.used -= 1;
        let mut at = (gap + 1) & self.mask;
        while self.slot(at)[0] != 0 {
            let home = hash(&self.slot(at)[1..]) & self.mask;
            // It may move to the gap unless that is before its home.
            if at.wrapping_sub(home) & self.mask >= at.wrapping_sub(gap) & self.mask {
                let moved = self.slot(at).to_vec();
                self.put(gap, moved[0], &moved[1..]);
                gap = at;
            }
            at = (at + 1) & self.mask;
        }
        self.put(gap, 0, &vec![0; self.width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use std::collections::HashMap;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn it_behaves_as_a_map(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..3), 0..300)) {
            let (mut slots, mut map) = (Slots::new(2), HashMap::new());
            for (number, (add, a, b)) in (1u32..).zip(steps) {
                let key = [a << 40, b];
                if add && !map.contains_key(&key) {
                    slots.insert(&key, number);
                    map.insert(key, number);
                } else if !add {
                    slots.remove(&key);
                    map.remove(&key);
                }
                for a in 0..40 {
                    for b in 0..3 {
                        let key = [a << 40, b];
                        prop_assert_eq!(slots.get(&key), map.get(&key).copied().unwrap_or(0));
                    }
                }
                prop_assert_eq!(slots.is_empty(), map.is_empty());
            }
        }
    }
}
