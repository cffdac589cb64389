//! Events to come, in a total order: by time, then by key, then as they were scheduled.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::Nanos;

/// A queue of timed events. Events of one time come in the order of their keys, those of one key as they were
/// scheduled; without keys (`K = ()`), in the order in which they were scheduled.
#[derive(Debug, Clone)]
pub struct EventQueue<E, K = ()> {
    events: BinaryHeap<Scheduled<E, K>>,
    scheduled: u64,
}

#[derive(Debug, Clone)]
struct Scheduled<E, K> {
    at: (Nanos, K, u64),
    event: E,
}

impl<E, K: Ord> EventQueue<E, K> {
    /// Schedules an event at `time`; its key orders it among others of that time.
    pub fn schedule_as(&mut self, time: Nanos, key: K, event: E) {
        self.scheduled += 1;
        self.events.push(Scheduled { at: (time, key, self.scheduled), event });
    }

    /// When the next event comes.
    pub fn next(&self) -> Option<Nanos> {
        self.events.peek().map(|next| next.at.0)
    }

    /// Takes the next event, with its time.
    pub fn pop(&mut self) -> Option<(Nanos, E)> {
        self.events.pop().map(|next| (next.at.0, next.event))
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl<E> EventQueue<E> {
    /// Schedules an event at `time`, after those that were scheduled for that time before.
    pub fn schedule(&mut self, time: Nanos, event: E) {
        self.schedule_as(time, (), event);
    }
}

impl<E, K: Ord> Default for EventQueue<E, K> {
    fn default() -> EventQueue<E, K> {
        EventQueue { events: BinaryHeap::new(), scheduled: 0 }
    }
}

/// The first event is the greatest, because a heap gives out its greatest item.
impl<E, K: Ord> Ord for Scheduled<E, K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl<E, K: Ord> PartialOrd for Scheduled<E, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E, K: Ord> PartialEq for Scheduled<E, K> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl<E, K: Ord> Eq for Scheduled<E, K> {}
