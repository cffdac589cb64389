//! A table of 32-bit keys that is built once and looked up for every frame.

const EMPTY: u64 = u64::MAX;

/// Open addressing with linear probing, at most half full.
#[derive(Debug, Clone)]
pub struct AddressTable {
    /// Key in the high half, value in the low half.
    slots: Vec<u64>,
    shift: u32,
}

impl AddressTable {
    /// A table of `entries`; of equal keys the last counts. A value of `u32::MAX` is not possible.
    pub fn new(entries: &[(u32, u32)]) -> AddressTable {
        let bits = (2 * entries.len()).next_power_of_two().max(2).trailing_zeros();
        let mut table = AddressTable { slots: vec![EMPTY; 1 << bits], shift: 32 - bits };
        for &(key, value) in entries {
            let slot = table.slot(key);
            table.slots[slot] = u64::from(key) << 32 | u64::from(value);
        }
        table
    }

    #[inline]
    pub fn get(&self, key: u32) -> Option<u32> {
        let found = self.slots[self.slot(key)];
        (found != EMPTY).then_some(found as u32)
    }

    /// The slot of a key, or the free one for it.
    #[inline]
    fn slot(&self, key: u32) -> usize {
        let mut at = (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize;
        while self.slots[at] != EMPTY && (self.slots[at] >> 32) as u32 != key {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }
}

#[cfg(test)]
#[path = "tests/address_table.rs"]
mod tests;
