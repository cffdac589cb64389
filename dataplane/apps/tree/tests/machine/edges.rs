//! One node and peers that say whatever they like: which peers are served, which are refused and why, and
//! that the others are unharmed.

use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::*;

use super::one_node::*;

#[test]
fn a_peer_with_a_wrong_frame_is_refused_and_told_why() {
    let wrong = TreeFrame::Hello(Hello {
        child: BAD,
        ticket: Ticket(8),
        edge: 1,
        begin: StartAt::Now,
        needed: 0,
        room: 1,
    });
    let taken = TreeFrame::Taken { taken: 5, needed: 5 };
    let data = TreeFrame::Data { offset: 0, bytes: vec![1] };
    let good = hello(BAD, 1, StartAt::Now);
    // The frames that a peer sends over one connection, and the reason of the refusal.
    let cases: [(&str, Vec<TreeFrame>, Reason); 9] = [
        ("another ticket", vec![wrong], Reason::Unexpected),
        ("another host", vec![hello(HostId(9), 1, StartAt::Now)], Reason::Unexpected),
        ("no HELLO", vec![taken], Reason::BadFrame),
        ("nothing but a sign of life", vec![TreeFrame::Alive], Reason::BadFrame),
        ("what is gone", vec![hello(BAD, 1, StartAt::Offset(999))], Reason::Gone),
        ("HELLO again", vec![good.clone(), good.clone()], Reason::BadFrame),
        ("DATA to the parent", vec![good.clone(), data], Reason::BadFrame),
        ("COMPLETE before the end", vec![good.clone(), TreeFrame::Complete], Reason::BadFrame),
        ("the end to the parent", vec![good, TreeFrame::End { length: 1 }], Reason::BadFrame),
    ];
    for (name, frames, reason) in cases {
        let now = Nanos::ZERO;
        let mut node = source(Slow::Wait, 1000);
        let other = connect(&mut node, now, &hello(GOOD, 1, StartAt::Now));
        let conn = node.on_accepted(now).expect("room");
        frames.iter().for_each(|frame| say(&mut node, now, conn, frame));
        assert_eq!(hear(&mut node, now, conn).last(), Some(&TreeFrame::Refused(reason)), "{name}");
        assert!(actions(&mut node).contains(&NodeAction::Close(conn)), "{name}");
        node.on_closed(now, conn);
        // The other one does not notice.
        node.write(now, b"more");
        let data = TreeFrame::Data { offset: 1000, bytes: b"more".to_vec() };
        assert_eq!(hear(&mut node, now, other), [TreeFrame::Welcome { begin: 1000 }, data], "{name}");
    }
}

#[test]
fn a_child_has_so_many_connections_and_a_node_so_many_children() {
    let now = Nanos::ZERO;
    let mut node = source(Slow::Wait, 0);
    let welcome = [TreeFrame::Welcome { begin: 0 }];
    let conns = [(GOOD, 1), (GOOD, 1), (BAD, 1)]
        .map(|(c, edge)| connect(&mut node, now, &hello(c, edge, StartAt::Now)));
    conns.iter().for_each(|&conn| assert_eq!(hear(&mut node, now, conn), welcome));
    let third = connect(&mut node, now, &hello(GOOD, 1, StartAt::Now));
    assert_eq!(hear(&mut node, now, third), [TreeFrame::Refused(Reason::TooMany)]);
    expect(&mut node, HostId(4));
    let fourth = connect(&mut node, now, &hello(HostId(4), 1, StartAt::Now));
    assert_eq!(hear(&mut node, now, fourth), [TreeFrame::Refused(Reason::TooMany)]);
    // Another edge takes the place of the one before, whose connections are closed.
    actions(&mut node);
    let again = connect(&mut node, now, &hello(GOOD, 2, StartAt::Now));
    assert_eq!(hear(&mut node, now, again), welcome);
    assert_eq!(actions(&mut node), [NodeAction::Close(conns[0]), NodeAction::Close(conns[1])]);
    // A silent stranger is not kept for ever, however many come.
    let strangers = std::iter::from_fn(|| node.on_accepted(now)).take(1000).count();
    assert!(strangers < 30, "{strangers}");
    let crowd: Vec<ConnId> = node.crowd().collect();
    assert_eq!(crowd.len(), strangers, "one of them is to give way, and no child");
    assert!(crowd.windows(2).all(|two| two[0] < two[1]), "the oldest first");
    let later = Nanos(config().silence.0);
    say(&mut node, later, again, &TreeFrame::Alive);
    node.on_time(later);
    assert!(node.on_accepted(later).is_some());
    assert_eq!(node.children().collect::<Vec<_>>(), [GOOD]);
}

