//! Tables: the static side, and the entries with their lookup structure.

use std::collections::HashMap;

use crate::entry::{ActionCall, CounterValue, Entry, EntryKey};
use crate::info::{MatchKind, MeterUnit, TableInfo};
use crate::matching::Index;
use crate::meter::Meter;
use crate::phv::Field;

/// A node of the control flow, or the end of the pipeline.
pub(crate) type Next = Option<u32>;

/// A field of a table's key as the data plane reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyField {
    pub field: Field,
    /// The slot of the header's validity: fields of invalid headers count as 0.
    pub valid: u32,
    /// P4's static mask.
    pub mask: u128,
}

/// A table as the program declares it.
#[derive(Debug)]
pub(crate) struct Table {
    pub key: Vec<KeyField>,
    pub kinds: Vec<MatchKind>,
    pub widths: Vec<u8>,
    /// Next node by position in the table's list of actions.
    pub next: Vec<Next>,
    /// `__HIT__` and `__MISS__`, where the program asks for them.
    pub next_hit: Option<Next>,
    pub next_miss: Option<Next>,
    /// Next node of a miss without default action.
    pub next_default: Next,
    pub default: Option<ActionCall>,
    pub entries: Vec<Entry>,
    pub counted: bool,
    /// The unit of the direct meters, and where the colour goes.
    pub metered: Option<(MeterUnit, Field)>,
}

impl Table {
    /// Reads the key from a packet.
    pub fn gather(&self, phv: &[u128], key: &mut Vec<u128>) {
        key.clear();
        key.extend(self.key.iter().map(|part| match phv[part.valid as usize] {
            0 => 0,
            _ => part.field.bits(phv) & part.mask,
        }));
    }
}

/// An action bound to a table: what to run, and where to go on.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub action: u32,
    pub arguments: Vec<u128>,
    pub next: Next,
}

/// An entry with its state.
#[derive(Debug)]
pub(crate) struct Row {
    pub entry: Entry,
    pub bound: Bound,
    pub counter: CounterValue,
    pub meter: Meter,
}

/// A table's entries.
#[derive(Debug)]
pub(crate) struct TableState {
    rows: Vec<Option<Row>>,
    free: Vec<u32>,
    by_key: HashMap<EntryKey, u32>,
    index: Index,
    pub default: Option<ActionCall>,
    pub miss: Option<Bound>,
}

impl TableState {
    pub fn new(table: &Table) -> TableState {
        TableState {
            rows: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            index: Index::new(&table.kinds, &table.widths),
            default: None,
            miss: None,
        }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The entry that matches best.
    pub fn lookup(&self, key: &[u128]) -> Option<u32> {
        self.index.lookup(key)
    }

    pub fn row(&self, row: u32) -> Option<&Row> {
        self.rows.get(row as usize)?.as_ref()
    }

    pub fn row_mut(&mut self, row: u32) -> Option<&mut Row> {
        self.rows.get_mut(row as usize)?.as_mut()
    }

    pub fn find(&self, key: &EntryKey) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// The entries with their places.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        (0..).zip(&self.rows).filter_map(|(place, row)| Some((place, row.as_ref()?)))
    }

    /// Adds an entry that is valid for the table and not there yet; gives its place.
    pub fn insert(&mut self, entry: Entry, bound: Bound) -> u32 {
        let row =
            Row { entry: entry.clone(), bound, counter: CounterValue::default(), meter: Meter::default() };
        let place = match self.free.pop() {
            Some(place) => {
                self.rows[place as usize] = Some(row);
                place
            }
            None => {
                self.rows.push(Some(row));
                (self.rows.len() - 1) as u32
            }
        };
        self.index.insert(&entry.key, place);
        self.by_key.insert(entry.key, place);
        place
    }

    /// Removes an entry and gives the place it had.
    pub fn remove(&mut self, key: &EntryKey) -> Option<u32> {
        let place = self.by_key.remove(key)?;
        self.index.remove(key, place);
        self.rows[place as usize] = None;
        self.free.push(place);
        Some(place)
    }
}

/// Whether the table's entries have priorities.
pub(crate) fn with_priority(info: &TableInfo) -> bool {
    info.key.iter().any(|field| !matches!(field.kind, MatchKind::Exact | MatchKind::Lpm))
}
