use super::*;

#[test]
fn a_full_queue_drops_at_the_tail_and_says_so() {
    let limit = Depth { packets: 2, bytes: 1000 };
    let mut queue = Queue::default();
    assert!(queue.admit(400, limit));
    assert_eq!(queue.push('a', 400), 1);
    assert!(!queue.admit(601, limit), "too many bytes");
    assert!(queue.admit(600, limit));
    assert_eq!(queue.push('c', 600), 2);
    assert!(!queue.admit(0, limit), "too many packets");
    assert_eq!(queue.head(), Some(400));
    assert_eq!(queue.pop(), Some(('a', 400)));
    let drops = QueueDrops {
        full_packets: Amount { packets: 1, bytes: 0 },
        full_bytes: Amount { packets: 1, bytes: 601 },
        ..QueueDrops::default()
    };
    let expected = QueueCounters {
        enqueued: 2,
        enqueued_bytes: 1000,
        sent: 1,
        sent_bytes: 400,
        dropped: 2,
        drops,
        packets: 1,
        bytes: 600,
        high_water_packets: 2,
        high_water_bytes: 1000,
    };
    assert_eq!(queue.counters(), expected);
}

#[test]
fn what_does_not_wait_counts_as_if_it_had() {
    let (mut waits, mut passes) = (Queue::default(), Queue::<()>::default());
    for bytes in [60, 1500, 100] {
        waits.push((), bytes);
        waits.pop();
        passes.count_through(bytes);
    }
    assert_eq!(passes.counters(), waits.counters());
}

#[test]
fn marks_start_anew_from_what_waits() {
    let mut queue = Queue::default();
    (0..5).for_each(|n| assert_eq!(queue.push(n, 10), n + 1));
    assert_eq!(queue.pop(), Some((0, 10)));
    queue.reset_high_water();
    assert_eq!(queue.counters().high_water_packets, 4);
    assert_eq!(queue.flush(), 4);
    let counters = queue.counters();
    assert_eq!((counters.packets, counters.bytes), (0, 0));
    assert_eq!(counters.drops.reloaded, Amount { packets: 4, bytes: 40 });
}
