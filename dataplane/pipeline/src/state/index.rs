//! Finding the row that matches a key.

use crate::state::row::{RowShape, PRIORITY};
use crate::state::slots::{hash, Keys, Slots};

/// The prefixes of one length.
#[derive(Debug, Clone)]
pub(crate) struct Prefixes {
    length: u64,
    /// The bits that count, of each word of the key.
    masks: Vec<u64>,
    rows: Slots,
}

/// A table's lookup structure.
#[derive(Debug, Clone)]
pub(crate) enum Index {
    Exact(Slots),
    /// Longest prefix first.
    Lpm(Vec<Prefixes>, Box<Recent>),
    /// The masks with the entry of the highest rank first; and the number that the next entry gets.
    Ordered(Vec<Masked>, u32),
}

/// Entries of a table with priorities, and the same masks.
#[derive(Debug, Clone)]
pub(crate) struct Masked {
    masks: Vec<u64>,
    /// The words of the key that count, and which of their bits.
    used: Vec<(usize, u64)>,
    /// No entry has a higher rank. A rank is the priority, and below it a number that falls from entry to
    /// entry: of equal priority, the one that came first matches.
    most: u64,
    rows: Slots,
}

impl Masked {
    fn new(masks: &[u64]) -> Masked {
        let used = masks.iter().copied().enumerate().filter(|(_, mask)| *mask != 0).collect();
        Masked { masks: masks.to_vec(), used, most: 0, rows: Slots::new() }
    }

    #[inline(always)]
    fn hash(&self, key: &[u64]) -> u32 {
        hash(self.used.iter().map(|&(word, mask)| key[word] & mask))
    }

    #[inline(always)]
    fn has(&self, values: &[u64], key: &[u64]) -> bool {
        self.used.iter().all(|&(word, mask)| values[word] == key[word] & mask)
    }
}

/// Keys of one word that were looked up lately, each with its row; kept until the next change. Packets of few
/// destinations come again and again, and this is cheaper than trying one prefix length after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recent([(u64, u32); RECENT]);

const RECENT: usize = 16;

impl Recent {
    /// The slot of a key, if the key is kept: by the highest bits of its product with the golden ratio, which
    /// depend on all of its bits.
    #[inline]
    fn entry(&mut self, key: u64) -> &mut (u64, u32) {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        &mut self.0[(key.wrapping_mul(GOLDEN) >> (u64::BITS - RECENT.ilog2())) as usize % RECENT]
    }
}

impl Index {
    pub fn new(shape: &RowShape) -> Index {
        match (shape.ordered, shape.prefixed) {
            (true, _) => Index::Ordered(Vec::new(), u32::MAX),
            (_, true) => Index::Lpm(Vec::new(), Box::default()),
            _ => Index::Exact(Slots::new()),
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Index::Exact(slots) => slots.is_empty(),
            Index::Lpm(prefixes, _) => prefixes.is_empty(),
            Index::Ordered(groups, _) => groups.is_empty(),
        }
    }

    /// The row that matches a packet's key best, or 0.
    #[inline]
    pub fn search(&self, key: &[u64], shape: &RowShape, keys: Keys<'_>) -> u32 {
        match self {
            Index::Exact(slots) => slots.get(key, keys),
            Index::Lpm(prefixes, _) => {
                let mut masked = [0; 2 * crate::program::table::MAX_KEY_FIELDS];
                let masked = &mut masked[..key.len()];
                let rows = prefixes.iter().map(|prefix| {
                    for ((to, word), mask) in masked.iter_mut().zip(key).zip(&prefix.masks) {
                        *to = word & mask;
                    }
                    prefix.rows.get(masked, keys)
                });
                rows.into_iter().find(|&row| row != 0).unwrap_or(0)
            }
            Index::Ordered(groups, _) => {
                let (mut best, mut found, last) = (0, 0, shape.key_len - 1);
                for group in groups {
                    if group.most <= best {
                        break;
                    }
                    group.rows.find(group.hash(key), |row| {
                        let entry = keys.of(row);
                        if entry[last] > best && group.has(entry, key) && shape.is_within(entry, key) {
                            (best, found) = (entry[last], row);
                        }
                        best == group.most
                    });
                }
                found
            }
        }
    }

