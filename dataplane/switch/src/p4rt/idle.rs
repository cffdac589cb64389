//! Idle timeouts of table entries.
//!
//! P4Runtime specification, section "Idle-timeout". The pipeline keeps the time of an entry's last packet; an
//! entry is looked at when it would be idle if no packet had come, and then again.

use std::collections::BTreeSet;

use groupflow_base::Nanos;
use groupflow_pipeline::{EntryKey, Pipeline, TableId};
use prost::Message;

use super::binding::BoundTable;
use super::state::{ControlState, EntryNote};
use super::status::Status;
use super::table_read;
use crate::proto::p4::v1::TableEntry;

/// The shortest timeout; a shorter one is rounded up.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// The time in which no more than [`AT_ONCE`] entries and [`SIZE`] bytes are told: packets come first.
const PACE: Nanos = Nanos::from_millis(10);
/// The most entries that are looked at in that time.
const AT_ONCE: usize = 1024;
/// The bytes of entries that fill a notification; clients take messages of up to 4 MiB.
const SIZE: usize = 256 << 10;

#[derive(Debug, Default)]
pub struct IdleTimers {
    /// By the time at which each is to be looked at.
    by_time: BTreeSet<(Nanos, TableId, EntryKey)>,
    /// When the current span of [`PACE`] began.
    since: Nanos,
    /// The entries that may still be looked at in it.
    entries_left: usize,
    /// The bytes of entries that may still be told in it.
    bytes_left: usize,
}

impl IdleTimers {
    pub fn deadline(&self) -> Option<Nanos> {
        let (due, ..) = self.by_time.first()?;
        let may_be = if self.is_spent() { self.since + PACE } else { Nanos::ZERO };
        Some(may_be.max(*due))
    }

    fn is_spent(&self) -> bool {
        self.entries_left == 0 || self.bytes_left == 0
    }

    fn pop(&mut self, now: Nanos) -> Option<(TableId, EntryKey)> {
        self.deadline().filter(|deadline| *deadline <= now)?;
        if now >= self.since + PACE {
            self.since = now;
            self.entries_left = AT_ONCE;
            self.bytes_left = SIZE;
        }
        self.entries_left -= 1;
        self.by_time.pop_first().map(|(_, table, key)| (table, key))
    }

    /// Starts the timer of an entry that was used at `since`, if it has a timeout.
    pub fn start(&mut self, note: &mut EntryNote, table: TableId, key: &EntryKey, since: Nanos) {
        self.stop(note, table, key);
        if note.idle_timeout != Nanos::ZERO {
            note.due = since + note.idle_timeout.max(SHORTEST);
            self.by_time.insert((note.due, table, key.clone()));
        }
    }

    pub fn stop(&mut self, note: &EntryNote, table: TableId, key: &EntryKey) {
        if note.idle_timeout != Nanos::ZERO {
            self.by_time.remove(&(note.due, table, key.clone()));
        }
    }
}

pub fn check(table: &BoundTable, entry: &TableEntry) -> Result<(), Status> {
    let field = match (entry.idle_timeout_ns, &entry.time_since_last_hit) {
        (0, None) => return Ok(()),
        (0, Some(_)) => "time_since_last_hit",
        _ => "idle_timeout_ns",
    };
    refuse_if!(!table.idle_timeout || entry.is_default_action, "{field}: there is no idle timeout here");
    refuse_if!(entry.idle_timeout_ns < 0, "idle_timeout_ns: it is negative");
    Ok(())
}

/// The entries that have grown idle, whose timers start again.
pub fn due(state: &mut ControlState, pipeline: &Pipeline, now: Nanos) -> Vec<TableEntry> {
    let mut found = Vec::new();
    while let Some((table, key)) = state.idle.pop(now) {
        let Some(note) = state.notes.get_mut(&(table, key.clone())) else { continue };
        let hit = pipeline.table_get(table, &key).map_or(now, |view| view.hit);
        state.idle.start(note, table, &key, hit);
        if note.due > now {
            continue;
        }
        state.idle.start(note, table, &key, now);
        let bound = state.config.binding.tables.iter().find(|(_, bound)| bound.table == table);
        let Some((id, bound)) = bound else { continue };
        let entry = EntryNote::add_to(Some(note), table_read::key_message(*id, bound, &key));
        state.idle.bytes_left = state.idle.bytes_left.saturating_sub(entry.encoded_len());
        found.push(entry);
    }
    found
}
