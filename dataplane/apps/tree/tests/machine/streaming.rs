//! Random streams over nodes, while parents die, connections break, and children are slow.

use groupflow_base::Nanos;
use groupflow_tree::machine::{Demotion, HostId, NodeConfig, Policy, Slow, StartAt};
use proptest::collection::vec;
use proptest::prelude::*;

use super::forest::SOURCE;
use super::grove::Grove;

#[derive(Debug, Clone, Copy)]
enum Step {
    Write(usize),
    Carry(usize, usize, usize),
    Deliver(usize),
    Read(usize, usize),
    Join(u64, u16, u16),
    Leave(usize),
    Kill(usize),
    Break(usize),
    Pass(u64),
    /// One host's news, before those of others.
    Hurry(usize),
    /// A host is as far from the others as if it were at this place.
    Place(usize, u64),
    /// A host, and all others of its cluster.
    KillCluster(usize),
    Replace,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..9000_usize).prop_map(Step::Write),
        60 => (any::<usize>(), 0..2_usize, 1..4000_usize)
            .prop_map(|(wire, side, bytes)| Step::Carry(wire, side, bytes)),
        20 => (1..4_usize).prop_map(Step::Deliver),
        20 => (any::<usize>(), 1..9000_usize).prop_map(|(host, bytes)| Step::Read(host, bytes)),
        1 => (0..1000_u64, 1..4_u16, 1..4_u16)
            .prop_map(|(place, capacity, sockets)| Step::Join(place, capacity, sockets)),
        1 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::Kill),
        2 => any::<usize>().prop_map(Step::Break),
        6 => (1..50_u64).prop_map(Step::Pass),
        2 => (any::<usize>(), 0..1000_u64).prop_map(|(host, place)| Step::Place(host, place)),
    ]
}

/// A step, or an event that several clusters can have besides.
fn step_of_several() -> impl Strategy<Value = Step> {
    prop_oneof![
        110 => step(),
        10 => any::<usize>().prop_map(Step::Hurry),
        1 => any::<usize>().prop_map(Step::KillCluster),
        1 => Just(Step::Replace),
    ]
}

pub fn config(slow: Slow) -> NodeConfig {
    let never = Nanos(u64::MAX / 4);
    NodeConfig {
        slow,
        capacity: 20_000,
        history: 20_000,
        window: 8_000,
        slow_after: 4_000,
        // Connections, readers and orders here are as slow as can be without being dead.
        silence: never,
        alive: Nanos::from_millis(20),
        stall: never,
        patience: Nanos::from_millis(100_000),
        keep: Nanos::from_millis(150_000),
        ..NodeConfig::new(SOURCE)
    }
}

fn policy() -> Policy {
    Policy {
        // One cluster, wherever hosts are.
        threshold: Nanos::from_millis(2000),
        max_children: 4,
        demotion: Demotion::Slowest,
        patience: Nanos::from_millis(100_000),
        review: Nanos::from_millis(200),
        ..Policy::default()
    }
}

pub fn never_demoted() -> Policy {
    Policy { demotion: Demotion::Never, ..policy() }
}

fn other(grove: &Grove, n: usize) -> Option<HostId> {
    let others: Vec<HostId> = grove.nodes.keys().copied().filter(|&host| host != SOURCE).collect();
    (!others.is_empty()).then(|| others[n % others.len()])
}

fn run(grove: &mut Grove, step: Step) {
    // Some are to be left.
    let many = grove.nodes.len() > 4;
    match step {
        Step::Write(bytes) => drop(grove.write(bytes)),
        Step::Place(n, place) => other(grove, n).into_iter().for_each(|host| grove.place(host, place)),
        Step::Carry(wire, side, bytes) => drop(grove.carry(wire, side, bytes)),
        Step::Deliver(count) => drop(grove.deliver(count)),
        Step::Read(host, bytes) => drop(other(grove, host).map(|host| grove.read(host, bytes))),
        Step::Join(place, capacity, sockets) => drop(grove.join_at(StartAt::Now, place, capacity, sockets)),
        Step::Leave(host) => drop(other(grove, host).filter(|_| many).map(|host| grove.leave(host))),
        Step::Kill(host) => drop(other(grove, host).filter(|_| many).map(|host| grove.kill(host))),
        Step::Break(wire) => grove.break_wire(wire),
        Step::Pass(ms) => grove.pass(Nanos::from_millis(ms)),
        Step::Hurry(host) => drop(other(grove, host).map(|host| grove.hurry(host))),
        Step::KillCluster(host) => {
            let cluster = other(grove, host).filter(|_| many).map(|host| grove.nodes[&host].cluster);
            let doomed = grove.nodes.iter().filter(|(&host, n)| host != SOURCE && Some(n.cluster) == cluster);
            for host in doomed.map(|(&host, _)| host).collect::<Vec<_>>() {
                grove.kill(host);
            }
        }
        Step::Replace => grove.replace(),
    }
    grove.check();
}

/// Hosts that join before there is anything to miss, then whatever happens, then the end.
fn session(config: NodeConfig, policy: Policy, hosts: Vec<(u64, u16, u16)>, steps: Vec<Step>) -> Grove {
    let mut grove = Grove::new(config, policy, 2);
    for (place, capacity, sockets) in hosts {
        grove.join_from(place, capacity, sockets);
        grove.deliver_all();
    }
    grove.settle();
    for step in steps {
        run(&mut grove, step);
    }
    // Bytes that do not fit now fit when earlier ones are read.
    grove.settle();
    // Until then something may be kept for a host that was sent elsewhere, and a founder waited for; what
    // dispatchers said last may be lost with them.
    if grove.redirected + grove.replaced > 0 || grove.waits_for_founders() {
        grove.outlast_patience();
    }
    assert_eq!(grove.write(10_000), 10_000, "the source can not go on {}", grove.show());
    grove.finish();
    grove.settle();
    grove
}

