//! Tables as native code looks them up.

use crate::native::hash::Slots;
use crate::program::entry::{CounterValue, EntryKey};
use crate::program::info::{MatchKind, TableInfo};
use crate::program::table::Table;
use crate::program::Program;
use crate::state::matching::Test;
use crate::state::table::{Bound, Row};

/// The words of a row. Row 0 is the action of a miss.
pub(crate) mod row {
    /// 0: no action; otherwise the position of the action in the table's list, plus 1.
    pub const ACTION: usize = 0;
    /// The number of the row: 0 for a miss.
    pub const NUMBER: usize = 1;
    pub const PACKETS: usize = 2;
    pub const BYTES: usize = 3;
    /// The lowest 64 bits of each argument.
    pub const ARGUMENTS: usize = 4;
}

/// Finds the row for the key at the pointer.
pub(crate) type Find = extern "C" fn(*mut NativeTable, *const u64) -> *mut u64;

/// A table's rows in one array, with their index.
#[derive(Debug)]
#[repr(C)] // Native code reads the first word.
pub(crate) struct NativeTable {
    /// While there is no entry: the row of a miss, which every packet takes. Otherwise null.
    vacant: *mut u64,
    rows: Vec<u64>,
    /// Words a row.
    stride: usize,
    /// The table's actions.
    actions: Vec<u32>,
    /// The widths of the key's fields.
    widths: Vec<u8>,
    /// For each word of the key: the field, and how far right it is to be shifted.
    words: Vec<(usize, u32)>,
    index: NativeIndex,
}

#[derive(Debug)]
enum NativeIndex {
    Exact(Slots),
    /// Longest prefix first: its length, the masks of all words, the rows.
    Lpm {
        position: usize,
        width: u8,
        prefixes: Vec<(u8, Vec<u64>, Slots)>,
        recent: Box<Recent>,
    },
    /// Highest priority first.
    Ordered(Vec<NativeRule>),
}

/// Keys of one word that were looked up lately, each with its row; kept until the next change. Packets of few
/// destinations come again and again, and this is cheaper than trying one prefix length after the other.
#[derive(Debug, Default)]
struct Recent([(u64, u32); RECENT]);

const RECENT: usize = 16;

impl Recent {
    /// The slot of a key, if the key is kept: by the highest bits of its product with the golden ratio, which
    /// depend on all of its bits.
    #[inline]
    fn entry(&mut self, key: u64) -> &mut (u64, u32) {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        &mut self.0[(key.wrapping_mul(GOLDEN) >> (u64::BITS - RECENT.ilog2())) as usize % RECENT]
    }

    fn forget(&mut self) {
        *self = Recent::default();
    }
}

#[derive(Debug)]
struct NativeRule {
    priority: u32,
    row: u32,
    /// The tests of the fields that the entry does not leave open.
    tests: Vec<FieldTest>,
}

/// The test of one field, and where the field is in the key's words.
#[derive(Debug)]
struct FieldTest {
    first: usize,
    /// Whether the field has a second word.
    wide: bool,
    test: Test,
}

impl FieldTest {
    fn matches(&self, key: &[u64]) -> bool {
        let high = if self.wide { u128::from(key[self.first + 1]) << 64 } else { 0 };
        self.test.matches(high | u128::from(key[self.first]))
    }
}

/// The words of a key whose fields have these widths: a field, and the shift that gives the word.
pub(crate) fn key_words(widths: &[u8]) -> Vec<(usize, u32)> {
    let mut words = Vec::new();
    for (field, &width) in widths.iter().enumerate() {
        words.push((field, 0));
        if width > 64 {
            words.push((field, 64));
        }
    }
    words
}

/// Words a row of a table: room for the arguments of any of its actions, and for the time of the last packet.
pub(crate) fn stride(program: &Program, table: &TableInfo) -> usize {
    let arguments = table.actions.iter().map(|action| program.actions[action.index()].params.len());
    row::ARGUMENTS + arguments.max().unwrap_or(0) + usize::from(table.timed)
}

impl NativeTable {
    pub fn new(program: &Program, table: &Table, info: &TableInfo) -> NativeTable {
        let words = key_words(&table.widths);
        let stride = stride(program, info);
        let actions = info.actions.iter().map(|action| action.0).collect();
        let ordered = |kind: &MatchKind| !matches!(kind, MatchKind::Exact | MatchKind::Lpm);
        let index = if table.kinds.iter().any(ordered) {
            NativeIndex::Ordered(Vec::new())
        } else if let Some(position) = table.kinds.iter().position(|kind| *kind == MatchKind::Lpm) {
            let (width, recent) = (table.widths[position], Box::default());
            NativeIndex::Lpm { position, width, prefixes: Vec::new(), recent }
        } else {
            NativeIndex::Exact(Slots::new(words.len()))
        };
        let widths = table.widths.clone();
        let rows = vec![0; stride];
        let mut table =
            NativeTable { vacant: std::ptr::null_mut(), rows, stride, actions, widths, words, index };
        table.note_vacancy();
        table
    }