/// The first frame of a distant peer takes two round trips, and a lost one is sent again after more than one.
#[test]
fn a_distant_peer_may_be_silent_longer() {
    let silence = config().silence;
    let round_trip = Nanos(2 * silence.0);
    let long = silence + Nanos(2 * round_trip.0);
    let silent = |known: bool| {
        let mut node = source(Slow::Wait, 0);
        let conn = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, StartAt::Now));
        if known {
            node.on_round_trip(conn, round_trip);
        }
        node
    };
    for (mut node, given_up) in [(silent(false), silence), (silent(true), long)] {
        while node.deadline() < given_up {
            let now = node.deadline();
            node.on_time(now);
            assert_eq!(node.children().count(), 1, "{now:?}");
        }
        node.on_time(given_up);
        assert_eq!(node.children().count(), 0);
    }
    // A parent that is not connected yet counts as far away as the dispatchers, or as hosts that were
    // measured.
    for (far, given_up) in
        [(Nanos::ZERO, silence), (round_trip, long), (Nanos(u64::MAX), Nanos::from_millis(4600))]
    {
        let mut node = TreeNode::new(config(), StartAt::Now);
        if far == round_trip {
            node.on_measured(&[(BAD, Nanos::ZERO), (GOOD, silence)]);
        } else {
            node.on_dispatchers_measured(far);
        }
        let parent = Peer { host: GOOD, address: SocketAddr::from(([10, 0, 0, 1], 5)) };
        node.on_order(Nanos::ZERO, ToHost::Place { order: 1, parent, ticket: TICKET });
        assert!(matches!(actions(&mut node)[..], [.., NodeAction::Connect { .. }]));
        let lost = |node: &mut TreeNode| {
            actions(node)
                .into_iter()
                .any(|action| matches!(action, NodeAction::Report(FromHost::Lost { .. })))
        };
        node.on_time(Nanos(given_up.0 - 1));
        assert!(!lost(&mut node), "{far:?}");
        node.on_time(given_up);
        assert!(lost(&mut node), "{far:?}");
    }
}

#[test]
fn a_parent_that_says_something_wrong_is_left() {
    let data = |offset, count| TreeFrame::Data { offset, bytes: vec![1; count] };
    // Whether it is served already; the parent's frame; whether the dispatcher is told that the next bytes
    // are gone.
    let cases: [(&str, bool, TreeFrame, bool); 8] = [
        ("DATA before WELCOME", false, data(0, 10), false),
        ("gone", false, TreeFrame::Refused(Reason::Gone), true),
        ("overtaken", true, TreeFrame::Refused(Reason::Overtaken), true),
        ("it leaves", true, TreeFrame::Refused(Reason::Leaving), false),
        ("beyond the limit", true, data(7_999, 2), false),
        ("beyond the longest stream", true, data(u64::MAX, 1), false),
        ("HELLO", true, hello(BAD, 1, StartAt::Now), false),
        ("COMPLETE", true, TreeFrame::Complete, false),
    ];
    for (name, is_served, frame, is_gone) in cases {
        let (mut node, conn) = if is_served { served() } else { below() };
        say(&mut node, Nanos::ZERO, conn, &frame);
        let told = actions(&mut node);
        let lost = NodeAction::Report(FromHost::Lost { order: 1, gone: is_gone });
        assert!(told.contains(&lost) && told.contains(&NodeAction::Close(conn)), "{name}: {told:?}");
        assert_eq!((node.parent(), node.failed()), (None, None), "{name}");
    }
}

