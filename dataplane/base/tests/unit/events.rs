use groupflow_base::events::EventQueue;
use groupflow_base::Nanos;
use proptest::prelude::*;

proptest! {
    #[test]
    fn events_come_by_time_then_as_scheduled(times in proptest::collection::vec(0..10_u64, 0..60)) {
        let mut queue = EventQueue::default();
        for (number, &time) in times.iter().enumerate() {
            queue.schedule(Nanos(time), number);
        }
        let mut expected: Vec<_> = times.iter().map(|&time| Nanos(time)).zip(0..).collect();
        expected.sort();
        prop_assert_eq!(queue.next(), expected.first().map(|first| first.0));
        prop_assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), expected);
    }
}
