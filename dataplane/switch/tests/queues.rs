//! Queues in virtual time: levels, weights, rates, limits, pauses and counters.

use crate::common::{self, request, Testbed};
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_switch::core::{Amount, QueueStats, SwitchConfig};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// Port 2 at 8 Mb/s: a frame of 1000 bytes takes a millisecond.
const SLOW: &str = "2:rate=8mbit,queue=100000,dir=out";

fn set(bed: &mut Testbed, queue: u8, spec: &str) {
    bed.switch.change_queue(Port(2), queue, &spec.parse().unwrap()).unwrap();
}

fn send(bed: &mut Testbed, now: u64, queue: u8, count: usize) {
    (0..count).for_each(|_| bed.inject(now, 1, &request(2, queue, 0, 1000)));
}

fn stats(bed: &Testbed, queue: usize) -> QueueStats {
    bed.switch.stats().ports[1].outbound.queues[queue]
}

/// Time and queue of every frame that left by `now`.
fn left(bed: &mut Testbed, now: u64) -> Vec<(u64, u8)> {
    bed.advance(now).iter().map(|output| (output.time.0, output.bytes[2])).collect()
}

fn times(bed: &mut Testbed, now: u64) -> Vec<u64> {
    left(bed, now).into_iter().map(|(time, _)| time).collect()
}

#[test]
fn there_are_eight_levels_at_first() {
    let mut bed = Testbed::of_queues(&[SLOW]);
    (0..8).for_each(|queue| send(&mut bed, 0, queue, 1));
    let order: Vec<u8> = left(&mut bed, SECOND).into_iter().map(|(_, queue)| queue).collect();
    assert_eq!(order, [0, 7, 6, 5, 4, 3, 2, 1], "the one being sent is not interrupted");
}

#[test]
fn a_level_is_shared_by_weight_and_higher_levels_go_first() {
    let mut bed = Testbed::of_queues(&[SLOW]);
    set(&mut bed, 1, "level=3,weight=3");
    set(&mut bed, 2, "level=3,weight=1");
    for queue in [1, 2, 0] {
        send(&mut bed, 0, queue, 400);
    }
    send(&mut bed, 50 * MS, 7, 10);
    let left = left(&mut bed, 400 * MS);
    let count = |queue| left.iter().filter(|(_, from)| *from == queue).count();
    assert_eq!(left.iter().filter(|(time, queue)| *queue == 7 && *time <= 62 * MS).count(), 10);
    assert!((291..=294).contains(&count(1)), "{}", count(1));
    assert!((96..=99).contains(&count(2)), "{}", count(2));
    assert_eq!(count(0), 0, "queue 0 waits until the others are empty");
}

#[test]
fn weights_count_bytes() {
    let mut bed = Testbed::of_queues(&[SLOW]);
    set(&mut bed, 1, "level=3");
    set(&mut bed, 2, "level=3");
    (0..1000).for_each(|_| bed.inject(0, 1, &request(2, 1, 0, 1200)));
    (0..4000).for_each(|_| bed.inject(0, 1, &request(2, 2, 0, 300)));
    let outputs = bed.advance(500 * MS);
    let bytes = |queue| outputs.iter().filter(|o| o.bytes[2] == queue).map(|o| o.bytes.len()).sum::<usize>();
    assert!(bytes(1).abs_diff(bytes(2)) <= 1500, "{} {}", bytes(1), bytes(2));
}

#[test]
fn a_rate_in_packets_is_exact() {
    let mut bed = Testbed::of_queues(&[]);
    set(&mut bed, 3, "rate=3pps");
    send(&mut bed, 5, 3, 31);
    let times = times(&mut bed, 100 * SECOND);
    assert_eq!((times[0], times[3], times[30]), (5, SECOND + 5, 10 * SECOND + 5));
    assert_eq!(times[1], 5 + SECOND / 3 + 1);
}

