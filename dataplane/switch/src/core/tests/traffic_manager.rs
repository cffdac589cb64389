use super::*;

const LINK: Depth = Depth { packets: 2, bytes: 1_000 };

fn queues(change: &str) -> PortQueues {
    let mut queues = PortQueues::new(2, FlowControl::default());
    let change: QueueChange = change.parse().expect("a change");
    assert!(queues.configure(Nanos::ZERO, 1, &change), "queue 1");
    queues
}

#[test]
fn what_is_let_through_counts_as_if_it_had_waited() {
    let mut queues = queues("weight=3");
    assert!(queues.lets_through(1, 1_000, LINK, false));
    let counters = queues.states().nth(1).expect("queue 1").1;
    assert_eq!((counters.enqueued, counters.sent_bytes, counters.packets), (1, 1_000, 0));
    assert_eq!((counters.high_water_packets, counters.dropped), (1, 0));
}

#[test]
fn what_may_have_to_wait_is_not_let_through_and_leaves_no_trace() {
    for (change, queue, bytes) in [
        ("weight=3", 2, 100),
        ("weight=3", 1, 1_001),
        ("bytes=99", 1, 100),
        ("rate=5pps", 1, 100),
        ("pause", 1, 100),
    ] {
        let mut queues = queues(change);
        let before: Vec<_> = queues.states().collect();
        assert!(!queues.lets_through(queue, bytes, LINK, true), "{change}");
        assert!(queues.states().eq(before), "{change}");
    }
    let mut queues = queues("weight=3");
    assert!(queues.demand(Nanos::ZERO, 0, Some(PacketRate::from_units(64))));
    assert!(!queues.lets_through(0, 100, LINK, false), "a controlled flow");
    assert!(queues.lets_through(1, 100, LINK, false), "beside it");
}
