//! A table's entries, with their lookup structure and their state.

use std::collections::HashMap;

use groupflow_base::Nanos;

use crate::program::entry::{ActionCall, CounterValue, Entry, EntryKey};
use crate::program::table::{Next, Table};
use crate::state::matching::Index;
use crate::state::meter::Meter;

/// An action bound to a table: the operations to run, and the node to go on at.
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
    /// In a table with meters, once it was used.
    pub meter: Option<Box<Meter>>,
    /// When a packet last had this entry, in a table that keeps this.
    pub hit: Nanos,
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
    /// The default entry's counter and meter.
    pub miss_counter: CounterValue,
    pub miss_meter: Meter,
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
            miss_counter: CounterValue::default(),
            miss_meter: Meter::default(),
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
        let (counter, meter, hit) = (CounterValue::default(), None, Nanos::ZERO);
        let row = Row { entry: entry.clone(), bound, counter, meter, hit };
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
