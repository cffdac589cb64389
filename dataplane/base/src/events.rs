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

    /// Takes the next event if it comes by `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, E)> {
        self.next().filter(|&time| time <= now)?;
        self.pop()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_then_key_then_as_scheduled(
            events in proptest::collection::vec((0..10_u64, 0..3_u8), 0..60), now in 0..12_u64,
        ) {
            let mut queue = EventQueue::default();
            for (number, &(time, key)) in events.iter().enumerate() {
                queue.schedule_as(Nanos(time), key, (key, number));
            }
            let mut expected: Vec<_> =
                (0..).zip(&events).map(|(number, &(time, key))| (Nanos(time), (key, number))).collect();
            expected.sort();
            prop_assert_eq!(queue.next(), expected.first().map(|first| first.0));
            let due = std::iter::from_fn(|| queue.pop_due(Nanos(now))).collect::<Vec<_>>();
            prop_assert!(due.iter().all(|event| event.0 <= Nanos(now)));
            prop_assert_eq!(queue.len(), expected.len() - due.len());
            let rest = std::iter::from_fn(|| queue.pop());
            prop_assert_eq!(due.into_iter().chain(rest).collect::<Vec<_>>(), expected);
        }
    }
}
