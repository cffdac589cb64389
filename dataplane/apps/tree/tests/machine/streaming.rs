//! What nodes do with a stream, while parents die, connections break, and children are slow.

use groupflow_base::Nanos;
use groupflow_transport::fanout::Mode;
use groupflow_tree::machine::{Action, Begin, Demotion, FromHost, HostId, NodeConfig, Policy, Slow, ToHost};
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
    /// A host, and all others of its cluster.
    KillCluster(usize),
    Replace,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..9000_usize).prop_map(Step::Write),
        60 => (any::<usize>(), 0..2_usize, 1..4000_usize).prop_map(|(wire, side, bytes)| Step::Carry(wire, side, bytes)),
        20 => (1..4_usize).prop_map(Step::Deliver),
        20 => (any::<usize>(), 1..9000_usize).prop_map(|(host, bytes)| Step::Read(host, bytes)),
        1 => (0..1000_u64, 1..4_u16, 1..4_u16).prop_map(|(place, capacity, sockets)| Step::Join(place, capacity, sockets)),
        1 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::Kill),
        2 => any::<usize>().prop_map(Step::Break),
        6 => (1..50_u64).prop_map(Step::Pass),
    ]
}

/// The same, with what else happens to several clusters.
fn step_of_several() -> impl Strategy<Value = Step> {
    prop_oneof![
        110 => step(),
        10 => any::<usize>().prop_map(Step::Hurry),
        1 => any::<usize>().prop_map(Step::KillCluster),
        1 => Just(Step::Replace),
    ]
}

fn config(mode: Mode, slow: Slow) -> NodeConfig {
    let never = Nanos(u64::MAX / 4);
    NodeConfig {
        mode,
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
        ..Policy::default()
    }
}

