//! The switch in virtual time: links, queues, replication, and the program's view of them.

use crate::common::{self, exact, frame, group, replica, session, Testbed};
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_switch::core::{CLONE_LIMIT, LOOPBACK_DELAY, LOOPBACK_LIMIT, MAX_FRAME};
use groupflow_switch::proto::p4::v1::update::Type;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

#[test]
fn an_ideal_link_passes_frames_at_once() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.inject(5, 1, &frame(1, 0x0800, 100));
    let outputs = bed.advance(5);
    assert_eq!(outputs.len(), 1);
    assert_eq!((outputs[0].time, outputs[0].port), (Nanos(5), Port(2)));
    assert_eq!(outputs[0].bytes, frame(1, 0x0800, 100));
}

#[test]
fn the_rate_is_exact_to_the_nanosecond() {
    let mut bed = Testbed::new(&["2:rate=100mbit,delay=10ms,queue=1000,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    for _ in 0..500 {
        bed.inject(0, 1, &frame(1, 0x0800, 1250));
    }
    // 1250 bytes at 100 Mb/s are 100 us.
    let expected: Vec<(u64, u16)> = (1..=500).map(|n| (n * 100_000 + 10 * MS, 2)).collect();
    assert_eq!(bed.left(1_000 * MS), expected);
}

#[test]
fn the_rate_of_many_small_frames_is_that_of_the_link() {
    let mut bed = Testbed::new(&["2:rate=123gbit,queue=100000,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    for _ in 0..12_300 {
        bed.inject(0, 1, &frame(1, 0x0800, 100));
    }
    // 12300 frames of 800 bits at 123 Gb/s.
    assert_eq!(bed.left(MS).last(), Some(&(80_000, 2)));
}

#[test]
fn an_inbound_link_delays_before_the_program_sees_the_frame() {
    let mut bed = Testbed::new(&["1:rate=8mbit,delay=1ms,dir=in"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.inject(0, 1, &frame(1, 0x0800, 1000));
    bed.inject(0, 1, &frame(1, 0x0800, 1000));
    assert_eq!(bed.left(2 * MS - 1), []);
    assert_eq!(bed.left(10 * MS), [(2 * MS, 2), (3 * MS, 2)]);
}

#[test]
fn both_directions_of_a_link_are_emulated() {
    let mut bed = Testbed::new(&["1:delay=3ms", "2:delay=4ms"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.inject(0, 1, &frame(1, 0x0800, 100));
    assert_eq!(bed.left(100 * MS), [(7 * MS, 2)]);
}

#[test]
fn a_full_queue_drops_at_the_tail_and_counts() {
    let mut bed = Testbed::new(&["2:rate=8mbit,queue=3,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    for _ in 0..10 {
        bed.inject(0, 1, &frame(1, 0x0800, 1000));
    }
    // One is being sent, three wait.
    assert_eq!(bed.left(100 * MS).len(), 4);
    let port = &bed.switch.stats().ports[1];
    assert_eq!(port.outbound.drops.link.queue_full, 6);
    let queue = port.outbound.queues[0].counters;
    assert_eq!((queue.enqueued, queue.sent, queue.dropped, queue.packets), (4, 4, 6, 0));
    assert_eq!(queue.high_water_packets, 3);
    assert_eq!((port.outbound.packets, port.outbound.bytes), (4, 4000));
}

#[test]
fn an_inbound_queue_is_bounded_too() {
    let mut bed = Testbed::new(&["1:rate=8mbit,queue=2,dir=in"]);
    bed.when_to(1, "forward", &[2, 0]);
    for _ in 0..10 {
        bed.inject(0, 1, &frame(1, 0x0800, 1000));
    }
    assert_eq!(bed.left(100 * MS).len(), 3);
    let port = &bed.switch.stats().ports[0];
    assert_eq!(port.inbound.drops.link.queue_full, 7);
    assert_eq!((port.inbound.packets, port.inbound.bytes), (3, 3000));
}

#[test]
fn the_higher_priority_goes_first() {
    let mut bed = Testbed::new(&["2:rate=8mbit,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.when_to(2, "forward", &[2, 1]);
    for _ in 0..3 {
        bed.inject(0, 1, &frame(1, 0x0800, 1000));
    }
    bed.inject(1, 1, &frame(2, 0x0800, 1000));
    let order: Vec<u8> = bed.advance(100 * MS).iter().map(|output| output.bytes[5]).collect();
    assert_eq!(order, [1, 2, 1, 1], "the one being sent is not interrupted");
}

#[test]
fn a_priority_without_a_queue_is_counted() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 2]);
    bed.inject(0, 1, &frame(1, 0x0800, 100));
    assert_eq!(bed.left(MS), []);
    assert_eq!(bed.switch.stats().ports[1].outbound.drops.priority, 1);
}

#[test]
fn losses_take_up_the_link_and_repeat_with_the_seed() {
    let run = || {
        let mut bed = Testbed::new(&["2:rate=100mbit,loss=10%,queue=10000,dir=out"]);
        bed.when_to(1, "forward", &[2, 0]);
        for _ in 0..5000 {
            bed.inject(0, 1, &frame(1, 0x0800, 1250));
        }
        let left = bed.left(10_000 * MS);
        (left, bed.switch.stats().ports[1].outbound.drops.link.loss)
    };
    let (left, lost) = run();
    assert_eq!(left.len() as u64 + lost, 5000);
    // Six standard deviations of a binomial distribution around 500.
    assert!((373..=627).contains(&lost), "{lost}");
    assert!(left.iter().all(|(time, _)| time % 100_000 == 0), "lost frames leave a gap of their length");
    assert_eq!(run(), (left, lost));
}

#[test]
fn a_link_changes_while_frames_wait() {
    let mut bed = Testbed::new(&["2:rate=8mbit,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    for _ in 0..3 {
        bed.inject(0, 1, &frame(1, 0x0800, 1000));
    }
    assert_eq!(bed.left(MS / 2), []);
    bed.switch.change_link(Port(2), &"rate=80mbit".parse().unwrap()).unwrap();
    assert_eq!(bed.left(100 * MS), [(MS, 2), (MS + MS / 10, 2), (MS + MS / 5, 2)]);
    assert!(bed.switch.change_link(Port(9), &"up".parse().unwrap()).is_err());
    assert!(bed.switch.change_link(Port(510), &"up".parse().unwrap()).is_err(), "the CPU port has no link");
}

#[test]
fn a_link_that_is_down_counts_what_it_loses() {
    let mut bed = Testbed::new(&["2:delay=1ms"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.inject(0, 1, &frame(1, 0x0800, 100));
    bed.advance(1);
    bed.switch.change_link(Port(2), &"down".parse().unwrap()).unwrap();
    bed.inject(2, 1, &frame(1, 0x0800, 100));
    bed.inject(2, 2, &frame(1, 0x0800, 100));
    assert_eq!(bed.left(10 * MS), []);
    let port = &bed.switch.stats().ports[1];
    assert!(!port.up);
    assert_eq!((port.outbound.drops.link.down, port.inbound.drops.link.down), (2, 1));
    bed.switch.change_link(Port(2), &"up".parse().unwrap()).unwrap();
    bed.inject(20 * MS, 1, &frame(1, 0x0800, 100));
    assert_eq!(bed.left(30 * MS), [(21 * MS, 2)]);
}

#[test]
fn groups_copy_with_port_and_instance() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "multicast", &[6]);
    bed.apply(Type::Insert, group(6, &[replica(2, 100), replica(3, 0), replica(2, 7)])).unwrap();
    bed.inject(0, 1, &frame(1, 0x1234, 60));
    let copies: Vec<(u16, u16, u8)> = bed
        .advance(0)
        .iter()
        .map(|o| (o.port.0, u16::from_be_bytes([o.bytes[14], o.bytes[15]]), o.bytes[16]))
        .collect();
    assert_eq!(copies, [(2, 100, 5), (3, 0, 5), (2, 7, 5)]);
}

#[test]
fn an_unknown_group_or_port_drops_and_an_unknown_session_makes_no_clone() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "multicast", &[6]);
    bed.when_to(2, "forward", &[77, 0]);
    bed.when_to(3, "clone_and_forward", &[5, 2]);
    bed.when_to(4, "forward", &[511, 0]);
    (1..=4).for_each(|mac| bed.inject(0, 1, &frame(mac, 0x0800, 60)));
    assert_eq!(bed.left(0), [(0, 2)]);
    let drops = bed.switch.stats().drops;
    assert_eq!((drops.no_such_group, drops.no_such_port, drops.ingress), (1, 1, 1));
}

#[test]
fn a_clone_is_the_frame_as_it_came_cut_to_the_sessions_length() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(3, "clone_and_forward", &[5, 2]);
    bed.apply(Type::Insert, session(5, &[replica(3, 1), replica(4, 2)], 1, 20)).unwrap();
    bed.inject(0, 1, &frame(3, 0x0800, 60));
    let mut copies: Vec<(u16, usize)> = bed.advance(0).iter().map(|o| (o.port.0, o.bytes.len())).collect();
    copies.sort_unstable();
    assert_eq!(copies, [(2, 60), (3, 20), (4, 20)]);
    let ports = bed.switch.stats().ports;
    assert_eq!(ports[2].outbound.queues[1].counters.sent, 1, "in the session's class");
}

#[test]
fn egress_cloning_of_clones_ends() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.apply(Type::Insert, session(9, &[replica(3, 1)], 0, 0)).unwrap();
    bed.inject(0, 1, &frame(1, 0xc10e, 60));
    let left = bed.left(2 * MS);
    assert_eq!(left.iter().filter(|(_, port)| *port == 2).count(), 1);
    assert_eq!(left.iter().filter(|(_, port)| *port == 3).count(), CLONE_LIMIT as usize);
    let last = left.iter().map(|(time, _)| *time).max();
    assert_eq!(last, Some(u64::from(CLONE_LIMIT / 4) * LOOPBACK_DELAY.0), "not all at once");
    assert_eq!(bed.switch.stats().drops.clone_limit, 1);
}

#[test]
fn clones_of_clones_of_one_packet_are_bounded_however_many_a_session_makes() {
    for copies in [2, 7, 4096] {
        let mut bed = Testbed::new(&[]);
        bed.when_to(1, "forward", &[2, 0]);
        let replicas: Vec<_> = (0..copies).map(|instance| replica(3, instance)).collect();
        bed.apply(Type::Insert, session(9, &replicas, 0, 0)).unwrap();
        for packet in 1..=2 {
            bed.inject(packet * 10 * MS, 1, &frame(1, 0xc10e, 60));
            let left = bed.left((packet + 1) * 10 * MS);
            // The packet itself, and the clones that it and they left.
            assert_eq!(left.len(), 1 + CLONE_LIMIT as usize, "{copies}");
            // Each clone asked for more.
            let asked = u64::from(copies) * (1 + u64::from(CLONE_LIMIT)) * packet;
            let cut = bed.switch.stats().drops.clone_limit;
            assert_eq!(cut, asked - u64::from(CLONE_LIMIT) * packet, "{copies}");
        }
    }
}

#[test]
fn a_packet_for_a_port_without_interface_goes_through_egress() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[77, 0]);
    bed.apply(Type::Insert, session(9, &[replica(3, 1)], 0, 0)).unwrap();
    bed.inject(0, 1, &frame(1, 0xc10e, 60));
    let left = bed.left(2 * MS);
    assert!(left.len() > 2 && left.iter().all(|(_, port)| *port == 3), "clones of a packet that ends there");
    bed.when_to(2, "go_round", &[77]);
    bed.inject(2 * MS, 1, &frame(2, 0x0800, 60));
    assert_eq!(bed.left(4 * MS), [], "the third round ends there");
    let before = bed.switch.stats().drops.no_such_port;
    bed.inject(4 * MS, 1, &frame(2, 0x0800, 60));
    bed.left(6 * MS);
    assert_eq!(bed.switch.stats().drops.no_such_port, before + 1);
}

#[test]
fn a_recirculated_frame_keeps_its_fields_and_takes_its_time() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "go_round", &[2]);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert!(bed.switch.holds_packets());
    assert_eq!(bed.left(MS), [(3 * LOOPBACK_DELAY.0, 2)]);
    assert!(!bed.switch.holds_packets());
}