#[test]
fn a_rate_in_bits_counts_bytes() {
    let mut bed = Testbed::of_queues(&[]);
    set(&mut bed, 3, "rate=8mbit");
    for length in [1000, 500, 2000, 100] {
        bed.inject(0, 1, &request(2, 3, 0, length));
    }
    assert_eq!(times(&mut bed, SECOND), [0, MS / 2, MS * 5 / 2, MS * 26 / 10]);
}

#[test]
fn a_raised_rate_lets_the_head_leave_early_and_a_lowered_one_late() {
    let mut bed = Testbed::of_queues(&[]);
    set(&mut bed, 3, "rate=1pps");
    send(&mut bed, 0, 3, 3);
    assert_eq!(times(&mut bed, SECOND / 2), [0]);
    assert_eq!(bed.switch.deadline(), Some(Nanos(SECOND)));
    set(&mut bed, 3, "rate=5pps");
    assert_eq!(times(&mut bed, SECOND), [SECOND * 6 / 10, SECOND * 8 / 10]);
    set(&mut bed, 3, "rate=1pps");
    send(&mut bed, 10 * SECOND, 3, 2);
    assert_eq!(times(&mut bed, 10 * SECOND + SECOND / 4), [10 * SECOND]);
    set(&mut bed, 3, "rate=0.5pps");
    assert_eq!(times(&mut bed, 20 * SECOND), [10 * SECOND + SECOND / 4 + SECOND * 3 / 2]);
}

#[test]
fn a_rate_of_zero_and_a_pause_stop_a_queue_and_no_other() {
    for stop in ["rate=0pps", "pause"] {
        let mut bed = Testbed::of_queues(&[]);
        set(&mut bed, 3, stop);
        send(&mut bed, 0, 3, 2);
        send(&mut bed, 0, 2, 1);
        assert_eq!(left(&mut bed, 100 * SECOND), [(0, 2)], "{stop}");
        assert_eq!(bed.switch.deadline(), None);
        assert_eq!(stats(&bed, 3).counters.packets, 2);
        set(&mut bed, 3, "rate=unlimited,resume");
        assert_eq!(left(&mut bed, 101 * SECOND), [(100 * SECOND, 3), (100 * SECOND, 3)]);
    }
}

#[test]
fn a_pause_keeps_the_credit_and_the_rate() {
    let mut bed = Testbed::of_queues(&[]);
    set(&mut bed, 3, "rate=1pps");
    send(&mut bed, 0, 3, 2);
    assert_eq!(times(&mut bed, SECOND * 3 / 4), [0]);
    set(&mut bed, 3, "pause");
    assert_eq!(times(&mut bed, 10 * SECOND), [0u64; 0]);
    set(&mut bed, 3, "resume");
    assert_eq!(times(&mut bed, 20 * SECOND), [10 * SECOND + SECOND / 4]);
}

#[test]
fn what_waits_for_its_rate_leaves_the_port_to_others() {
    let mut bed = Testbed::of_queues(&[SLOW]);
    set(&mut bed, 7, "rate=100pps");
    send(&mut bed, 0, 7, 11);
    send(&mut bed, 0, 0, 1000);
    let left = left(&mut bed, 100 * MS);
    assert_eq!(left.len(), 100, "the port is never idle");
    assert!(left.windows(2).all(|pair| pair[1].0 - pair[0].0 == MS));
    assert_eq!(left.iter().filter(|(_, queue)| *queue == 7).count(), 10);
}

#[test]
fn a_queue_has_limits_of_its_own() {
    let mut bed = Testbed::of_queues(&["2:rate=8mbit,queue=3,dir=out"]);
    set(&mut bed, 1, "packets=5");
    set(&mut bed, 2, "packets=1000,bytes=2500");
    send(&mut bed, 0, 0, 5);
    send(&mut bed, 0, 1, 9);
    send(&mut bed, 0, 2, 4);
    let counters = |queue| stats(&bed, queue).counters;
    let drops = |packets| Amount { packets, bytes: packets * 1000 };
    assert_eq!((counters(0).packets, counters(0).drops.full_packets), (3, drops(1)), "the link's limit");
    assert_eq!((counters(1).packets, counters(1).drops.full_packets), (5, drops(4)));
    assert_eq!((counters(2).packets, counters(2).drops.full_bytes), (2, drops(2)));
    assert_eq!((counters(1).enqueued, counters(1).enqueued_bytes, counters(1).dropped), (5, 5000, 4));
    assert_eq!(bed.switch.stats().ports[1].outbound.drops.link.queue_full, 7);
    bed.advance(SECOND);
    let after = stats(&bed, 1).counters;
    assert_eq!((after.sent, after.sent_bytes, after.bytes), (5, 5000, 0));
    assert_eq!((after.high_water_packets, after.high_water_bytes), (5, 5000));
}