/// When one of several connections is refused, the others serve the host; when the last one is, none does.
#[test]
fn a_host_without_connections_is_put_elsewhere() {
    let now = Nanos::ZERO;
    for reason in [Reason::Unexpected, Reason::TooMany] {
        for breaks in [false, true] {
            let (mut node, first) = below_with(NodeConfig { sockets: 2, ..config() });
            say(&mut node, now, first, &TreeFrame::Welcome { begin: 0 });
            let asked = |action: &NodeAction| matches!(action, NodeAction::Connect { .. });
            let Some(NodeAction::Connect { conn: second, .. }) = actions(&mut node).into_iter().find(asked)
            else {
                panic!("it connects again")
            };
            node.on_connected(now, second);
            if breaks {
                node.on_closed(now, first);
                assert_eq!((actions(&mut node), node.parent()), (vec![], Some(HostId(0))));
            }
            say(&mut node, now, second, &TreeFrame::Refused(reason));
            let lost = NodeAction::Report(FromHost::Lost { order: 1, gone: false });
            let told = actions(&mut node);
            assert_eq!(told.contains(&lost), breaks, "{reason:?}: {told:?}");
            assert_eq!(node.parent().is_none(), breaks, "{reason:?}");
        }
    }
}

/// A need that has moved on by much is told at once, and otherwise soon; a child that moved is not waited
/// for.
#[test]
fn a_parent_hears_what_is_still_needed() {
    let (mut node, conn) = served();
    expect(&mut node, GOOD);
    let child = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, StartAt::Offset(0)));
    let mut now = Nanos::ZERO;
    let mut said = |node: &mut TreeNode, frame: Option<(ConnId, TreeFrame)>, millis: u64| {
        now += Nanos::from_millis(millis);
        node.on_time(now);
        frame.into_iter().for_each(|(conn, frame)| say(node, now, conn, &frame));
        hear(node, now, conn).into_iter().filter(|frame| *frame != TreeFrame::Alive).collect::<Vec<_>>()
    };
    let taken = |taken, needed| vec![TreeFrame::Taken { taken, needed }];
    assert_eq!(said(&mut node, Some((conn, TreeFrame::Data { offset: 0, bytes: vec![1; 500] })), 0), []);
    assert_eq!(said(&mut node, None, 19), []);
    assert_eq!(said(&mut node, None, 1), taken(500, 0));
    assert_eq!(
        said(&mut node, Some((conn, TreeFrame::Data { offset: 500, bytes: vec![1; 1500] })), 0),
        taken(2000, 0)
    );
    assert_eq!(
        said(&mut node, Some((child, TreeFrame::Taken { taken: 1800, needed: 1500 })), 0),
        taken(2000, 1500)
    );
    assert_eq!(said(&mut node, Some((child, TreeFrame::Moved)), 0), []);
    assert_eq!(said(&mut node, None, 20), taken(2000, 2000));
    assert_eq!((node.children().count(), node.keeps_for_departed()), (0, false));
}

/// A host that needs no early bytes itself serves a child that does, from its history: but not where all are
/// waited for, as no host above would have these bytes any more if this host died.
#[test]
fn a_child_that_is_behind_is_served_from_the_history_unless_all_are_waited_for() {
    let now = Nanos::ZERO;
    for (slow, serves) in [(Slow::Wait, false), (Slow::Isolate, true), (Slow::Skip, true)] {
        let (mut node, conn) = served_with(NodeConfig { slow, history: 10_000, ..config() });
        say(&mut node, now, conn, &TreeFrame::Data { offset: 0, bytes: vec![1; 2000] });
        assert_eq!(hear(&mut node, now, conn), [TreeFrame::Taken { taken: 2000, needed: 2000 }], "{slow:?}");
        expect(&mut node, GOOD);
        let child = connect(&mut node, now, &hello(GOOD, 1, StartAt::Offset(500)));
        let data = TreeFrame::Data { offset: 500, bytes: vec![1; 1500] };
        let welcome = vec![TreeFrame::Welcome { begin: 500 }, data];
        let refused = vec![TreeFrame::Refused(Reason::Gone)];
        assert_eq!(hear(&mut node, now, child), if serves { welcome } else { refused }, "{slow:?}");
    }
}

