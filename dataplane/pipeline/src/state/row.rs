//! The words of a table's rows, which hold all that there is of an entry.
//!
//! A row is the action with the row's number, the counter where the table counts, the action's arguments, the
//! key, and the time of the last packet where the table keeps it. The key is its values; in a table with
//! priorities a mask for each, and the ends of ranges; then its rank: the length of the prefix, or the
//! priority and the order in which entries came. A number of more than 64 bits has two words, the higher
//! first.

use crate::program::entry::{EntryKey, Match};
use crate::program::field::{mask, prefix_mask};
use crate::program::info::{ActionInfo, MatchKind, TableInfo};

/// In the first word: 0 without an action, otherwise the position of the action in the table's list, plus 1;
/// and above [`ROW_SHIFT`] the number of the row.
pub(crate) const ROW_SHIFT: u32 = 32;
/// The bits below the priority in the last word of a key, its rank.
pub(crate) const PRIORITY: u32 = 32;
/// The place of packets and bytes, where they are counted.
pub(crate) const COUNTER: usize = 1;

/// A field of the key.
#[derive(Debug)]
struct KeyPart {
    kind: MatchKind,
    width: u8,
    /// The part's first word among those of a packet's key.
    first: usize,
    /// The place of the ends in an entry's key, of a range.
    ends: usize,
}

/// The places of the words in a table's rows.
#[derive(Debug)]
pub(crate) struct RowShape {
    /// Words a row.
    pub stride: usize,
    /// For each action of the table's list, its arguments: the width, and the word with the lowest 64 bits.
    pub arguments: Vec<Vec<(u8, usize)>>,
    /// The place of the key.
    pub key: usize,
    /// Words of an entry's key.
    pub key_len: usize,
    /// For each word of a packet's key: the field, and how far right that is to be shifted.
    pub words: Vec<(usize, u32)>,
    /// Whether entries have priorities, or prefixes.
    pub ordered: bool,
    pub prefixed: bool,
    fields: Vec<KeyPart>,
}

/// Words of a number.
fn count(width: u8) -> usize {
    width.div_ceil(64).into()
}

fn words_of(value: u128, width: u8) -> impl Iterator<Item = u64> {
    (0..count(width)).rev().map(move |word| (value >> (64 * word)) as u64)
}

/// The number whose first word is at a place.
fn number(words: &[u64], first: usize, width: u8) -> u128 {
    words[first..first + count(width)].iter().fold(0, |value, &word| value << 64 | u128::from(word))
}

impl RowShape {
    pub fn new(info: &TableInfo, actions: &[ActionInfo]) -> RowShape {
        let (mut fields, mut words) = (Vec::new(), Vec::new());
        for (number, field) in info.key.iter().enumerate() {
            // The loader takes no key of more than 128 bits.
            let (kind, width) = (field.kind, field.width as u8);
            fields.push(KeyPart { kind, width, first: words.len(), ends: 0 });
            words.extend((0..count(width)).rev().map(|word| (number, 64 * word as u32)));
        }
        let ordered = info.with_priority;
        let prefixed = !ordered && fields.iter().any(|field| field.kind == MatchKind::Lpm);
        let mut key_len = words.len() * if ordered { 2 } else { 1 };
        for field in fields.iter_mut().filter(|field| field.kind == MatchKind::Range) {
            field.ends = key_len;
            key_len += 2 * count(field.width);
        }
        key_len += usize::from(ordered || prefixed);
        let first = COUNTER + if info.direct_counter { 2 } else { 0 };
        let mut key = first;
        let mut arguments = Vec::with_capacity(info.actions.len());
        for action in &info.actions {
            let mut end = first;
            let params = actions[action.index()].params.iter().map(|param| param.width as u8);
            let place = |width| {
                end += count(width);
                (width, end - 1)
            };
            arguments.push(params.map(place).collect());
            key = key.max(end);
        }
        let stride = key + key_len + usize::from(info.timed);
        RowShape { stride, arguments, key, key_len, words, ordered, prefixed, fields }
    }