#[test]
fn what_meets_a_link_that_is_down_is_counted_by_its_queue() {
    let mut bed = Testbed::of_queues(&[SLOW]);
    send(&mut bed, 0, 4, 3);
    bed.switch.change_link(Port(2), &"down".parse().unwrap()).unwrap();
    assert_eq!(left(&mut bed, SECOND), []);
    let counters = stats(&bed, 4).counters;
    assert_eq!(counters.drops.link_down, Amount { packets: 2, bytes: 2000 }, "one was on the wire");
    assert_eq!(bed.switch.stats().ports[1].outbound.drops.link.down, 3);
}

#[test]
fn settings_outlive_the_program_and_what_waits_does_not() {
    let mut bed = Testbed::of_queues(&[SLOW]);
    set(&mut bed, 4, "level=9,weight=7,rate=1kpps");
    send(&mut bed, 0, 4, 3);
    let config = common::queues_config();
    bed.runtime.install(&mut bed.switch, config);
    let stats = stats(&bed, 4);
    let settings = stats.settings;
    let rate = settings.rate.map(|rate| rate.to_string());
    assert_eq!((settings.level, settings.weight, rate.as_deref()), (9, 7, Some("1000pps")));
    assert_eq!(stats.counters.drops.reloaded, Amount { packets: 2, bytes: 2000 });
}

#[test]
fn a_queue_that_is_not_there_is_refused() {
    let mut bed = Testbed::of_queues(&[]);
    let change = "pause".parse().unwrap();
    let refused = |bed: &mut Testbed, port, queue| {
        bed.switch.change_queue(Port(port), queue, &change).unwrap_err().to_string()
    };
    assert_eq!(refused(&mut bed, 9, 0), "there is no port 9");
    assert_eq!(refused(&mut bed, 2, 8), "port 2 has queues 0 to 7, not 8");
    assert!(bed.switch.set_nominal_packet(Port(2), 0).is_err());
    assert_eq!(
        bed.switch.change_queue(Port(510), 3, &change),
        Ok(()),
        "packets to the controller queue, too"
    );
}

#[test]
fn frames_with_a_tail_take_the_time_of_all_their_bytes() {
    let mut bed = Testbed::of_queues(&["1:rate=8mbit,dir=in", SLOW]);
    set(&mut bed, 0, "bytes=1000");
    let head = request(2, 0, 0, 20);
    (0..3).for_each(|_| bed.switch.inject_with_tail(Nanos(0), Port(1), &head, 980));
    let outputs = bed.advance(SECOND);
    let seen: Vec<_> = outputs.iter().map(|o| (o.time.0, o.bytes.len(), o.tail)).collect();
    assert_eq!(seen, [(2 * MS, 20, 980), (3 * MS, 20, 980), (4 * MS, 20, 980)]);
    let port = &bed.switch.stats().ports[1].outbound;
    assert_eq!((port.bytes, port.queues[0].counters.sent_bytes), (3000, 3000));
}

