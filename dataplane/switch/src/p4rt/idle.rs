//! Idle timeouts of table entries.
//!
//! P4Runtime specification, section "Idle-timeout". The pipeline keeps the time of an entry's last packet; an
//! entry is looked at when it would be idle if no packet had come, and then again.

use std::collections::BTreeSet;

use groupflow_base::Nanos;
use groupflow_pipeline::{EntryKey, Pipeline, TableId};

use super::binding::BoundTable;
use super::matching;
use super::state::{ControlState, EntryNote};
use super::status::Refusal;
use crate::proto::p4::v1::TableEntry;

/// The shortest timeout; a shorter one is rounded up.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// The most entries of a notification, which must not be longer than a message of gRPC.
const AT_ONCE: usize = 1024;

/// The entries with a timeout, by the time at which each is to be looked at.
#[derive(Debug, Default)]
pub struct IdleTimers(BTreeSet<(Nanos, TableId, EntryKey)>);

impl IdleTimers {
    /// When the next entry is to be looked at.
    pub fn deadline(&self) -> Option<Nanos> {
        self.0.first().map(|(due, ..)| *due)
    }

    /// Starts the timer of an entry that was used at `since`, if it has a timeout.
    pub fn start(&mut self, note: &mut EntryNote, table: TableId, key: &EntryKey, since: Nanos) {
        self.stop(note, table, key);
        if note.idle_timeout != Nanos::ZERO {
            note.due = since + note.idle_timeout.max(SHORTEST);
            self.0.insert((note.due, table, key.clone()));
        }
    }

    /// Stops the timer of an entry.
    pub fn stop(&mut self, note: &EntryNote, table: TableId, key: &EntryKey) {
        if note.idle_timeout != Nanos::ZERO {
            self.0.remove(&(note.due, table, key.clone()));
        }
    }
}

/// Checks an entry's fields about idle timeouts.
pub fn check(table: &BoundTable, entry: &TableEntry) -> Result<(), Refusal> {
    let field = match (entry.idle_timeout_ns, &entry.time_since_last_hit) {
        (0, None) => return Ok(()),
        (0, Some(_)) => "time_since_last_hit",
        _ => "idle_timeout_ns",
    };
    if !table.idle_timeout || entry.is_default_action {
        return Err(Refusal::invalid(format!("{field}: there is no idle timeout here")));
    }
    if entry.idle_timeout_ns < 0 {
        return Err(Refusal::invalid("idle_timeout_ns: it is negative"));
    }
    Ok(())
}

/// The entries that have grown idle, whose timers start again.
pub fn due(state: &mut ControlState, pipeline: &mut Pipeline, now: Nanos) -> Vec<TableEntry> {
    let mut found = Vec::new();
    let mut left = AT_ONCE;
    while left > 0 && state.idle.deadline().is_some_and(|due| due <= now) {
        left -= 1;
        let Some((_, table, key)) = state.idle.0.pop_first() else { break };
        let Some(note) = state.notes.get_mut(&(table, key.clone())) else { continue };
        let hit = pipeline.table_get(table, &key).map_or(now, |view| view.hit);
        state.idle.start(note, table, &key, hit);
        if note.due > now {
            continue;
        }
        // The entry is there, so that this cannot fail.
        let _ = pipeline.table_touch(table, &key, now);
        state.idle.start(note, table, &key, now);
        let bound = state.config.binding.tables.iter().find(|(_, bound)| bound.table == table);
        found.extend(bound.map(|(id, bound)| {
            #[allow(deprecated)]
            TableEntry {
                table_id: *id,
                r#match: matching::fields(bound, &key),
                priority: i32::try_from(key.priority).unwrap_or(i32::MAX),
                controller_metadata: note.cookie,
                metadata: note.metadata.clone(),
                idle_timeout_ns: i64::try_from(note.idle_timeout.0).unwrap_or(i64::MAX),
                ..TableEntry::default()
            }
        }));
    }
    found
}