    /// The words of an entry's key, which fits the table.
    pub fn encode(&self, key: &EntryKey) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.key_len);
        let fields = || key.matches.iter().zip(&self.fields);
        words.extend(fields().flat_map(|(m, field)| words_of(test(m, field.width).0, field.width)));
        if self.ordered {
            words.extend(fields().flat_map(|(m, field)| words_of(test(m, field.width).1, field.width)));
        }
        for (m, field) in fields() {
            match m {
                Match::Range { low, high } => {
                    words.extend([low, high].into_iter().flat_map(|end| words_of(*end, field.width)));
                }
                Match::Lpm { prefix, .. } if self.prefixed => words.push(u64::from(*prefix)),
                _ => {}
            }
        }
        words.extend(self.ordered.then_some(u64::from(key.priority) << PRIORITY));
        words
    }

    /// The key of a row.
    pub fn decode(&self, row: &[u64]) -> EntryKey {
        let key = &row[self.key..][..self.key_len];
        let masks = &key[if self.ordered { self.words.len() } else { 0 }..];
        let rank = key.last().copied().unwrap_or(0);
        let decoded = self.fields.iter().map(|field| {
            let at = |words, first| number(words, first, field.width);
            let (value, mask) = (at(key, field.first), at(masks, field.first));
            match field.kind {
                MatchKind::Exact => Match::Exact(value),
                MatchKind::Lpm if self.ordered => Match::Lpm { value, prefix: mask.count_ones() as u8 },
                MatchKind::Lpm => Match::Lpm { value, prefix: rank as u8 },
                MatchKind::Ternary => Match::Ternary { value, mask },
                MatchKind::Optional => Match::Optional((mask != 0).then_some(value)),
                MatchKind::Range => {
                    Match::Range { low: at(key, field.ends), high: at(key, field.ends + count(field.width)) }
                }
            }
        });
        EntryKey {
            matches: decoded.collect(),
            priority: if self.ordered { (rank >> PRIORITY) as u32 } else { 0 },
        }
    }

    /// The masks of an entry's key, in a table with priorities.
    pub fn masks<'a>(&self, key: &'a [u64]) -> &'a [u64] {
        &key[self.words.len()..2 * self.words.len()]
    }

    /// Whether a packet's key is within the ranges of an entry's.
    #[inline]
    pub fn is_within(&self, entry: &[u64], key: &[u64]) -> bool {
        self.fields.iter().filter(|field| field.kind == MatchKind::Range).all(|field| {
            let ends = [0, count(field.width)].map(|end| number(entry, field.ends + end, field.width));
            (ends[0]..=ends[1]).contains(&number(key, field.first, field.width))
        })
    }

    /// The bits that count, of each word of a packet's key, where the prefix has this length.
    pub fn prefix_masks(&self, length: u64) -> Vec<u64> {
        let masks = self.fields.iter().flat_map(|field| match field.kind {
            MatchKind::Lpm => words_of(prefix_mask(field.width, length as u8), field.width),
            _ => words_of(mask(field.width), field.width),
        });
        masks.collect()
    }

    /// The words of a packet's key as the values of its fields.
    pub fn values<'a>(&'a self, key: &'a [u64]) -> impl Iterator<Item = u128> + 'a {
        self.fields.iter().map(|field| number(key, field.first, field.width))
    }

    /// Sets the arguments of a row whose action is at this position.
    pub fn set_arguments(&self, row: &mut [u64], position: usize, values: &[u128]) {
        for (&(width, low), &value) in self.arguments[position].iter().zip(values) {
            (low + 1 - count(width)..).zip(words_of(value, width)).for_each(|(at, word)| row[at] = word);
        }
    }

    /// The arguments of a row whose action is at this position.
    pub fn get_arguments<'a>(&'a self, row: &'a [u64], position: usize) -> impl Iterator<Item = u128> + 'a {
        self.arguments[position].iter().map(|&(width, low)| match width {
            ..=64 => row[low].into(),
            _ => u128::from(row[low - 1]) << 64 | u128::from(row[low]),
        })
    }
}

/// The bits that a match wants, and those that count.
fn test(m: &Match, width: u8) -> (u128, u128) {
    match *m {
        Match::Exact(value) | Match::Optional(Some(value)) => (value, mask(width)),
        Match::Lpm { value, prefix } => (value, prefix_mask(width, prefix)),
        Match::Ternary { value, mask } => (value, mask),
        Match::Range { .. } | Match::Optional(None) => (0, 0),
    }
}
