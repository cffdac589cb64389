//! Finding the entry that matches a key.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::program::entry::{EntryKey, Match};
use crate::program::info::MatchKind;
use crate::program::phv::{mask, prefix_mask};
use crate::program::table::MAX_KEY_FIELDS;

/// A quick hash for keys. Only the control plane adds entries, so packets cannot provoke long chains.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // Multiply and fold: the high half of the product carries every input bit.
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xf135_7aea_2e62_a9c5;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

type Map<K> = HashMap<K, u32, BuildHasherDefault<KeyHasher>>;

/// Rows by exact key.
#[derive(Debug)]
enum KeyMap {
    /// All fields together have at most 128 bits: packed into one number.
    Narrow(Map<u128>),
    Wide(Map<Box<[u128]>>),
}

/// The widths of the fields, and how their values become a key.
#[derive(Debug, Clone)]
struct Packing {
    widths: Vec<u8>,
    narrow: bool,
}

impl Packing {
    fn pack(&self, values: impl Iterator<Item = u128>) -> u128 {
        // A field of 128 bits is alone: nothing is to be moved out of its way.
        values
            .zip(&self.widths)
            .fold(0, |key, (value, &width)| key.checked_shl(u32::from(width)).unwrap_or(0) | value)
    }
}

impl KeyMap {
    fn new(packing: &Packing) -> KeyMap {
        match packing.narrow {
            true => KeyMap::Narrow(Map::default()),
            false => KeyMap::Wide(Map::default()),
        }
    }

    fn get(&self, packing: &Packing, key: &[u128]) -> Option<u32> {
        match self {
            KeyMap::Narrow(map) => map.get(&packing.pack(key.iter().copied())).copied(),
            KeyMap::Wide(map) => map.get(key).copied(),
        }
    }

    fn insert(&mut self, packing: &Packing, key: &[u128], row: u32) {
        match self {
            KeyMap::Narrow(map) => map.insert(packing.pack(key.iter().copied()), row),
            KeyMap::Wide(map) => map.insert(key.into(), row),
        };
    }

    fn remove(&mut self, packing: &Packing, key: &[u128]) {
        match self {
            KeyMap::Narrow(map) => map.remove(&packing.pack(key.iter().copied())),
            KeyMap::Wide(map) => map.remove(key),
        };
    }

    fn is_empty(&self) -> bool {
        match self {
            KeyMap::Narrow(map) => map.is_empty(),
            KeyMap::Wide(map) => map.is_empty(),
        }
    }
}

/// One field of a ternary or range entry: matches where `low <= value & mask <= high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Test {
    mask: u128,
    low: u128,
    high: u128,
}

/// An entry of a table with priorities.
#[derive(Debug)]
struct Rule {
    priority: u32,
    row: u32,
    tests: Vec<Test>,
}

/// The prefixes of one length.
#[derive(Debug)]
struct Prefixes {
    length: u8,
    rows: KeyMap,
}

/// A table's lookup structure.
#[derive(Debug)]
pub(crate) struct Index {
    packing: Packing,
    by_kind: ByKind,
}

#[derive(Debug)]
enum ByKind {
    Exact(KeyMap),
    /// Longest prefix first; the number is the position of the field with the prefix.
    Lpm(usize, Vec<Prefixes>),
    /// Highest priority first; of equal priority, the one that came first.
    Ordered(Vec<Rule>),
}

impl Index {
    pub fn new(kinds: &[MatchKind], widths: &[u8]) -> Index {
        let bits: u32 = widths.iter().map(|&width| u32::from(width)).sum();
        let packing = Packing { widths: widths.to_vec(), narrow: bits <= 128 };
        let ordered = |kind: &MatchKind| !matches!(kind, MatchKind::Exact | MatchKind::Lpm);
        let by_kind = if kinds.iter().any(ordered) {
            ByKind::Ordered(Vec::new())
        } else if let Some(position) = kinds.iter().position(|kind| *kind == MatchKind::Lpm) {
            ByKind::Lpm(position, Vec::new())
        } else {
            ByKind::Exact(KeyMap::new(&packing))
        };
        Index { packing, by_kind }
    }