/// A child without connections is kept for until it is forgotten, and one that comes again goes on where it
/// was.
#[test]
fn bytes_that_a_departed_child_did_not_say_to_have_are_kept() {
    let now = Nanos::ZERO;
    for (name, then) in [("forgotten", Some(ToHost::Forget { child: GOOD })), ("kept too long", None)] {
        let mut node = source(Slow::Wait, 0);
        let conn = connect(&mut node, now, &hello(GOOD, 1, StartAt::Offset(0)));
        node.write(now, &[1; 3000]);
        hear(&mut node, now, conn);
        say(&mut node, now, conn, &TreeFrame::Taken { taken: 2500, needed: 1000 });
        node.on_closed(now, conn);
        assert_eq!((node.held(), node.keeps_for_departed()), (2000, true), "{name}");
        // A connection of the same edge that was asked for long ago: later messages count.
        let conn = connect(&mut node, now, &hello(GOOD, 1, StartAt::Offset(0)));
        let frames = hear(&mut node, now, conn);
        assert_eq!(
            frames,
            [TreeFrame::Welcome { begin: 2500 }, TreeFrame::Data { offset: 2500, bytes: vec![1; 500] }]
        );
        node.on_closed(now, conn);
        // A child that needs bytes which were not kept is told so.
        expect(&mut node, BAD);
        let other = connect(&mut node, now, &hello(BAD, 1, StartAt::Offset(999)));
        assert_eq!(hear(&mut node, now, other), [TreeFrame::Refused(Reason::Gone)]);
        match then {
            Some(order) => node.on_order(now, order),
            None => {
                node.on_time(now + (config().keep - Nanos(1)));
                assert_eq!(node.held(), 2000);
                node.on_time(now + config().keep);
            }
        }
        assert_eq!((node.held(), node.keeps_for_departed()), (0, false), "{name}");
    }
}

/// The child comes from a farther parent, and reaches the offset that this node needed when told of it.
#[test]
fn a_child_that_is_behind_is_waited_for_while_it_is_on_its_way() {
    for (comes, is_served, others) in [(500, true, 0), (700, false, 0), (500, true, 1)] {
        let (mut node, conn) = served_with(NodeConfig { history: 20_000, ..config() });
        expect(&mut node, GOOD);
        // Another child that is expected after it, and no more, ends no wait for this one.
        for _ in 0..others {
            expect(&mut node, BAD);
            node.on_order(Nanos::ZERO, ToHost::Forget { child: BAD });
        }
        let (mut now, mut needed) = (Nanos::ZERO, 0);
        for step in 0..comes / 50 {
            now = Nanos::from_millis(50 * (step + 1));
            say(&mut node, now, conn, &TreeFrame::Data { offset: 100 * step, bytes: vec![1; 100] });
            node.on_time(now);
            for frame in hear(&mut node, now, conn) {
                if let TreeFrame::Taken { needed: told, .. } = frame {
                    needed = told;
                }
            }
        }
        assert_eq!(needed == 0, is_served, "hosts above keep what the child may need");
        let child = connect(&mut node, now, &hello(GOOD, 1, StartAt::Offset(0)));
        let answer =
            if is_served { TreeFrame::Welcome { begin: 0 } } else { TreeFrame::Refused(Reason::Gone) };
        assert_eq!(hear(&mut node, now, child).first(), Some(&answer));
    }
}