    /// To be called after rows or entries changed.
    fn note_vacancy(&mut self) {
        let vacant = match &self.index {
            NativeIndex::Exact(slots) => slots.is_empty(),
            NativeIndex::Lpm { prefixes, .. } => prefixes.is_empty(),
            NativeIndex::Ordered(rules) => rules.is_empty(),
        };
        self.vacant = if vacant { self.rows.as_mut_ptr() } else { std::ptr::null_mut() };
    }

    /// The index of rows in this kind of table.
    pub fn find(table: &Table) -> Find {
        let exact = table.kinds.iter().all(|kind| *kind == MatchKind::Exact);
        match key_words(&table.widths).len() {
            1 if exact => find_exact::<1>,
            2 if exact => find_exact::<2>,
            3 if exact => find_exact::<3>,
            4 if exact => find_exact::<4>,
            1 if table.kinds == [MatchKind::Lpm] => find_prefix,
            _ => find_any,
        }
    }

    fn number(place: u32) -> u32 {
        place + 1
    }

    /// The words of an entry's key.
    fn words_of(&self, key: &EntryKey) -> Vec<u64> {
        let values = crate::state::matching::values(key);
        self.words.iter().map(|&(field, shift)| (values[field] >> shift) as u64).collect()
    }

    fn set(&mut self, number: u32, bound: Option<&Bound>) {
        let first = number as usize * self.stride;
        if self.rows.len() < first + self.stride {
            self.rows.resize(first + self.stride, 0);
        }
        let words = &mut self.rows[first..first + self.stride];
        let action = bound.and_then(|bound| self.actions.iter().position(|&action| action == bound.action));
        words[row::ACTION] = action.map_or(0, |position| position as u64 + 1);
        words[row::NUMBER] = u64::from(number);
        for (word, &value) in
            words[row::ARGUMENTS..].iter_mut().zip(bound.iter().flat_map(|bound| &bound.arguments))
        {
            *word = value as u64;
        }
    }

    /// Sets the action of a miss.
    pub fn set_miss(&mut self, bound: Option<&Bound>) {
        self.set(0, bound);
        self.note_vacancy();
    }

    /// Sets the action of an entry.
    pub fn modify(&mut self, place: u32, bound: &Bound) {
        self.set(NativeTable::number(place), Some(bound));
    }

    /// Adds an entry at a free place.
    pub fn insert(&mut self, place: u32, added: &Row) {
        let number = NativeTable::number(place);
        self.set(number, Some(&added.bound));
        self.set_counter(Some(place), CounterValue::default());
        let (words, key) = (self.words_of(&added.entry.key), &added.entry.key);
        match &mut self.index {
            NativeIndex::Exact(slots) => slots.insert(&words, number),
            NativeIndex::Lpm { position, width, prefixes, recent } => {
                recent.forget();
                let length = crate::state::matching::prefix_length(key, *position);
                let at = prefixes.partition_point(|prefix| prefix.0 > length);
                if prefixes.get(at).map(|prefix| prefix.0) != Some(length) {
                    let mask = crate::program::phv::prefix_mask(*width, length);
                    let masks = self.words.iter().map(|&(field, shift)| match field == *position {
                        true => (mask >> shift) as u64,
                        false => u64::MAX,
                    });
                    prefixes.insert(at, (length, masks.collect(), Slots::new(self.words.len())));
                }
                prefixes[at].2.insert(&words, number);
            }
            NativeIndex::Ordered(rules) => {
                let at = rules.partition_point(|rule| rule.priority >= key.priority);
                let firsts = self.words.iter().enumerate().filter(|(_, (_, shift))| *shift == 0);
                let fields = key.matches.iter().zip(&self.widths).zip(firsts);
                let tests = fields.map(|((m, &width), (first, _))| FieldTest {
                    first,
                    wide: width > 64,
                    test: Test::new(m, width),
                });
                let tests = tests.filter(|field| !field.test.is_open()).collect();
                rules.insert(at, NativeRule { priority: key.priority, row: number, tests });
            }
        }
        self.note_vacancy();
    }

