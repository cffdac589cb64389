//! A table's entries, with their lookup structure and their state, as both engines use them.

use crate::program::entry::{CounterValue, EntryKey};
use crate::program::info::{ActionInfo, TableInfo};
use crate::state::index::Index;
use crate::state::meter::Meter;
use crate::state::row::{RowShape, COUNTER, ROW_SHIFT};
use crate::state::slots::Keys;

/// A table's rows, by number: those of the entries, and row 0, which a miss has.
#[derive(Debug, Clone)]
#[repr(C)] // Native code reads the first word.
pub(crate) struct TableState {
    /// While there is no entry: the address of the row of a miss, which every packet has. Otherwise 0.
    vacant: usize,
    rows: Vec<u64>,
    pub shape: RowShape,
    index: Index,
    free: Vec<u32>,
    /// The meters of rows that were used in a table with meters.
    meters: Vec<Option<Box<Meter>>>,
}

impl TableState {
    pub fn new(info: &TableInfo, actions: &[ActionInfo]) -> TableState {
        let shape = RowShape::new(info, actions);
        let (rows, index) = (vec![0; shape.stride], Index::new(&shape));
        let mut state = TableState { vacant: 0, rows, shape, index, free: Vec::new(), meters: Vec::new() };
        state.note_vacancy();
        state
    }

    /// To be called after rows or entries changed.
    fn note_vacancy(&mut self) {
        self.vacant = if self.index.is_empty() { self.rows.as_mut_ptr() as usize } else { 0 };
    }

    /// Whether there is no entry.
    pub fn is_vacant(&self) -> bool {
        self.vacant != 0
    }

    pub fn len(&self) -> usize {
        self.rows.len() / self.shape.stride - 1 - self.free.len()
    }

    #[inline(always)]
    fn keys(&self) -> Keys<'_> {
        Keys { rows: &self.rows, stride: self.shape.stride, first: self.shape.key }
    }

    /// The row that matches a packet's key best; 0 for a miss.
    #[inline]
    pub fn search(&self, key: &[u64]) -> u32 {
        self.index.search(key, &self.shape, self.keys())
    }

    #[inline(always)]
    pub fn search_exact<const WORDS: usize>(&self, key: &[u64; WORDS]) -> u32 {
        self.index.search_exact(key, self.keys())
    }

    #[inline(always)]
    pub fn search_prefix(&mut self, key: u64) -> u32 {
        let keys = Keys { rows: &self.rows, stride: self.shape.stride, first: self.shape.key };
        self.index.search_prefix(key, keys)
    }

    /// The row that has the words of an entry's key.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        Some(self.index.find(key, &self.shape, self.keys())).filter(|&row| row != 0)
    }

    pub fn row(&self, row: u32) -> &[u64] {
        &self.rows[row as usize * self.shape.stride..][..self.shape.stride]
    }

    /// The address of a row's words.
    #[inline(always)]
    pub fn address(&mut self, row: u32) -> *mut u64 {
        self.rows[row as usize * self.shape.stride..].as_mut_ptr()
    }

    fn row_mut(&mut self, row: u32) -> &mut [u64] {
        &mut self.rows[row as usize * self.shape.stride..][..self.shape.stride]
    }

    pub fn entries(&self) -> impl Iterator<Item = u32> + '_ {
        (1..(self.rows.len() / self.shape.stride) as u32).filter(|&row| self.action(row).is_some())
    }

    /// The position in the table's list of a row's action.
    pub fn action(&self, row: u32) -> Option<usize> {
        let action = self.rows[row as usize * self.shape.stride] as u32;
        action.checked_sub(1).map(|position| position as usize)
    }

    pub fn arguments(&self, row: u32) -> impl Iterator<Item = u128> + '_ {
        self.action(row).into_iter().flat_map(move |at| self.shape.get_arguments(self.row(row), at))
    }

    pub fn key(&self, row: u32) -> EntryKey {
        self.shape.decode(self.row(row))
    }

    /// Gives a row an action, by its position in the table's list, or none.
    pub fn set(&mut self, row: u32, call: Option<(usize, &[u128])>) {
        let words = &mut self.rows[row as usize * self.shape.stride..][..self.shape.stride];
        words[0] = u64::from(row) << ROW_SHIFT | call.map_or(0, |(position, _)| position as u64 + 1);
        if let Some((position, arguments)) = call {
            self.shape.set_arguments(words, position, arguments);
        }
    }

    /// Adds an entry that is not there yet; gives its row.
    pub fn insert(&mut self, mut key: Vec<u64>, call: (usize, &[u128])) -> u32 {
        let row = self.free.pop().unwrap_or_else(|| {
            let end = self.rows.len() + self.shape.stride;
            if end > self.rows.capacity() {
                // By an eighth: a table that has grown has little room that it does not need.
                self.rows.reserve_exact((self.rows.len() / 8).max(16 * self.shape.stride));
            }
            self.rows.resize(end, 0);
            (self.rows.len() / self.shape.stride - 1) as u32
        });
        self.set(row, Some(call));
        self.index.insert(&mut key, row, &self.shape);
        let place = self.shape.key;
        self.row_mut(row)[place..place + key.len()].copy_from_slice(&key);
        self.note_vacancy();
        row
    }

    pub fn remove(&mut self, row: u32) {
        let key = self.row(row)[self.shape.key..][..self.shape.key_len].to_vec();
        self.index.remove(&key, row, &self.shape);
        self.row_mut(row).fill(0);
        if let Some(meter) = self.meters.get_mut(row as usize) {
            *meter = None;
        }
        self.free.push(row);
        self.note_vacancy();
    }

    /// The counter of a row, in a table that counts.
    pub fn counter(&self, row: u32) -> CounterValue {
        let words = self.row(row);
        CounterValue { packets: words[COUNTER], bytes: words[COUNTER + 1] }
    }

    pub fn set_counter(&mut self, row: u32, value: CounterValue) {
        self.row_mut(row)[COUNTER..COUNTER + 2].copy_from_slice(&[value.packets, value.bytes]);
    }

    /// When a packet last had a row, in a table that keeps this time.
    pub fn hit(&self, row: u32) -> u64 {
        self.row(row)[self.shape.stride - 1]
    }

    pub fn set_hit(&mut self, row: u32, time: u64) {
        let last = self.shape.stride - 1;
        self.row_mut(row)[last] = time;
    }

    /// The meter of a row, if it was used.
    pub fn meter(&self, row: u32) -> Option<&Meter> {
        self.meters.get(row as usize)?.as_deref()
    }

    pub fn meter_mut(&mut self, row: u32) -> &mut Meter {
        let row = row as usize;
        if self.meters.len() <= row {
            self.meters.resize_with(row + 1, || None);
        }
        self.meters[row].get_or_insert_with(Box::default)
    }
}