fn never_demoted() -> Policy {
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
        Step::Carry(wire, side, bytes) => drop(grove.carry(wire, side, bytes)),
        Step::Deliver(count) => drop(grove.deliver(count)),
        Step::Read(host, bytes) => drop(other(grove, host).map(|host| grove.read(host, bytes))),
        Step::Join(place, capacity, sockets) => drop(grove.join_at(Begin::Now, place, capacity, sockets)),
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
fn session(
    parts: usize,
    config: NodeConfig,
    policy: Policy,
    hosts: Vec<(u64, u16, u16)>,
    steps: Vec<Step>,
) -> Grove {
    let mut grove = Grove::in_parts(parts, config, policy, 2);
    for (place, capacity, sockets) in hosts {
        grove.join_from(place, capacity, sockets);
        grove.deliver_all();
    }
    grove.settle();
    for step in steps {
        run(&mut grove, step);
    }
    // What does not fit now fits when what was before is read.
    grove.settle();
    // Until then something may be kept for who was sent elsewhere, and a founder waited for; what dispatchers
    // said last may be lost with them, and a question be on its way to one that ends.
    if grove.redirected + grove.replaced > 0 || grove.waits_for_founders() || parts > 1 {
        grove.outlast_patience();
    }
    assert_eq!(grove.write(10_000), 10_000, "the source can not go on {}", grove.show());
    grove.finish();
    grove.settle();
    grove
}

/// In the end nothing is kept for anybody.
fn all_is_forgotten(grove: &Grove) {
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

/// Some serve nobody.
fn host_of_few() -> impl Strategy<Value = (u64, u16, u16)> {
    (host(), any::<bool>())
        .prop_map(|((place, capacity, sockets), serves)| (place, capacity * u16::from(serves), sockets))
}

fn of_several(max_members: usize, max_clusters: usize) -> Policy {
    let threshold = Nanos::from_millis(60);
    Policy { threshold, max_members, max_clusters, settling: Nanos::from_millis(100), ..policy() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// End-to-end: whoever dies or leaves, in whatever order, however slow: those that live read every byte,
    /// once and in order.
    #[test]
    fn no_byte_is_lost_or_doubled(
        hosts in vec((Just(500_u64), 1..4_u16, 1..4_u16), 3..12), steps in vec(step(), 0..600),
    ) {
        let grove = session(1, config(Mode::EndToEnd, Slow::Wait), policy(), hosts, steps);
        all_have_all(&grove)?;
        all_is_forgotten(&grove);
    }

    /// And of several clusters, whose heads die or leave, with all of their hosts or alone; hosts found
    /// clusters, which are put below others; and the dispatchers, which are run by one process or several,
    /// are replaced.
    #[test]
    fn no_byte_is_lost_or_doubled_between_clusters(
        hosts in vec(host(), 3..16), steps in vec(step_of_several(), 0..600),
        max_members in 3..12_usize, max_clusters in 2..5_usize, parts in 1..4_usize,
    ) {
        let policy = of_several(max_members, max_clusters);
        let grove = session(parts, config(Mode::EndToEnd, Slow::Wait), policy, hosts, steps);
        all_have_all(&grove)?;
        all_is_forgotten(&grove);
    }

    /// Where half of the hosts serve nobody some find no room when those that served them die. The others
    /// read every byte.
    #[test]
    fn no_byte_is_lost_or_doubled_of_who_finds_room(
        hosts in vec(host_of_few(), 3..16), steps in vec(step_of_several(), 0..600),
        max_members in 3..12_usize, max_clusters in 2..5_usize, parts in 1..4_usize,
    ) {
        let policy = of_several(max_members, max_clusters);
        let mut grove = session(parts, config(Mode::EndToEnd, Slow::Wait), policy, hosts, steps);
        for host in grove.nodes.iter().filter(|(_, f)| f.refused).map(|(&host, _)| host).collect::<Vec<_>>() {
            grove.kill(host);
        }
        // Others may be sent elsewhere now.
        grove.outlast_patience();
        all_have_all(&grove)?;
        all_is_forgotten(&grove);
    }

    #[test]
    fn what_is_not_waited_for_between_clusters(
        hosts in vec(host(), 3..16), steps in vec(step_of_several(), 0..600),
        max_members in 3..12_usize, max_clusters in 2..5_usize, parts in 1..4_usize,
        mode in proptest::sample::select(vec![Mode::EndToEnd, Mode::NodeToNode]),
        slow in proptest::sample::select(vec![Slow::Isolate, Slow::Skip { align: 100 }, Slow::Skip { align: 6000 }]),
    ) {
        let grove = session(parts, config(mode, slow), of_several(max_members, max_clusters), hosts, steps);
        all_come_to_the_end(&grove, slow)?;
        all_is_forgotten(&grove);
    }

    /// Where slow ones are not waited for: whoever is not cut off comes to the end, and what any reads is the
    /// stream, in order and without a gap that it is not told of.
    #[test]
    fn what_is_not_waited_for_is_cut_off_or_skips(
        hosts in vec((Just(500_u64), 1..4_u16, 1..4_u16), 3..12), steps in vec(step(), 0..600),
        mode in proptest::sample::select(vec![Mode::EndToEnd, Mode::NodeToNode]),
        slow in proptest::sample::select(vec![Slow::Isolate, Slow::Skip { align: 100 }, Slow::Skip { align: 6000 }]),
    ) {
        let grove = session(1, config(mode, slow), policy(), hosts, steps);
        all_come_to_the_end(&grove, slow)?;
        all_is_forgotten(&grove);
    }
}

/// A child that takes nothing: its sibling gets all, at once with `Isolate`; with `Wait` as much as the
/// caches hold.
#[test]
fn a_child_that_takes_nothing_holds_its_sibling_back_by_no_more_than_the_cache() {
    for (mode, slow) in [
        (Mode::NodeToNode, Slow::Isolate),
        (Mode::EndToEnd, Slow::Isolate),
        (Mode::NodeToNode, Slow::Wait),
        (Mode::EndToEnd, Slow::Wait),
    ] {
        let mut grove = Grove::new(config(mode, slow), never_demoted(), 2);
        let (fast, still) = (grove.join(0, 1), grove.join(0, 1));
        grove.deliver_all();
        for _ in 0..20 {
            grove.carry_all(2);
        }
        // The second one's connection carries nothing from now on.
        for _ in 0..400 {
            grove.write(1000);
            grove.carry(0, 1, usize::MAX);
            grove.carry(0, 0, usize::MAX);
            grove.read(fast, usize::MAX);
            grove.pass(Nanos::from_millis(25));
            grove.check();
        }
        let got = grove.nodes[&fast].count;
        match slow {
            Slow::Wait => assert_eq!((got, grove.written), (20_000, 20_000), "{mode:?}"),
            _ => assert_eq!((got, grove.written), (400_000, 400_000), "{mode:?}"),
        }
        assert_eq!(grove.nodes[&still].count, 0);
    }
}

/// A child at a tenth of its sibling's pace: with `Isolate` the sibling does not notice, and the slow one is
/// cut off.
#[test]
fn a_slow_child_does_not_slow_its_sibling() {
    let mut grove = Grove::new(config(Mode::EndToEnd, Slow::Isolate), never_demoted(), 2);
    let (fast, slow) = (grove.join(0, 1), grove.join(0, 1));
    grove.deliver_all();
    for round in 0..400 {
        assert_eq!(grove.write(1000), 1000, "the source is held up");
        grove.carry(0, 1, usize::MAX);
        grove.carry(0, 0, usize::MAX);
        grove.carry(1, 1, 100);
        grove.carry(1, 0, usize::MAX);
        grove.read(fast, usize::MAX);
        grove.read(slow, usize::MAX);
        // What it has not got of a round is never more than a socket and a window.
        assert!(grove.nodes[&fast].count + 4000 >= round * 1000);
        grove.pass(Nanos::from_millis(25));
        grove.check();
    }
    grove.finish();
    grove.settle();
    assert!(grove.nodes[&fast].ended && grove.nodes[&fast].count == 400_000);
    assert!(grove.nodes[&slow].broken && grove.nodes[&slow].count > 1000);
    assert_eq!(grove.nodes[&slow].node.failed(), Some(grove.nodes[&slow].count as u64));
}

/// The parent of two dies while what it had not passed on is nowhere below it: both go on where they were.
#[test]
fn a_stream_goes_on_under_another_parent() {
    for mode in [Mode::EndToEnd, Mode::NodeToNode] {
        let mut grove = Grove::new(config(mode, Slow::Wait), never_demoted(), 1);
        let parent = grove.join(2, 1);
        grove.deliver_all();
        let children = [grove.join(2, 2), grove.join(0, 1)];
        grove.settle();
        // More than a window, less than the history.
        for _ in 0..12 {
            grove.write(1000);
            // From the source to the parent, and no farther: the first connection is theirs.
            grove.carry_all(1);
            grove.pass(Nanos::from_millis(25));
        }
        let had = grove.nodes[&parent].node.received();
        assert!(had > 8_000 && children.iter().all(|child| grove.nodes[child].node.received() == 0));
        grove.kill(parent);
        grove.settle();
        grove.write(5_000);
        grove.finish();
        grove.settle();
        for child in children {
            let found = &grove.nodes[&child];
            assert!(
                found.ended && found.count as u64 == grove.written,
                "{mode:?}: {child} read {}",
                found.count
            );
        }
    }
}

/// Three connections to a parent all carry parts; two that break are made again; what is read is in order.
#[test]
fn parallel_connections_share_the_stream_and_are_replaced() {
    let mut grove = Grove::new(config(Mode::EndToEnd, Slow::Wait), never_demoted(), 2);
    let child = grove.join(0, 3);
    grove.settle();
    assert_eq!(grove.carried(SOURCE, child).len(), 3);
    let turn = |grove: &mut Grove, rounds: usize| {
        for round in 0..rounds {
            grove.write(3000);
            for wire in 0..grove.wires() {
                // Each at another pace, so that what comes is out of order.
                grove.carry(wire, 1, 300 + 500 * ((wire + round) % 3));
                grove.carry(wire, 0, usize::MAX);
            }
            grove.read(child, usize::MAX);
            grove.pass(Nanos::from_millis(25));
        }
    };
    turn(&mut grove, 60);
    let carried = grove.carried(SOURCE, child);
    assert!(carried.iter().all(|&bytes| bytes > 10_000), "{carried:?}");
    grove.break_wire(0);
    grove.break_wire(1);
    assert_eq!(grove.carried(SOURCE, child).len(), 1);
    turn(&mut grove, 60);
    assert_eq!(grove.carried(SOURCE, child).len(), 3);
    grove.finish();
    grove.settle();
    let found = &grove.nodes[&child];
    assert!(found.ended && found.count as u64 == grove.written && grove.written > 100_000);
}

/// With deadlines a slow child goes on later in the stream, at a whole record, and its reader is told; so is
/// a reader that is slow itself, and those below are not held up by it.
#[test]
fn what_is_too_late_is_skipped_by_whole_records() {
    for slow_reader in [false, true] {
        let mut grove = Grove::new(config(Mode::NodeToNode, Slow::Skip { align: 100 }), never_demoted(), 2);
        let (fast, late) = (grove.join(0, 1), grove.join(1, 1));
        grove.deliver_all();
        let below = grove.join(0, 1);
        grove.settle();
        assert_eq!(grove.nodes[&below].node.parent(), Some(late));
        for _ in 0..400 {
            grove.write(1000);
            grove.carry_all(if slow_reader { 3 } else { 1 });
            grove.read(fast, usize::MAX);
            if slow_reader {
                grove.read(below, usize::MAX);
            }
        }
        let found = &grove.nodes[&fast];
        assert!(found.skips == 0 && found.count > 390_000, "{} bytes, {} skips", found.count, found.skips);
        if slow_reader {
            let found = &grove.nodes[&below];
            assert!(
                found.skips == 0 && found.count > 380_000,
                "{} bytes, {} skips",
                found.count,
                found.skips
            );
        }
        // What it reads then is all of the rest.
        let before = grove.nodes[&late].count;
        while grove.nodes[&late].skips == 0 {
            grove.carry_all(3);
            grove.read(late, usize::MAX);
        }
        let from = grove.nodes[&late].at.expect("where it goes on");
        let read = grove.nodes[&late].count - before;
        assert!(from % 100 == 0 && from > 380_000 && read < 20_000, "{from} after {read}");
        grove.finish();
        grove.settle();
        let found = &grove.nodes[&late];
        assert!(found.ended && found.skips == 1 && found.at == Some(400_000), "{} skips", found.skips);
        assert!(grove.nodes[&below].ended);
    }
}

/// Who leaves serves its children until they have other parents, and then goes.
#[test]
fn a_host_that_leaves_is_not_missed() {
    let mut grove = Grove::new(config(Mode::EndToEnd, Slow::Wait), never_demoted(), 1);
    let (parent, child) = (grove.join(1, 1), grove.join(1, 1));
    grove.settle();
    assert_eq!(grove.nodes[&child].node.parent(), Some(parent));
    grove.write(15_000);
    grove.carry_all(2);
    grove.leave(parent);
    grove.carry_all(2);
    assert!(grove.nodes.contains_key(&parent), "its child has no other parent yet");
    grove.settle();
    assert!(!grove.nodes.contains_key(&parent));
    grove.finish();
    grove.settle();
    assert!(grove.nodes[&child].ended && grove.nodes[&child].count == 15_000);
}

/// The head of a cluster dies, and the new one has passed on what a sibling did not get: that becomes the
/// head, and nothing is kept for the dead one in the end.
#[test]
fn a_slower_child_of_a_dead_head_goes_on_where_it_was() {
    for capacity in [0, 2] {
        let mut grove = Grove::new(config(Mode::EndToEnd, Slow::Wait), of_several(8, 2), 1);
        let head = grove.join_from(100, 2, 1);
        grove.settle();
        let (fast, slow) = (grove.join_from(100, 3, 1), grove.join_from(100, capacity, 1));
        grove.settle();
        let parent = |grove: &Grove, host: HostId| grove.nodes[&host].node.parent();
        assert_eq!((parent(&grove, fast), parent(&grove, slow)), (Some(head), Some(head)));
        // The last connection, which is the slow one's, carries nothing.
        for _ in 0..8 {
            grove.write(1000);
            grove.carry_all(2);
            grove.read(fast, usize::MAX);
            grove.pass(Nanos::from_millis(25));
        }
        assert!(grove.nodes[&fast].count > 4000 && grove.nodes[&slow].node.received() == 0);
        grove.kill(head);
        grove.settle();
        grove.finish();
        grove.settle();
        for host in [fast, slow] {
            assert!(grove.nodes[&host].ended && grove.nodes[&host].count == 8000, "{}", grove.show());
        }
        if grove.redirected > 0 {
            grove.outlast_patience();
        }
        all_is_forgotten(&grove);
    }
}

/// A host that is to go does not join another cluster when its own is no more.
#[test]
fn who_leaves_is_not_sent_elsewhere() {
    let mut grove = Grove::new(config(Mode::EndToEnd, Slow::Wait), of_several(8, 2), 1);
    let host = grove.join_from(100, 1, 1);
    grove.settle();
    let found = grove.nodes.get_mut(&host).expect("a host");
    found.node.leave(Nanos::ZERO);
    found.node.on_order(Nanos::ZERO, ToHost::Redirect(found.cluster));
    let said: Vec<Action> = std::iter::from_fn(|| found.node.conns.poll()).collect();
    assert!(said.contains(&Action::Tell(FromHost::Leave)), "{said:?}");
    assert!(!said.iter().any(|action| matches!(action, Action::Join(_))), "{said:?}");
}

/// A little is passed on and acknowledged at once, however deep: nothing waits for more to come.
#[test]
fn a_long_chain_never_stands_still() {
    let config = NodeConfig { capacity: 8_000, history: 0, ..config(Mode::EndToEnd, Slow::Wait) };
    let mut grove = Grove::new(config, never_demoted(), 1);
    for _ in 0..20 {
        grove.join(1, 1);
        grove.deliver_all();
    }
    grove.settle();
    let mut left = 30_000;
    for _ in 0..2000 {
        left -= grove.write(100.min(left));
        grove.carry_all(20);
        for host in 1..=20 {
            grove.read(HostId(host), usize::MAX);
        }
        grove.pass(Nanos::from_millis(10));
    }
    assert_eq!(left, 0);
    grove.settle();
    assert!((1..=20).all(|host| grove.nodes[&HostId(host)].count == 30_000));
    assert_eq!(grove.nodes[&SOURCE].node.held(), 0);
}
