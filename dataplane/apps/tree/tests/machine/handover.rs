//! Single scenes of a stream: hosts that are slow, leave or die, and connections that break.

use groupflow_base::Nanos;
use groupflow_tree::machine::*;

use super::forest::SOURCE;
use super::grove::Grove;
use super::streaming::*;

/// A child that takes nothing: its sibling gets all, at once with `Isolate`; with `Wait` as much as the
/// caches hold.
#[test]
fn a_child_that_takes_nothing_holds_its_sibling_back_by_no_more_than_the_cache() {
    for slow in [Slow::Isolate, Slow::Wait] {
        let mut grove = Grove::new(config(slow), never_demoted(), 2);
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
            Slow::Wait => assert_eq!((got, grove.written), (20_000, 20_000)),
            _ => assert_eq!((got, grove.written), (400_000, 400_000)),
        }
        assert_eq!(grove.nodes[&still].count, 0);
    }
}

/// A child at a tenth of its sibling's pace: with `Isolate` the sibling does not notice, and the slow one is
/// cut off.
#[test]
fn a_slow_child_does_not_slow_its_sibling() {
    let mut grove = Grove::new(config(Slow::Isolate), never_demoted(), 2);
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
        // The bytes of a round that it lacks are never more than a socket and a window.
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
    let mut grove = Grove::new(config(Slow::Wait), never_demoted(), 1);
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
        assert!(found.ended && found.count as u64 == grove.written, "{child} read {}", found.count);
    }
}

/// Three connections to a parent all carry parts; two that break are made again; bytes are read in order.
#[test]
fn parallel_connections_share_the_stream_and_are_replaced() {
    let mut grove = Grove::new(config(Slow::Wait), never_demoted(), 2);
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
fn late_bytes_are_skipped_by_whole_records() {
    for slow_reader in [false, true] {
        let mut grove = Grove::new(NodeConfig { align: 100, ..config(Slow::Skip) }, never_demoted(), 2);
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
        // From then on it reads all of the rest.
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

/// A leaving host serves its children until they have other parents, and then goes.
#[test]
fn a_host_that_leaves_is_not_missed() {
    let mut grove = Grove::new(config(Slow::Wait), never_demoted(), 1);
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
        let mut grove = Grove::new(config(Slow::Wait), of_several(8, 2), 1);
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
fn a_leaving_host_is_not_sent_elsewhere() {
    let mut grove = Grove::new(config(Slow::Wait), of_several(8, 2), 1);
    let host = grove.join_from(100, 1, 1);
    grove.settle();
    let found = grove.nodes.get_mut(&host).expect("a host");
    found.node.leave(Nanos::ZERO);
    found.node.on_order(Nanos::ZERO, ToHost::Redirect(found.cluster));
    let said: Vec<NodeAction> = std::iter::from_fn(|| found.node.poll()).collect();
    assert!(said.contains(&NodeAction::Report(FromHost::Leave)), "{said:?}");
    assert!(!said.iter().any(|action| matches!(action, NodeAction::Join(_))), "{said:?}");
}

/// A little is passed on and acknowledged at once, however deep: nothing waits for more to come.
#[test]
fn a_long_chain_never_stands_still() {
    let config = NodeConfig { capacity: 8_000, history: 0, ..config(Slow::Wait) };
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