#[test]
fn the_loop_is_bounded() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(2, "go_round", &[2]);
    for _ in 0..LOOPBACK_LIMIT + 10 {
        bed.inject(0, 1, &frame(2, 0x0800, 60));
    }
    assert_eq!(bed.left(MS).len(), LOOPBACK_LIMIT);
    assert_eq!(bed.switch.stats().drops.loopback_full, 10);
}

#[test]
fn egress_sees_the_queue() {
    let mut bed = Testbed::new(&["2:rate=8mbit,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    // A frame grows by 16 bytes in egress: 984 bytes in, 1000 on the wire, 1 ms.
    (0..4).for_each(|_| bed.inject(0, 1, &frame(1, 0x1234, 984)));
    let seen: Vec<[u32; 3]> = bed
        .advance(100 * MS)
        .iter()
        .map(|o| [18, 22, 26].map(|at| u32::from_be_bytes(o.bytes[at..at + 4].try_into().unwrap())))
        .collect();
    // Depth on joining, depth on leaving, microseconds in between.
    assert_eq!(seen, [[0, 0, 0], [0, 2, 1000], [1, 1, 2000], [2, 0, 3000]]);
}

#[test]
fn packets_to_and_from_the_controller_have_its_header() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[510, 0]);
    bed.inject(4, 3, &frame(1, 0x0800, 60));
    bed.advance(4);
    let packet = bed.emitted.packet_ins.pop().unwrap();
    assert_eq!(packet.time, Nanos(4));
    assert_eq!(packet.bytes[..2], [0x01, 0x85], "port 3 in 9 bits, reason 5 in 7");
    assert_eq!(packet.bytes[2..], frame(1, 0x0800, 60));
    let mut out = vec![0x01, 0x00];
    out.extend(frame(1, 0x0800, 60));
    bed.switch.packet_out(Nanos(9), &out);
    assert_eq!(bed.left(9), [(9, 2)]);
    let cpu = bed.switch.stats().cpu;
    assert_eq!((cpu.packet_ins, cpu.packet_outs), (1, 1));
}

