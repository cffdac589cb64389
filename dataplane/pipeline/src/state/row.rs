//! The words of a table's rows, which hold all that there is of an entry.
//!
//! A row is the action with the row's number, the counter where the table counts, the action's arguments, the
//! key, and the time of the last packet where the table keeps it. The key is its values; in a table with
//! priorities a mask for each, and the ends of ranges; then its rank: the length of the prefix, or the
//! priority and the order in which entries came. A number of more than 64 bits has two words, the higher
//! first.

use crate::program::entry::{EntryKey, Match};
use crate::program::field::{mask, part_prefixes, part_widths, prefix_mask};
use crate::program::info::{ActionInfo, KeyInfo, MatchKind, TableInfo};

/// In the first word: 0 without an action, otherwise the position of the action in the table's list, plus 1;
/// and above [`ROW_SHIFT`] the number of the row.
pub(crate) const ROW_SHIFT: u32 = 32;
/// The bits below the priority in the last word of a key, its rank.
pub(crate) const PRIORITY: u32 = 32;
/// The place of packets and bytes, where they are counted.
pub(crate) const COUNTER: usize = 1;

#[derive(Debug, Clone)]
struct KeyPart {
    kind: MatchKind,
    width: u32,
    /// The part's first word among those of a packet's key.
    first: usize,
    /// The place of the ends in an entry's key, of a range.
    ends: usize,
}

/// The places of the words in a table's rows.
#[derive(Debug, Clone)]
pub(crate) struct RowShape {
    /// Words a row.
    pub stride: usize,
    /// For each action of the table's list, the parts of its arguments: the width, and the word with the
    /// lowest 64 bits.
    pub arguments: Vec<Vec<(u8, usize)>>,
    /// The place of the key.
    pub key: usize,
    /// Words of an entry's key.
    pub key_len: usize,
    /// For each word of a packet's key: the part of a field, and how far right that is to be shifted.
    pub words: Vec<(usize, u32)>,
    /// Whether entries have priorities, or prefixes.
    pub ordered: bool,
    pub prefixed: bool,
    fields: Vec<KeyPart>,
}

/// Words of a number.
fn count(width: impl Into<u32>) -> usize {
    width.into().div_ceil(64) as usize
}

fn words_of(value: u128, width: u8) -> impl Iterator<Item = u64> {
    (0..count(width)).rev().map(move |word| (value >> (64 * word)) as u64)
}

/// The parts of a number whose first word is at a place.
fn parts(words: &[u64], first: usize, width: u32) -> impl Iterator<Item = u128> + '_ {
    let mut rest = &words[first..first + count(width)];
    part_widths(width).map(move |width| {
        let (own, others) = rest.split_at(count(width));
        rest = others;
        own.iter().fold(0, |value, &word| value << 64 | u128::from(word))
    })
}

impl RowShape {
    pub fn new(info: &TableInfo, actions: &[ActionInfo]) -> RowShape {
        let (mut fields, mut words) = (Vec::new(), Vec::new());
        let mut number = 0;
        for KeyInfo { kind, width, .. } in &info.key {
            fields.push(KeyPart { kind: *kind, width: *width, first: words.len(), ends: 0 });
            for width in part_widths(*width) {
                words.extend((0..count(width)).rev().map(|word| (number, 64 * word as u32)));
                number += 1;
            }
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
            let params = actions[action.index()].params.iter().flat_map(|param| part_widths(param.width));
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
        let fields = || key.matches.iter().zip(&self.fields).map(|(m, field)| (m.parts(), field.width));
        let parts = || fields().flat_map(|(parts, width)| parts.iter().zip(part_widths(width)));
        words.extend(parts().flat_map(|(m, width)| words_of(test(m, width).0, width)));
        if self.ordered {
            words.extend(parts().flat_map(|(m, width)| words_of(test(m, width).1, width)));
        }
        for (parts, width) in fields().filter(|(parts, _)| matches!(parts, [Match::Range { .. }, ..])) {
            for end in [0, 1] {
                words.extend(parts.iter().zip(part_widths(width)).flat_map(|(m, width)| match m {
                    Match::Range { low, high } => words_of([*low, *high][end], width),
                    _ => words_of(0, width),
                }));
            }
        }
        let prefixes = parts().filter_map(|(m, _)| match m {
            Match::Lpm { prefix, .. } => Some(u64::from(*prefix)),
            _ => None,
        });
        words.extend(self.prefixed.then(|| prefixes.sum::<u64>()));
        words.extend(self.ordered.then_some(u64::from(key.priority) << PRIORITY));
        words
    }

    pub fn decode(&self, row: &[u64]) -> EntryKey {
        let key = &row[self.key..][..self.key_len];
        let masks = &key[if self.ordered { self.words.len() } else { 0 }..];
        let rank = key.last().copied().unwrap_or(0);
        let decoded = self.fields.iter().map(|field| {
            let at = |words, first| parts(words, first, field.width);
            let ends = if field.kind == MatchKind::Range { field.ends } else { field.first };
            let highs = if field.kind == MatchKind::Range { ends + count(field.width) } else { ends };
            let decoded = at(key, ends).zip(at(masks, field.first)).zip(at(key, highs));
            let decoded = decoded.zip(part_prefixes(field.width, rank as u32));
            let decoded = decoded.map(|(((value, mask), high), (_, prefix))| match field.kind {
                MatchKind::Exact => Match::Exact(value),
                MatchKind::Lpm if self.ordered => Match::Lpm { value, prefix: mask.count_ones() as u8 },
                MatchKind::Lpm => Match::Lpm { value, prefix },
                MatchKind::Ternary => Match::Ternary { value, mask },
                MatchKind::Optional => Match::Optional((mask != 0).then_some(value)),
                MatchKind::Range => Match::Range { low: value, high },
            });
            Match::of_parts(decoded.collect())
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
    pub fn is_within<'a>(&self, entry: &'a [u64], key: &'a [u64]) -> bool {
        self.fields.iter().filter(|field| field.kind == MatchKind::Range).all(|field| {
            // Words are compared like digits.
            let words = count(field.width);
            let number = |words_of: &'a [u64], first: usize| &words_of[first..first + words];
            let value = number(key, field.first);
            number(entry, field.ends) <= value && value <= number(entry, field.ends + words)
        })
    }

    /// The bits that count, of each word of a packet's key, where the prefix has this length.
    pub fn prefix_masks(&self, length: u64) -> Vec<u64> {
        let parts = self.fields.iter().flat_map(|&KeyPart { kind, width, .. }| {
            part_prefixes(width, if kind == MatchKind::Lpm { length as u32 } else { width })
        });
        parts.flat_map(|(width, prefix)| words_of(prefix_mask(width, prefix), width)).collect()
    }

    /// The words of a packet's key as the values of its fields, in parts.
    pub fn values<'a>(&'a self, key: &'a [u64]) -> impl Iterator<Item = Vec<u128>> + 'a {
        self.fields.iter().map(|field| parts(key, field.first, field.width).collect())
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
        Match::Range { .. } | Match::Optional(None) | Match::Wide(_) => (0, 0),
    }
}