    pub fn lookup(&self, key: &[u128]) -> Option<u32> {
        match &self.by_kind {
            ByKind::Exact(rows) => rows.get(&self.packing, key),
            ByKind::Lpm(position, prefixes) => {
                let mut values = [0; MAX_KEY_FIELDS];
                let values = &mut values[..key.len()];
                values.copy_from_slice(key);
                let width = self.packing.widths[*position];
                prefixes.iter().find_map(|prefix| {
                    values[*position] &= prefix_mask(width, prefix.length);
                    prefix.rows.get(&self.packing, values)
                })
            }
            ByKind::Ordered(rules) => {
                let hit = |rule: &&Rule| rule.tests.iter().zip(key).all(|(test, &value)| test.matches(value));
                rules.iter().find(hit).map(|rule| rule.row)
            }
        }
    }

    /// Adds a row; its key must be valid for the table and new.
    pub fn insert(&mut self, key: &EntryKey, row: u32) {
        match &mut self.by_kind {
            ByKind::Exact(rows) => rows.insert(&self.packing, &values(key), row),
            ByKind::Lpm(position, prefixes) => {
                let length = prefix_length(key, *position);
                let at = prefixes.partition_point(|prefix| prefix.length > length);
                if prefixes.get(at).map(|prefix| prefix.length) != Some(length) {
                    prefixes.insert(at, Prefixes { length, rows: KeyMap::new(&self.packing) });
                }
                prefixes[at].rows.insert(&self.packing, &values(key), row);
            }
            ByKind::Ordered(rules) => {
                let tests =
                    key.matches.iter().zip(&self.packing.widths).map(|(m, &width)| Test::new(m, width));
                let at = rules.partition_point(|rule| rule.priority >= key.priority);
                rules.insert(at, Rule { priority: key.priority, row, tests: tests.collect() });
            }
        }
    }

    /// Removes a row with its key.
    pub fn remove(&mut self, key: &EntryKey, row: u32) {
        match &mut self.by_kind {
            ByKind::Exact(rows) => rows.remove(&self.packing, &values(key)),
            ByKind::Lpm(position, prefixes) => {
                let length = prefix_length(key, *position);
                if let Some(at) = prefixes.iter().position(|prefix| prefix.length == length) {
                    prefixes[at].rows.remove(&self.packing, &values(key));
                    if prefixes[at].rows.is_empty() {
                        prefixes.remove(at);
                    }
                }
            }
            ByKind::Ordered(rules) => rules.retain(|rule| rule.row != row),
        }
    }
}

pub(crate) fn prefix_length(key: &EntryKey, position: usize) -> u8 {
    match key.matches.get(position) {
        Some(Match::Lpm { prefix, .. }) => *prefix,
        _ => 0,
    }
}

/// The values of an entry's key; any of them for a field that matches several.
pub(crate) fn values(key: &EntryKey) -> Vec<u128> {
    let value = |m: &Match| match m {
        Match::Exact(value) | Match::Lpm { value, .. } | Match::Ternary { value, .. } => *value,
        Match::Range { low, .. } => *low,
        Match::Optional(value) => value.unwrap_or(0),
    };
    key.matches.iter().map(value).collect()
}

impl Test {
    pub fn new(m: &Match, width: u8) -> Test {
        let masked = |mask, value| Test { mask, low: value, high: value };
        match *m {
            Match::Exact(value) | Match::Optional(Some(value)) => masked(mask(width), value),
            Match::Lpm { value, prefix } => masked(prefix_mask(width, prefix), value),
            Match::Ternary { value, mask } => masked(mask, value),
            Match::Range { low, high } => Test { mask: mask(width), low, high },
            Match::Optional(None) => masked(0, 0),
        }
    }

    /// Whether every value matches.
    pub fn is_open(&self) -> bool {
        self.low == 0 && self.high >= self.mask
    }

    pub fn matches(&self, value: u128) -> bool {
        let value = value & self.mask;
        self.low <= value && value <= self.high
    }
}
