//! Edges whose DATA are datagrams, which are lost, come twice and in any order: readers get whole records,
//! each as it was written and in order, and are told of missing ones.

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    Demotion, Hello, HostId, NodeConfig, Policy, ReadItem, Slow, StartAt, TreeFrame, TreeNode,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::forest::SOURCE;
use super::grove::{byte, Grove, MIDDLE};
use super::one_node::{actions, connect, expect, hear, GOOD, TICKET};

const WAIT: Nanos = Nanos::from_millis(20);

fn config(align: u64) -> NodeConfig {
    let never = Nanos(u64::MAX / 4);
    NodeConfig {
        slow: Slow::Skip { align },
        capacity: 40_000,
        history: 20_000,
        window: 8_000,
        slow_after: 4_000,
        silence: never,
        alive: Nanos::from_millis(20),
        stall: never,
        patience: Nanos::from_millis(100_000),
        keep: Nanos::from_millis(1_000_000),
        datagrams: Some(WAIT),
        ..NodeConfig::new(SOURCE)
    }
}

fn policy() -> Policy {
    Policy {
        threshold: Nanos::from_millis(60),
        max_children: 4,
        demotion: Demotion::Never,
        patience: Nanos(u64::MAX / 4),
        ..Policy::default()
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Write(usize),
    Land(usize, bool),
    Lose(usize),
    Carry(usize, usize),
    Deliver(usize),
    Read(usize, usize),
    Kill(usize),
    Leave(usize),
    Break(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (1..3000_usize).prop_map(Step::Write),
        60 => (any::<usize>(), proptest::bool::weighted(0.1)).prop_map(|(n, again)| Step::Land(n, again)),
        6 => any::<usize>().prop_map(Step::Lose),
        20 => (any::<usize>(), 0..2_usize).prop_map(|(wire, side)| Step::Carry(wire, side)),
        10 => (1..4_usize).prop_map(Step::Deliver),
        20 => (any::<usize>(), 1..9000_usize).prop_map(|(host, bytes)| Step::Read(host, bytes)),
        1 => any::<usize>().prop_map(Step::Kill),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => any::<usize>().prop_map(Step::Break),
        10 => (1..30_u64).prop_map(Step::Pass),
    ]
}

fn other(grove: &Grove, n: usize) -> Option<HostId> {
    let others: Vec<HostId> = grove.nodes.keys().copied().filter(|&host| host != SOURCE).collect();
    (!others.is_empty()).then(|| others[n % others.len()])
}

fn run(grove: &mut Grove, step: Step) {
    let many = grove.nodes.len() > 4;
    match step {
        Step::Write(bytes) => drop(grove.write(bytes)),
        Step::Land(n, again) => drop(grove.land(n, again)),
        Step::Lose(n) => grove.lose(n),
        Step::Carry(wire, side) => drop(grove.carry(wire, side, usize::MAX)),
        Step::Deliver(count) => drop(grove.deliver(count)),
        Step::Read(host, bytes) => drop(other(grove, host).map(|host| grove.read(host, bytes))),
        Step::Kill(host) => drop(other(grove, host).filter(|_| many).map(|host| grove.kill(host))),
        Step::Leave(host) => drop(other(grove, host).filter(|_| many).map(|host| grove.leave(host))),
        Step::Break(wire) => grove.break_wire(wire),
        Step::Pass(ms) => grove.pass(Nanos::from_millis(ms)),
    }
    grove.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Datagrams and hosts have any fate; some hosts take streams, and some get no datagrams through.
    /// `Grove::read` compares every byte.
    #[test]
    fn readers_get_whole_records_and_are_told_of_holes(
        align in proptest::sample::select(vec![1_u64, 100, 1500]), blocked in proptest::bool::weighted(0.3),
        hosts in vec((1..4_u16, proptest::bool::weighted(0.3), any::<bool>()), 3..10),
        steps in vec(step(), 0..600),
    ) {
        let mut grove = Grove::new(config(align), policy(), 2);
        grove.blocks_datagrams = blocked;
        let mut streams = Vec::new();
        for (capacity, stream, now) in hosts {
            let datagrams = Some(WAIT).filter(|_| !stream);
            let begin = if now { StartAt::Now } else { StartAt::Offset(0) };
            let host = grove.join_with(NodeConfig { datagrams, ..config(align) }, begin, MIDDLE, capacity);
            streams.extend(stream.then_some(host));
            grove.deliver_all();
        }
        grove.settle();
        for step in steps {
            run(&mut grove, step);
        }
        grove.settle();
        // A whole record, so that a reader that lost all of the others goes on with it.
        grove.write(10_000);
        grove.finish();
        grove.settle();
        for (&host, found) in grove.nodes.iter().filter(|(&host, _)| host != SOURCE) {
            prop_assert!(found.ended && !found.broken, "{} of {:?}", host, found.node.parent());
            prop_assert!(found.at.map_or(true, |at| at == grove.written), "{}: {:?}", host, found.at);
            if !streams.contains(&host) && !blocked {
                let cut: Vec<_> = found.skipped_at.iter().filter(|&at| at % align != 0).collect();
                prop_assert!(cut.is_empty(), "{} got part of a record before {:?}", host, cut);
            }
        }
        let kept = grove.nodes.values().any(|found| found.node.keeps_for_departed());
        prop_assert!(!kept && grove.nodes[&SOURCE].node.is_complete());
    }

    /// Without loss no reader misses a byte, however datagrams are mixed.
    #[test]
    fn datagrams_that_are_not_lost_are_read(
        count in 1..10_usize,
        writes in vec((1..3000_usize, vec((any::<usize>(), any::<bool>()), 0..20)), 1..40),
    ) {
        let mut grove = Grove::new(config(100), policy(), 2);
        let hosts: Vec<HostId> = (0..count).map(|_| {
            let host = grove.join(2, 1);
            grove.deliver_all();
            host
        }).collect();
        grove.settle();
        for (bytes, landings) in writes {
            grove.write(bytes);
            for (n, again) in landings {
                grove.land(n, again);
            }
            // All within the time that is waited for.
            grove.land_all();
            hosts.iter().for_each(|&host| while grove.read(host, usize::MAX) {});
            grove.check();
        }
        grove.finish();
        grove.settle();
        for host in hosts {
            let found = &grove.nodes[&host];
            prop_assert!(found.ended && found.skips == 0 && found.count as u64 == grove.written, "{}", host);
        }
    }
}

/// A hole near the source costs those below no more time than those above: bytes behind it are relayed at
/// once.
#[test]
fn a_hole_does_not_hold_up_those_below() {
    let mut grove = Grove::new(config(100), Policy { max_children: 1, ..policy() }, 1);
    let hosts: Vec<HostId> = (0..10)
        .map(|_| {
            let host = grove.join(1, 1);
            grove.settle();
            host
        })
        .collect();
    let last = hosts[9];
    let depth = |grove: &Grove| {
        let mut depth = 0;
        let mut at = last;
        while let Some(parent) = grove.nodes[&at].node.parent() {
            (at, depth) = (parent, depth + 1);
        }
        depth
    };
    assert_eq!(depth(&grove), 10);
    // The first is lost on the first edge.
    grove.write(100);
    grove.lose(0);
    grove.write(400);
    while grove.land(0, false) {}
    grove.pass(WAIT);
    while grove.read(last, usize::MAX) {}
    let found = &grove.nodes[&last];
    assert_eq!((found.count, found.skips, found.at), (400, 1, Some(500)));
    assert_eq!(found.node.missing(), 100);
}

/// A parent tells its owner that a child takes datagrams, and sends it nothing else than the end; nothing
/// waits for that child.
#[test]
fn a_child_that_takes_datagrams_holds_nothing_up() {
    let deadline = Nanos::from_millis(50);
    let hello = TreeFrame::Hello(Hello {
        child: GOOD,
        ticket: TICKET,
        edge: 1,
        begin: StartAt::Offset(0),
        needed: 0,
        room: 10,
        deadline: Some(deadline),
    });
    let mut node =
        TreeNode::source(NodeConfig { slow: Slow::Skip { align: 100 }, ..super::one_node::config() });
    expect(&mut node, GOOD);
    let conn = connect(&mut node, Nanos::ZERO, &hello);
    assert!(actions(&mut node).contains(&groupflow_tree::machine::NodeAction::Datagrams { conn, deadline }));
    for round in 0..100 {
        let bytes: Vec<u8> = (round * 2500..(round + 1) * 2500).map(byte).collect();
        assert_eq!(node.write(Nanos::ZERO, &bytes), 2500, "the source is held up");
        let sent: Vec<_> = std::iter::from_fn(|| node.poll_datagram()).collect();
        let lengths: Vec<usize> = sent.iter().map(|datagram| datagram.bytes.len()).collect();
        assert_eq!(lengths, [1100, 1100, 300], "whole records");
        assert!(sent.iter().all(|datagram| datagram.to == [conn]));
        assert_eq!(sent.into_iter().flat_map(|datagram| datagram.bytes).collect::<Vec<u8>>(), bytes);
    }
    // No owner asks for the datagrams: they do not pile up.
    for _ in 0..100 {
        node.write(Nanos::ZERO, &[1; 10_000]);
    }
    assert!(node.dropped() > 300, "{} were dropped", node.dropped());
    let waiting: usize =
        std::iter::from_fn(|| node.poll_datagram()).map(|datagram| datagram.bytes.len()).sum();
    assert!(waiting <= 512 << 10);
    node.finish(Nanos::ZERO);
    let said = hear(&mut node, Nanos::ZERO, conn);
    assert_eq!(said, [TreeFrame::Welcome { begin: 0 }, TreeFrame::End { length: 1_250_000 }]);
}

/// A child that begins now, and loses only the first bytes, begins with a record and is told of no hole.
#[test]
fn a_late_child_begins_with_the_next_bytes() {
    let mut grove = Grove::new(config(100), policy(), 2);
    let first = grove.join(1, 1);
    grove.settle();
    grove.write(550);
    grove.settle();
    let late = grove.join_at(StartAt::Now, MIDDLE, 0, 1);
    grove.settle();
    grove.write(450);
    grove.finish();
    grove.settle();
    assert_eq!(grove.nodes[&first].count, 1000);
    let found = &grove.nodes[&late];
    assert_eq!((found.count, found.skips, found.at, found.ended), (400, 0, Some(1000), true));
    assert_eq!(found.node.missing(), 0);
    assert!(!matches!(
        grove.nodes.get_mut(&late).expect("there").node.read(Nanos::ZERO, 1),
        Some(ReadItem::Bytes(_))
    ));
}