#[test]
fn buffers_that_are_given_back_are_used_again() {
    let mut bed = Testbed::of_queues(&[]);
    let mut outputs = Vec::new();
    for _ in 0..10 {
        bed.inject(0, 1, &request(2, 0, 0, 1000));
        bed.switch.advance(Nanos(0), &mut bed.emitted);
        outputs.push(bed.emitted.outputs[0].bytes.as_ptr());
        bed.switch.reuse(&mut bed.emitted.outputs);
    }
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn an_eager_switch_says_the_same_earlier() {
    let run = |eager: bool| {
        let links = ["2:rate=8mbit,delay=3300us,loss=10%,queue=20,dir=out"];
        let mut bed = Testbed::of(SwitchConfig { priorities: 8, eager, ..common::switch_config(&links) });
        bed.runtime.install(&mut bed.switch, common::queues_config());
        let mut left = Vec::new();
        let mut deadlines = 0;
        for n in 0..100 {
            bed.inject(n * MS * 9 / 10, 1, &request(2, (n % 3) as u8, n as u16, 1000));
            while let Some(due) = bed.switch.deadline().filter(|due| due.0 < (n + 1) * MS * 9 / 10) {
                left.extend(bed.advance(due.0));
                deadlines += 1;
            }
        }
        left.extend(bed.advance(SECOND));
        (left, bed.switch.stats(), deadlines)
    };
    let (usual, eager) = (run(false), run(true));
    assert_eq!((&usual.0, &usual.1), (&eager.0, &eager.1));
    assert!(eager.2 * 3 < usual.2 * 2, "{} and {} events", eager.2, usual.2);
}

/// Queues 1 to 3 share a level with these weights, and send what is said at these times (in units of 100 us).
fn arrivals() -> impl Strategy<Value = (Vec<u16>, Vec<(u64, u8, usize)>)> {
    let weights = proptest::collection::vec(1u16..10, 3);
    let arrivals = proptest::collection::vec((0u64..300, 1u8..=3, 100usize..1500), 1..150);
    (weights, arrivals)
}

proptest! {
    /// The port never idles while anything may leave: all is sent as early as in one queue.
    #[test]
    fn service_is_work_conserving((weights, mut arrivals) in arrivals()) {
        arrivals.sort_unstable();
        let run = |shared: bool| {
            let mut bed = Testbed::of_queues(&[SLOW]);
            for queue in 1..=3 {
                set(&mut bed, queue, &format!("level=1,weight={}", weights[usize::from(queue) - 1]));
            }
            for (time, queue, length) in &arrivals {
                let queue = if shared { *queue } else { 1 };
                bed.inject(time * 100_000, 1, &request(2, queue, 0, *length));
            }
            let outputs = bed.advance(100 * SECOND);
            let bytes: usize = outputs.iter().map(|o| o.bytes.len()).sum();
            (outputs.last().unwrap().time, bytes)
        };
        prop_assert_eq!(run(true), run(false));
    }

    /// Whatever happens to rates and pauses, a queue sends in order, and its counters add up.
    #[test]
    fn counters_add_up(
        steps in proptest::collection::vec((0u64..5_000_000, 0u8..8, 0u8..5, 14usize..1500), 1..150),
    ) {
        let mut bed = Testbed::of_queues(&["2:rate=50mbit,queue=6,dir=out"]);
        let specs = ["rate=500pps", "rate=1mbit", "rate=unlimited,level=3", "pause", "resume"];
        let (mut now, mut next, mut sent) = (0, [0u16; 8], Vec::new());
        for (span, queue, step, length) in steps {
            now += span / 4;
            set(&mut bed, queue, specs[usize::from(step)]);
            bed.inject(now, 1, &request(2, queue, next[usize::from(queue)], length));
            next[usize::from(queue)] += 1;
            sent.extend(bed.advance(now));
        }
        sent.extend(bed.advance(now + SECOND));
        for queue in 0..8u8 {
            let ids: Vec<u16> = sent.iter().filter(|o| o.bytes[2] == queue)
                .map(|o| u16::from_be_bytes([o.bytes[4], o.bytes[5]])).collect();
            prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            let counters = stats(&bed, usize::from(queue)).counters;
            prop_assert_eq!(counters.sent, ids.len() as u64);
            prop_assert_eq!(counters.enqueued, counters.sent + u64::from(counters.packets));
            let offered = counters.enqueued + counters.dropped;
            prop_assert_eq!(offered, u64::from(next[usize::from(queue)]));
            prop_assert_eq!(counters.dropped, counters.drops.full_packets.packets);
        }
    }
}