#[test]
fn frames_that_no_port_can_take_are_counted() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.inject(0, 1, &frame(1, 0x0800, MAX_FRAME + 1));
    bed.inject(0, 9, &frame(1, 0x0800, 60));
    bed.inject(0, 510, &frame(1, 0x0800, 60));
    bed.inject(0, 1, &frame(1, 0x1234, MAX_FRAME));
    assert_eq!(bed.left(MS), []);
    let stats = bed.switch.stats();
    assert_eq!(stats.ports[0].inbound.drops.link.oversize, 1);
    assert_eq!(stats.ports[1].outbound.drops.link.oversize, 1, "egress made it too long");
    assert_eq!(stats.drops.no_such_port, 2);
}

#[test]
fn without_a_program_everything_is_dropped_and_a_new_one_starts_clean() {
    let mut bed = Testbed::without_program(&["2:rate=8mbit,dir=out"]);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.switch.stats().drops.no_program, 1);
    bed.runtime.install(&mut bed.switch, common::config());
    bed.when_to(1, "forward", &[2, 0]);
    (0..3).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 1000)));
    bed.advance(0);
    bed.runtime.install(&mut bed.switch, common::config());
    assert_eq!(bed.left(100 * MS).len(), 1, "what is on the wire arrives");
    assert_eq!(bed.switch.stats().drops.reloaded, 2);
    bed.inject(100 * MS, 1, &frame(1, 0x0800, 1000));
    assert_eq!(bed.left(200 * MS), [], "the entries are gone");
}