    /// The same for a key of a known number of words, all exact.
    #[inline(always)]
    pub fn search_exact<const WORDS: usize>(&self, key: &[u64; WORDS], keys: Keys<'_>) -> u32 {
        match self {
            Index::Exact(slots) => slots.get(key, keys),
            _ => 0,
        }
    }

    /// The same for a key of one word with a prefix.
    #[inline(always)]
    pub fn search_prefix(&mut self, key: u64, keys: Keys<'_>) -> u32 {
        let Index::Lpm(prefixes, recent) = self else { return 0 };
        let entry = recent.entry(key);
        // Row 0, a miss, stands in entries that were never used: it is not taken from here.
        if entry.0 != key || entry.1 == 0 {
            let row = |prefix: &Prefixes| {
                Some(prefix.rows.get(&[key & prefix.masks[0]], keys)).filter(|&row| row != 0)
            };
            *entry = (key, prefixes.iter().find_map(row).unwrap_or(0));
        }
        entry.1
    }

    /// The row that has an entry's key, or 0.
    pub fn find(&self, key: &[u64], shape: &RowShape, keys: Keys<'_>) -> u32 {
        match (self, key.split_last()) {
            (Index::Exact(slots), _) => slots.get(key, keys),
            (Index::Ordered(groups, _), Some((rank, tests))) => {
                let group = groups.iter().find(|group| group.masks == shape.masks(key));
                let same = |row| {
                    let entry = keys.of(row);
                    entry[..tests.len()] == *tests && entry[tests.len()] >> PRIORITY == rank >> PRIORITY
                };
                group.map_or(0, |group| group.rows.find(group.hash(key), same))
            }
            (Index::Lpm(prefixes, _), Some((length, values))) => {
                let prefix = prefixes.iter().find(|prefix| prefix.length == *length);
                prefix.map_or(0, |prefix| prefix.rows.get(values, keys))
            }
            (_, None) => 0,
        }
    }

    /// Adds a row with an entry's key, which is new, and completes its rank.
    pub fn insert(&mut self, key: &mut [u64], row: u32, shape: &RowShape) {
        match (self, key.split_last()) {
            (Index::Exact(slots), _) => slots.insert(hash(key.iter().copied()), row),
            (Index::Lpm(prefixes, recent), Some((&length, values))) => {
                **recent = Recent::default();
                let at = prefixes.partition_point(|prefix| prefix.length > length);
                if prefixes.get(at).map(|prefix| prefix.length) != Some(length) {
                    let (masks, rows) = (shape.prefix_masks(length), Slots::new());
                    prefixes.insert(at, Prefixes { length, masks, rows });
                }
                prefixes[at].rows.insert(hash(values.iter().copied()), row);
            }
            (Index::Ordered(groups, next), Some((&priority, _))) => {
                let masks = shape.masks(key);
                let at = groups.iter().position(|group| group.masks == masks).unwrap_or_else(|| {
                    groups.push(Masked::new(masks));
                    groups.len() - 1
                });
                let rank = priority | u64::from(*next);
                *next = next.wrapping_sub(1);
                let hash = groups[at].hash(key);
                groups[at].rows.insert(hash, row);
                groups[at].most = groups[at].most.max(rank);
                groups.sort_by_key(|group| std::cmp::Reverse(group.most));
                key[key.len() - 1] = rank;
            }
            (_, None) => {}
        }
    }

    /// Removes a row with its key.
    pub fn remove(&mut self, key: &[u64], row: u32, shape: &RowShape) {
        match (self, key.split_last()) {
            (Index::Exact(slots), _) => slots.remove(hash(key.iter().copied()), row),
            (Index::Lpm(prefixes, recent), Some((length, values))) => {
                **recent = Recent::default();
                if let Some(at) = prefixes.iter().position(|prefix| prefix.length == *length) {
                    prefixes[at].rows.remove(hash(values.iter().copied()), row);
                    if prefixes[at].rows.is_empty() {
                        prefixes.remove(at);
                    }
                }
            }
            (Index::Ordered(groups, _), _) => {
                let masks = shape.masks(key);
                if let Some(at) = groups.iter().position(|group| group.masks == masks) {
                    let hash = groups[at].hash(key);
                    groups[at].rows.remove(hash, row);
                    if groups[at].rows.is_empty() {
                        groups.remove(at);
                    }
                }
            }
            (_, None) => {}
        }
    }
}