    /// Removes an entry.
    pub fn remove(&mut self, place: u32, key: &EntryKey) {
        let words = self.words_of(key);
        match &mut self.index {
            NativeIndex::Exact(slots) => slots.remove(&words),
            NativeIndex::Lpm { position, prefixes, recent, .. } => {
                recent.forget();
                let length = crate::state::matching::prefix_length(key, *position);
                if let Some(at) = prefixes.iter().position(|prefix| prefix.0 == length) {
                    prefixes[at].2.remove(&words);
                    if prefixes[at].2.is_empty() {
                        prefixes.remove(at);
                    }
                }
            }
            NativeIndex::Ordered(rules) => rules.retain(|rule| rule.row != NativeTable::number(place)),
        }
        self.note_vacancy();
    }

    /// The counter of an entry, or of the default entry.
    pub fn counter(&self, place: Option<u32>) -> CounterValue {
        let words = &self.rows[place.map_or(0, NativeTable::number) as usize * self.stride..];
        CounterValue { packets: words[row::PACKETS], bytes: words[row::BYTES] }
    }

    pub fn set_counter(&mut self, place: Option<u32>, value: CounterValue) {
        let words = &mut self.rows[place.map_or(0, NativeTable::number) as usize * self.stride..];
        words[row::PACKETS] = value.packets;
        words[row::BYTES] = value.bytes;
    }

    /// When a packet last had an entry of a table that keeps this time.
    pub fn hit(&self, place: u32) -> u64 {
        self.rows[(NativeTable::number(place) as usize + 1) * self.stride - 1]
    }

    /// The row of a miss.
    pub fn miss(&mut self) -> *mut u64 {
        self.row(0)
    }

    fn row(&mut self, number: u32) -> *mut u64 {
        self.rows[number as usize * self.stride..].as_mut_ptr()
    }

    /// The number of the row for a key; 0 for a miss.
    fn search(&self, key: &[u64]) -> u32 {
        match &self.index {
            NativeIndex::Exact(slots) => slots.get(key),
            NativeIndex::Lpm { prefixes, .. } => {
                let mut masked = [0; 2 * crate::program::table::MAX_KEY_FIELDS];
                let masked = &mut masked[..key.len()];
                let rows = prefixes.iter().map(|(_, masks, slots)| {
                    for ((to, word), mask) in masked.iter_mut().zip(key).zip(masks) {
                        *to = word & mask;
                    }
                    slots.get(masked)
                });
                rows.into_iter().find(|&row| row != 0).unwrap_or(0)
            }
            NativeIndex::Ordered(rules) => {
                let hit = |rule: &&NativeRule| rule.tests.iter().all(|field| field.matches(key));
                rules.iter().find(hit).map_or(0, |rule| rule.row)
            }
        }
    }
}

extern "C" fn find_exact<const WORDS: usize>(table: *mut NativeTable, key: *const u64) -> *mut u64 {
    // SAFETY: native code passes a table of the pipeline that runs, which nothing else borrows meanwhile,
    // and a key of as many words as the table has.
    let (table, key) = unsafe { (&mut *table, &*key.cast::<[u64; WORDS]>()) };
    let number = match &table.index {
        NativeIndex::Exact(slots) => slots.get(key),
        _ => 0,
    };
    table.row(number)
}

/// One field of at most 64 bits, its longest matching prefix.
extern "C" fn find_prefix(table: *mut NativeTable, key: *const u64) -> *mut u64 {
    // SAFETY: as in `find_exact`.
    let (table, key) = unsafe { (&mut *table, *key) };
    let number = match &mut table.index {
        NativeIndex::Lpm { prefixes, recent, .. } => {
            let entry = recent.entry(key);
            // Row 0, a miss, stands in entries that were never used: it is not taken from here.
            if entry.0 != key || entry.1 == 0 {
                let row = |(_, masks, slots): &(u8, Vec<u64>, Slots)| {
                    Some(slots.get(&[key & masks[0]])).filter(|&row| row != 0)
                };
                *entry = (key, prefixes.iter().find_map(row).unwrap_or(0));
            }
            entry.1
        }
        _ => 0,
    };
    table.row(number)
}

extern "C" fn find_any(table: *mut NativeTable, key: *const u64) -> *mut u64 {
    // SAFETY: as in `find_exact`.
    let (table, key) = unsafe {
        let table = &mut *table;
        let words = table.words.len();
        (table, std::slice::from_raw_parts(key, words))
    };
    let number = table.search(key);
    table.row(number)
}