#[test]
fn a_frame_that_is_read_late_still_arrives_in_time() {
    let mut bed = Testbed::new(&["1:delay=1ms,dir=in", "2:rate=8mbit,delay=1ms,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.advance(500_000);
    bed.inject(400_000, 1, &frame(1, 0x0800, 1000));
    assert_eq!(bed.left(100 * MS), [(400_000 + MS + MS + MS, 2)]);
}

#[test]
fn the_next_deadline_is_when_something_happens() {
    let mut bed = Testbed::new(&["2:rate=8mbit,delay=5ms,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    assert_eq!(bed.switch.deadline(), None);
    (0..2).for_each(|_| bed.inject(0, 1, &frame(1, 0x0800, 1000)));
    let mut deadlines = Vec::new();
    while let Some(deadline) = bed.switch.deadline() {
        deadlines.push(deadline.0);
        bed.advance(deadline.0);
    }
    assert_eq!(deadlines, [MS, 6 * MS, 7 * MS]);
}

#[test]
fn an_egress_drop_costs_no_time_on_the_link() {
    let mut bed = Testbed::new(&["2:rate=8mbit,dir=out"]);
    bed.when_to(1, "forward", &[2, 0]);
    bed.inject(0, 1, &frame(1, 0xdead, 1000));
    bed.inject(0, 1, &frame(1, 0x0800, 1000));
    assert_eq!(bed.left(10 * MS), [(MS, 2)]);
    assert_eq!(bed.switch.stats().ports[1].outbound.drops.egress, 1);
}

proptest! {
    /// Every frame is accounted for, whenever it arrives, and two runs of the same arrivals are equal.
    #[test]
    fn every_frame_is_accounted_for(
        arrivals in proptest::collection::vec((0u64..5_000_000, 1u16..=4, 0u64..6, 0usize..2000), 0..200),
    ) {
        let run = || {
            let links =
                ["1:rate=20mbit,delay=1ms,loss=5%,queue=5", "2:rate=10mbit,queue=4", "3:delay=2ms,loss=1%"];
            let mut bed = Testbed::new(&links);
            bed.when_to(1, "forward", &[2, 0]);
            bed.when_to(2, "forward", &[1, 1]);
            bed.when_to(3, "multicast", &[1]);
            bed.apply(Type::Insert, group(1, &[replica(3, 1)])).unwrap();
            let mut arrivals = arrivals.clone();
            arrivals.sort_unstable();
            for (time, port, mac, length) in &arrivals {
                bed.inject(*time, *port, &frame(*mac, 0x0800, *length));
            }
            let left = bed.advance(u64::MAX - 1).into_iter();
            let left: Vec<_> = left.map(|sent| (sent.time, sent.port, sent.bytes)).collect();
            (left, bed.switch.stats())
        };
        let (left, stats) = run();
        prop_assert_eq!(&(left.clone(), stats.clone()), &run());
        let d = stats.drops;
        let mut gone = d.ingress + d.no_such_group + d.no_such_port;
        for port in &stats.ports {
            let (i, o) = (port.inbound.drops, port.outbound.drops);
            gone += i.link.queue_full + i.link.loss + o.link.queue_full + o.link.loss + o.egress + o.priority;
        }
        prop_assert_eq!(left.len() as u64 + gone, arrivals.len() as u64);
        prop_assert!(left.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn no_frame_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100), port in 0u16..600) {
        let mut bed = Testbed::new(&[]);
        let entry = bed.entry("TestIngress.destinations", &[exact(1, 1)], "forward", &[2, 0]);
        bed.apply(Type::Insert, entry).unwrap();
        bed.inject(0, port, &bytes);
        bed.switch.packet_out(Nanos(1), &bytes);
        bed.advance(MS);
    }
}