/// In the end nothing is kept for anybody.
pub fn all_is_forgotten(grove: &Grove) {
    for (host, found) in &grove.nodes {
        assert!(!found.node.keeps_for_departed(), "{host} keeps something {}", grove.show());
    }
    assert!(grove.nodes[&SOURCE].node.is_complete(), "the source waits for somebody {}", grove.show());
}

/// All that live have read every byte that was written since they began.
fn all_have_all(grove: &Grove) -> Result<(), TestCaseError> {
    for (&host, found) in grove.nodes.iter().filter(|(&host, _)| host != SOURCE) {
        prop_assert!(found.node.failed().is_none(), "{} broke off {}", host, grove.show());
        let (at, parent) = (found.at.unwrap_or(grove.written), found.node.parent());
        prop_assert_eq!(at, grove.written, "{} of {:?} {}", host, parent, grove.show());
        prop_assert!(found.ended && found.skips == 0, "{} of {:?} {}", host, parent, grove.show());
    }
    Ok(())
}

/// All that live and are not cut off have come to the end.
fn all_come_to_the_end(grove: &Grove, slow: Slow) -> Result<(), TestCaseError> {
    for (&host, found) in grove.nodes.iter().filter(|(&host, _)| host != SOURCE) {
        let over = match slow {
            Slow::Isolate => found.skips == 0 && found.ended != found.broken,
            _ => found.ended && !found.broken,
        };
        prop_assert!(over, "{} of {:?}\n{}", host, found.node.parent(), grove.show());
    }
    Ok(())
}

/// Of islands: a host's place, what it offers, and its connections.
fn host() -> impl Strategy<Value = (u64, u16, u16)> {
    let place = prop_oneof![400..600_u64, Just(100), Just(120), Just(900), 0..1000_u64];
    (place, 1..4_u16, 1..4_u16)
}

/// A host that perhaps serves no child.
fn host_of_few() -> impl Strategy<Value = (u64, u16, u16)> {
    (host(), any::<bool>())
        .prop_map(|((place, capacity, sockets), serves)| (place, capacity * u16::from(serves), sockets))
}

/// Treatments of slow hosts, and bytes of a record.
fn not_waited_for() -> impl Strategy<Value = (Slow, u64)> {
    proptest::sample::select(vec![(Slow::Isolate, 1), (Slow::Skip, 100), (Slow::Skip, 6000)])
}

pub fn of_several(max_members: usize, max_clusters: usize) -> Policy {
    let threshold = Nanos::from_millis(60);
    Policy { threshold, max_members, max_clusters, settling: Nanos::from_millis(100), ..policy() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// End-to-end: hosts die and leave, in any order and however slow. The living hosts read every byte, once
    /// and in order.
    #[test]
    fn no_byte_is_lost_or_doubled(
        hosts in vec((Just(500_u64), 1..4_u16, 1..4_u16), 3..12), steps in vec(step(), 0..600),
    ) {
        let grove = session(config(Slow::Wait), policy(), hosts, steps);
        all_have_all(&grove)?;
        all_is_forgotten(&grove);
    }

    /// And of several clusters, whose heads die or leave, with all of their hosts or alone; hosts found
    /// clusters, which are put below others; and the dispatchers are replaced.
    #[test]
    fn no_byte_is_lost_or_doubled_between_clusters(
        hosts in vec(host(), 3..16), steps in vec(step_of_several(), 0..600),
        max_members in 3..12_usize, max_clusters in 2..5_usize,
    ) {
        let policy = of_several(max_members, max_clusters);
        let grove = session(config(Slow::Wait), policy, hosts, steps);
        all_have_all(&grove)?;
        all_is_forgotten(&grove);
    }

    /// Half of the hosts serve no child, so some find no room when their parents die. The others read every
    /// byte.
    #[test]
    fn no_byte_is_lost_or_doubled_at_hosts_that_find_room(
        hosts in vec(host_of_few(), 3..16), steps in vec(step_of_several(), 0..600),
        max_members in 3..12_usize, max_clusters in 2..5_usize,
    ) {
        let policy = of_several(max_members, max_clusters);
        let mut grove = session(config(Slow::Wait), policy, hosts, steps);
        for host in grove.nodes.iter().filter(|(_, f)| f.refused).map(|(&host, _)| host).collect::<Vec<_>>() {
            grove.kill(host);
        }
        // Others may be sent elsewhere now.
        grove.outlast_patience();
        all_have_all(&grove)?;
        all_is_forgotten(&grove);
    }

    #[test]
    fn hosts_not_waited_for_between_clusters(
        hosts in vec(host(), 3..16), steps in vec(step_of_several(), 0..600),
        max_members in 3..12_usize, max_clusters in 2..5_usize,
        (slow, align) in not_waited_for(),
    ) {
        let grove = session(
            NodeConfig { align, ..config(slow) }, of_several(max_members, max_clusters), hosts, steps,
        );
        all_come_to_the_end(&grove, slow)?;
        all_is_forgotten(&grove);
    }

    /// Slow hosts are not waited for. A host that is not cut off comes to the end, and every host reads the
    /// stream in order, without a gap that it is not told of.
    #[test]
    fn hosts_not_waited_for_are_cut_off_or_skip(
        hosts in vec((Just(500_u64), 1..4_u16, 1..4_u16), 3..12), steps in vec(step(), 0..600),
        (slow, align) in not_waited_for(),
    ) {
        let grove = session(NodeConfig { align, ..config(slow) }, policy(), hosts, steps);
        all_come_to_the_end(&grove, slow)?;
        all_is_forgotten(&grove);
    }
}
