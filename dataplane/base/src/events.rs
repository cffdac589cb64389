//! Events in virtual time.

use std::collections::BTreeMap;

use crate::Nanos;

/// Events by their times; those of the same time as they were scheduled.
#[derive(Debug)]
pub struct EventQueue<E> {
    events: BTreeMap<(Nanos, u64), E>,
    /// How many events were scheduled so far.
    scheduled: u64,
}

impl<E> EventQueue<E> {
    pub fn schedule(&mut self, time: Nanos, event: E) {
        self.scheduled += 1;
        self.events.insert((time, self.scheduled), event);
    }

    pub fn next(&self) -> Option<Nanos> {
        self.events.first_key_value().map(|(&(time, _), _)| time)
    }

    pub fn pop(&mut self) -> Option<(Nanos, E)> {
        self.events.pop_first().map(|((time, _), event)| (time, event))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> EventQueue<E> {
        EventQueue { events: BTreeMap::new(), scheduled: 0 }
    }
}
