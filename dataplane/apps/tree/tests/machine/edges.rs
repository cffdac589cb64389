//! One node and peers that say what they like: who is served, who is refused and why, and that the others are
//! unharmed.

use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::frame::Decoder;
use groupflow_tree::machine::{
    Action, Begin, ConnId, Frame, FromHost, HostId, Node, NodeConfig, Peer, Read, Reason, Slow, Ticket,
    ToHost,
};

pub const TICKET: Ticket = Ticket([7; Ticket::BYTES]);
const NODE: HostId = HostId(1);
pub const GOOD: HostId = HostId(2);
pub const BAD: HostId = HostId(3);

pub fn config() -> NodeConfig {
    NodeConfig {
        capacity: 20_000,
        history: 0,
        window: 8_000,
        max_sockets: 2,
        max_children: 2,
        ..NodeConfig::new(NODE)
    }
}

pub fn hello(child: HostId, edge: u32, begin: Begin) -> Frame {
    let needed = if let Begin::At(offset) = begin { offset } else { 0 };
    Frame::Hello { child, ticket: TICKET, edge, begin, needed, room: 8_000, deadline: None }
}

pub fn expect(node: &mut Node, child: HostId) {
    node.on_order(Nanos::ZERO, ToHost::Expect { child, ticket: TICKET });
}

pub fn say(node: &mut Node, now: Nanos, conn: ConnId, frame: &Frame) {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    node.on_bytes(now, conn, &bytes);
}

/// What a connection carries from the node now.
pub fn hear(node: &mut Node, now: Nanos, conn: ConnId) -> Vec<Frame> {
    let (mut bytes, mut frames) = (Vec::new(), Vec::new());
    node.fill(now, conn, &mut bytes, 100_000);
    let (mut decoder, mut input) = (Decoder::default(), &bytes[..]);
    while let Some(frame) = decoder.next_frame(&mut input).expect("frames") {
        frames.push(frame);
    }
    frames
}

/// A connection over which that was said.
pub fn connect(node: &mut Node, now: Nanos, frame: &Frame) -> ConnId {
    let conn = node.conns.on_accepted(now).expect("room");
    say(node, now, conn, frame);
    conn
}

pub fn actions(node: &mut Node) -> Vec<Action> {
    std::iter::from_fn(|| node.conns.poll()).collect()
}

/// A source with two children that are expected, and some bytes of which none is needed any more.
fn source(slow: Slow, written: usize) -> Node {
    let mut node = Node::source(NodeConfig { slow, ..config() });
    expect(&mut node, GOOD);
    expect(&mut node, BAD);
    assert_eq!(node.write(Nanos::ZERO, &vec![1; written]), written);
    node
}

#[test]
fn who_says_something_wrong_is_refused_and_told_why() {
    let wrong = Frame::Hello {
        child: BAD,
        ticket: Ticket([8; 16]),
        edge: 1,
        begin: Begin::Now,
        needed: 0,
        room: 1,
        deadline: None,
    };
    let taken = Frame::Taken { taken: 5, needed: 5 };
    let data = Frame::Data { offset: 0, bytes: vec![1] };
    let good = hello(BAD, 1, Begin::Now);
    // What is said after each other over one connection; why it is refused.
    let cases: [(&str, Vec<Frame>, Reason); 9] = [
        ("another ticket", vec![wrong], Reason::Unexpected),
        ("another host", vec![hello(HostId(9), 1, Begin::Now)], Reason::Unexpected),
        ("no HELLO", vec![taken], Reason::BadFrame),
        ("nothing but a sign of life", vec![Frame::Alive], Reason::BadFrame),
        ("what is gone", vec![hello(BAD, 1, Begin::At(999))], Reason::Gone),
        ("HELLO again", vec![good.clone(), good.clone()], Reason::BadFrame),
        ("DATA to the parent", vec![good.clone(), data], Reason::BadFrame),
        ("COMPLETE before the end", vec![good.clone(), Frame::Complete], Reason::BadFrame),
        ("the end to the parent", vec![good, Frame::End { length: 1 }], Reason::BadFrame),
    ];
    for (name, frames, reason) in cases {
        let now = Nanos::ZERO;
        let mut node = source(Slow::Wait, 1000);
        let other = connect(&mut node, now, &hello(GOOD, 1, Begin::Now));
        let conn = node.conns.on_accepted(now).expect("room");
        frames.iter().for_each(|frame| say(&mut node, now, conn, frame));
        assert_eq!(hear(&mut node, now, conn).last(), Some(&Frame::Refused(reason)), "{name}");
        assert!(actions(&mut node).contains(&Action::Close(conn)), "{name}");
        node.on_closed(now, conn);
        // The other one does not notice.
        node.write(now, b"more");
        let data = Frame::Data { offset: 1000, bytes: b"more".to_vec() };
        assert_eq!(hear(&mut node, now, other), [Frame::Welcome { begin: 1000 }, data], "{name}");
    }
}

#[test]
fn a_child_has_so_many_connections_and_a_node_so_many_children() {
    let now = Nanos::ZERO;
    let mut node = source(Slow::Wait, 0);
    let welcome = [Frame::Welcome { begin: 0 }];
    let conns = [(GOOD, 1), (GOOD, 1), (BAD, 1)]
        .map(|(c, edge)| connect(&mut node, now, &hello(c, edge, Begin::Now)));
    conns.iter().for_each(|&conn| assert_eq!(hear(&mut node, now, conn), welcome));
    let third = connect(&mut node, now, &hello(GOOD, 1, Begin::Now));
    assert_eq!(hear(&mut node, now, third), [Frame::Refused(Reason::TooMany)]);
    expect(&mut node, HostId(4));
    let fourth = connect(&mut node, now, &hello(HostId(4), 1, Begin::Now));
    assert_eq!(hear(&mut node, now, fourth), [Frame::Refused(Reason::TooMany)]);
    // Another edge takes the place of the one before, whose connections are closed.
    actions(&mut node);
    let again = connect(&mut node, now, &hello(GOOD, 2, Begin::Now));
    assert_eq!(hear(&mut node, now, again), welcome);
    assert_eq!(actions(&mut node), [Action::Close(conns[0]), Action::Close(conns[1])]);
    // And who says nothing is not kept for ever, however many come.
    let strangers = std::iter::from_fn(|| node.conns.on_accepted(now)).take(1000).count();
    assert!(strangers < 30, "{strangers}");
    let later = Nanos(config().silence.0);
    say(&mut node, later, again, &Frame::Alive);
    node.on_time(later);
    assert!(node.conns.on_accepted(later).is_some());
    assert_eq!(node.children().collect::<Vec<_>>(), [GOOD]);
}

/// The first word of who is far away takes two round trips, and one that is lost is sent again after more
/// than one.
#[test]
fn who_is_far_away_may_be_silent_longer() {
    let silence = config().silence;
    let round_trip = Nanos(2 * silence.0);
    let long = silence + Nanos(2 * round_trip.0);
    let silent = |known: bool| {
        let mut node = source(Slow::Wait, 0);
        let conn = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, Begin::Now));
        if known {
            node.conns.on_round_trip(conn, round_trip);
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
    // How far a parent is that is not connected yet: as far as the dispatchers, or as hosts that were
    // measured.
    for (far, given_up) in
        [(Nanos::ZERO, silence), (round_trip, long), (Nanos(u64::MAX), Nanos::from_millis(4600))]
    {
        let mut node = Node::new(config(), Begin::Now);
        if far == round_trip {
            node.conns.on_measured(&[(BAD, Nanos::ZERO), (GOOD, silence)]);
        } else {
            node.conns.on_dispatchers(far);
        }
        let parent = Peer { host: GOOD, address: SocketAddr::from(([10, 0, 0, 1], 5)) };
        node.on_order(Nanos::ZERO, ToHost::Place { order: 1, parent, ticket: TICKET });
        assert!(matches!(actions(&mut node)[..], [.., Action::Connect { .. }]));
        let lost = |node: &mut Node| {
            actions(node).into_iter().any(|action| matches!(action, Action::Tell(FromHost::Lost { .. })))
        };
        node.on_time(Nanos(given_up.0 - 1));
        assert!(!lost(&mut node), "{far:?}");
        node.on_time(given_up);
        assert!(lost(&mut node), "{far:?}");
    }
}

/// It says that it is there, and takes nothing: its sibling gets what the cache holds, and goes on when it is
/// cut off.
#[test]
fn a_child_that_reads_nothing_is_cut_off_after_a_while() {
    let mut node = source(Slow::Wait, 0);
    let (good, bad) = [GOOD, BAD].map(|c| connect(&mut node, Nanos::ZERO, &hello(c, 1, Begin::At(0)))).into();
    let (mut taken, mut refused) = (0, None);
    for step in 0..200 {
        let now = Nanos::from_millis(200 * step);
        say(&mut node, now, bad, &Frame::Alive);
        say(&mut node, now, good, &Frame::Alive);
        node.write(now, &[1; 1000]);
        for frame in hear(&mut node, now, good) {
            if let Frame::Data { offset, bytes } = frame {
                taken = offset + bytes.len() as u64;
                say(&mut node, now, good, &Frame::Taken { taken, needed: taken });
            }
        }
        if refused.is_none() && hear(&mut node, now, bad).contains(&Frame::Refused(Reason::Stalled)) {
            // What the cache holds, and what came just now.
            assert!((20_000..=21_000).contains(&taken), "{taken}");
            refused = Some(now);
        }
        assert!(node.held() <= 20_000);
        node.on_time(now);
    }
    let stall = config().stall;
    let refused = refused.expect("refused");
    assert!(refused >= stall + stall && refused <= stall + stall + Nanos::from_millis(1000), "{refused:?}");
    assert!(taken > 60_000, "{taken}");
    assert_eq!(node.children().collect::<Vec<_>>(), [GOOD]);
}

/// A host below a parent that says what it likes.
fn below_with(config: NodeConfig) -> (Node, ConnId) {
    let mut node = Node::new(config, Begin::At(0));
    let address = SocketAddr::from(([10, 0, 0, 1], 4000));
    let parent = Peer { host: HostId(0), address };
    node.on_order(Nanos::ZERO, ToHost::Place { order: 1, parent, ticket: TICKET });
    let Some(Action::Connect { conn, .. }) = node.conns.poll() else { panic!("it connects") };
    node.on_connected(Nanos::ZERO, conn);
    let said = hear(&mut node, Nanos::ZERO, conn);
    assert!(
        matches!(said[..], [Frame::Hello { begin: Begin::At(0), needed: 0, room: 8_000, .. }]),
        "{said:?}"
    );
    (node, conn)
}

fn below() -> (Node, ConnId) {
    below_with(config())
}

fn served() -> (Node, ConnId) {
    served_with(config())
}

pub fn served_with(config: NodeConfig) -> (Node, ConnId) {
    let (mut node, conn) = below_with(config);
    say(&mut node, Nanos::ZERO, conn, &Frame::Welcome { begin: 0 });
    let told = actions(&mut node);
    assert!(matches!(told[..], [Action::Tell(FromHost::Attached { order: 1, .. })]), "{told:?}");
    (node, conn)
}

#[test]
fn a_parent_that_says_something_wrong_is_left() {
    let data = |offset, count| Frame::Data { offset, bytes: vec![1; count] };
    // Whether it is served already; what the parent says; whether the dispatcher is told that what comes next
    // is gone.
    let cases: [(&str, bool, Frame, bool); 8] = [
        ("DATA before WELCOME", false, data(0, 10), false),
        ("gone", false, Frame::Refused(Reason::Gone), true),
        ("overtaken", true, Frame::Refused(Reason::Overtaken), true),
        ("it leaves", true, Frame::Refused(Reason::Leaving), false),
        ("beyond the limit", true, data(7_999, 2), false),
        ("beyond the longest stream", true, data(u64::MAX, 1), false),
        ("HELLO", true, hello(BAD, 1, Begin::Now), false),
        ("COMPLETE", true, Frame::Complete, false),
    ];
    for (name, is_served, frame, is_gone) in cases {
        let (mut node, conn) = if is_served { served() } else { below() };
        say(&mut node, Nanos::ZERO, conn, &frame);
        let told = actions(&mut node);
        let lost = Action::Tell(FromHost::Lost { order: 1, gone: is_gone });
        assert!(told.contains(&lost) && told.contains(&Action::Close(conn)), "{name}: {told:?}");
        assert_eq!((node.parent(), node.failed()), (None, None), "{name}");
    }
}

/// One of several connections is refused: the others serve the host. When it is the last one nobody does any
/// more.
#[test]
fn who_has_no_connection_left_is_put_elsewhere() {
    let now = Nanos::ZERO;
    for reason in [Reason::Unexpected, Reason::TooMany] {
        for breaks in [false, true] {
            let (mut node, first) = below_with(NodeConfig { sockets: 2, ..config() });
            say(&mut node, now, first, &Frame::Welcome { begin: 0 });
            let asked = |action: &Action| matches!(action, Action::Connect { .. });
            let Some(Action::Connect { conn: second, .. }) = actions(&mut node).into_iter().find(asked)
            else {
                panic!("it connects again")
            };
            node.on_connected(now, second);
            if breaks {
                node.on_closed(now, first);
                assert_eq!((actions(&mut node), node.parent()), (vec![], Some(HostId(0))));
            }
            say(&mut node, now, second, &Frame::Refused(reason));
            let lost = Action::Tell(FromHost::Lost { order: 1, gone: false });
            let told = actions(&mut node);
            assert_eq!(told.contains(&lost), breaks, "{reason:?}: {told:?}");
            assert_eq!(node.parent().is_none(), breaks, "{reason:?}");
        }
    }
}

#[test]
fn a_reader_that_takes_nothing_is_cut_off_and_those_below_go_on() {
    let (mut node, conn) = served();
    expect(&mut node, GOOD);
    let child = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, Begin::At(0)));
    let (mut sent, mut got) = (0_u64, 0_u64);
    let mut limit = 8_000;
    for step in 0..200 {
        let now = Nanos::from_millis(100 * step);
        if sent + 1000 <= limit {
            say(&mut node, now, conn, &Frame::Data { offset: sent, bytes: vec![1; 1000] });
            sent += 1000;
        }
        say(&mut node, now, conn, &Frame::Alive);
        say(&mut node, now, child, &Frame::Alive);
        for frame in hear(&mut node, now, child) {
            if let Frame::Data { offset, bytes } = frame {
                got = offset + bytes.len() as u64;
                say(&mut node, now, child, &Frame::Taken { taken: got, needed: got });
            }
        }
        for frame in hear(&mut node, now, conn) {
            if let Frame::Taken { taken, .. } = frame {
                limit = taken + 8_000;
            }
        }
        if now < config().stall {
            assert!(got <= 20_000 && node.failed().is_none());
        }
        assert!(node.held() <= 28_000);
        node.on_time(now);
    }
    assert!(got > 50_000, "{got}");
    assert_eq!((node.failed(), node.read(Nanos::ZERO, 10)), (Some(0), Some(Read::Broken { at: 0 })));
    assert_eq!(node.parent(), Some(HostId(0)));
    let end = Nanos::from_millis(100 * 200);
    say(&mut node, end, conn, &Frame::End { length: sent });
    assert!(!node.is_complete(), "who is below has not all");
    let frames = hear(&mut node, end, child);
    assert_eq!(frames.last(), Some(&Frame::End { length: sent }));
    say(&mut node, end, child, &Frame::Taken { taken: sent, needed: sent });
    say(&mut node, end, child, &Frame::Complete);
    assert!(node.is_complete());
}

/// What one needs is told at once when it is much, and otherwise soon; and a child that moved is not waited
/// for.
#[test]
fn a_parent_hears_what_is_still_needed() {
    let (mut node, conn) = served();
    expect(&mut node, GOOD);
    let child = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, Begin::At(0)));
    let mut now = Nanos::ZERO;
    let mut said = |node: &mut Node, frame: Option<(ConnId, Frame)>, millis: u64| {
        now += Nanos::from_millis(millis);
        node.on_time(now);
        frame.into_iter().for_each(|(conn, frame)| say(node, now, conn, &frame));
        hear(node, now, conn).into_iter().filter(|frame| *frame != Frame::Alive).collect::<Vec<_>>()
    };
    let taken = |taken, needed| vec![Frame::Taken { taken, needed }];
    assert_eq!(said(&mut node, Some((conn, Frame::Data { offset: 0, bytes: vec![1; 500] })), 0), []);
    assert_eq!(said(&mut node, None, 19), []);
    assert_eq!(said(&mut node, None, 1), taken(500, 0));
    assert_eq!(
        said(&mut node, Some((conn, Frame::Data { offset: 500, bytes: vec![1; 1500] })), 0),
        taken(2000, 0)
    );
    assert_eq!(
        said(&mut node, Some((child, Frame::Taken { taken: 1800, needed: 1500 })), 0),
        taken(2000, 1500)
    );
    assert_eq!(said(&mut node, Some((child, Frame::Moved)), 0), []);
    assert_eq!(said(&mut node, None, 20), taken(2000, 2000));
    assert_eq!((node.children().count(), node.keeps_for_departed()), (0, false));
}

/// A host that told its parent to need nothing before serves a child that does, from its history: but not
/// where all are waited for, as nobody above would have it any more if this host died.
#[test]
fn a_child_that_is_behind_is_served_from_the_history_unless_all_are_waited_for() {
    let now = Nanos::ZERO;
    for (slow, serves) in [(Slow::Wait, false), (Slow::Isolate, true), (Slow::Skip { align: 1 }, true)] {
        let (mut node, conn) = served_with(NodeConfig { slow, history: 10_000, ..config() });
        say(&mut node, now, conn, &Frame::Data { offset: 0, bytes: vec![1; 2000] });
        assert_eq!(hear(&mut node, now, conn), [Frame::Taken { taken: 2000, needed: 2000 }], "{slow:?}");
        expect(&mut node, GOOD);
        let child = connect(&mut node, now, &hello(GOOD, 1, Begin::At(500)));
        let data = Frame::Data { offset: 500, bytes: vec![1; 1500] };
        let welcome = vec![Frame::Welcome { begin: 500 }, data];
        let refused = vec![Frame::Refused(Reason::Gone)];
        assert_eq!(hear(&mut node, now, child), if serves { welcome } else { refused }, "{slow:?}");
    }
}

/// A child without connections is kept for until it is forgotten, and one that comes again goes on where it
/// was.
#[test]
fn what_a_child_that_is_gone_did_not_say_to_have_is_kept() {
    let now = Nanos::ZERO;
    for (name, then) in [("forgotten", Some(ToHost::Forget { child: GOOD })), ("kept too long", None)] {
        let mut node = source(Slow::Wait, 0);
        let conn = connect(&mut node, now, &hello(GOOD, 1, Begin::At(0)));
        node.write(now, &[1; 3000]);
        hear(&mut node, now, conn);
        say(&mut node, now, conn, &Frame::Taken { taken: 2500, needed: 1000 });
        node.on_closed(now, conn);
        assert_eq!((node.held(), node.keeps_for_departed()), (2000, true), "{name}");
        // A connection of the same edge that was asked for long ago: what was said since counts.
        let conn = connect(&mut node, now, &hello(GOOD, 1, Begin::At(0)));
        let frames = hear(&mut node, now, conn);
        assert_eq!(
            frames,
            [Frame::Welcome { begin: 2500 }, Frame::Data { offset: 2500, bytes: vec![1; 500] }]
        );
        node.on_closed(now, conn);
        // Who needs what was not kept for it is told so.
        expect(&mut node, BAD);
        let other = connect(&mut node, now, &hello(BAD, 1, Begin::At(999)));
        assert_eq!(hear(&mut node, now, other), [Frame::Refused(Reason::Gone)]);
        match then {
            Some(order) => node.on_order(now, order),
            None => {
                node.on_time(now + config().keep.saturating_sub(Nanos(1)));
                assert_eq!(node.held(), 2000);
                node.on_time(now + config().keep);
            }
        }
        assert_eq!((node.held(), node.keeps_for_departed()), (0, false), "{name}");
    }
}

#[test]
fn a_child_that_lags_for_a_second_is_reported_until_it_has_caught_up() {
    let mut node = source(Slow::Isolate, 0);
    let mut now = Nanos::ZERO;
    let [good, bad] = [GOOD, BAD].map(|child| connect(&mut node, now, &hello(child, 1, Begin::Now)));
    let mut reports = Vec::new();
    for step in 1..=60_u64 {
        now = Nanos::from_millis(100 * step);
        node.write(now, &[1; 10]);
        // The sockets of both take it; only one of them says to have it, the other does from the fourth
        // second on.
        hear(&mut node, now, good);
        hear(&mut node, now, bad);
        let all = Frame::Taken { taken: 10 * step, needed: 10 * step };
        say(&mut node, now, good, &all);
        say(&mut node, now, bad, if step < 40 { &Frame::Alive } else { &all });
        let slow = Action::Tell(FromHost::Backlog { child: BAD });
        let backlog = |action: &Action| matches!(action, Action::Tell(FromHost::Backlog { .. }));
        for report in actions(&mut node).into_iter().filter(backlog) {
            assert_eq!(report, slow);
            reports.push(step);
        }
    }
    assert_eq!(reports, [11, 21, 31]);
}

/// It writes faster than any of them: without this rule all were cut off by a file that was read from a disk.
#[test]
fn a_source_that_cuts_off_who_is_slow_waits_for_the_fastest() {
    let mut now = Nanos::ZERO;
    let mut node = source(Slow::Isolate, 0);
    let [good, bad] = [GOOD, BAD].map(|child| connect(&mut node, now, &hello(child, 1, Begin::At(0))));
    let capacity = config().capacity;
    assert_eq!(node.write(now, &vec![1; 30_000]) as u64, capacity / 2);
    assert_eq!(node.write(now, &[1; 10]), 0, "nobody has taken anything");
    let mut has = 0;
    while has < 10 * capacity {
        now += Nanos::from_millis(10);
        hear(&mut node, now, good);
        has += 1000;
        say(&mut node, now, good, &Frame::Taken { taken: has, needed: has });
        let before = node.children().count();
        let taken = node.write(now, &vec![1; 30_000]) as u64;
        assert!(taken <= capacity);
        assert!(before == 2 || taken > 0, "only the fastest is waited for");
    }
    assert_eq!(node.children().collect::<Vec<_>>(), [GOOD]);
    assert_eq!(hear(&mut node, now, bad).last(), Some(&Frame::Refused(Reason::Overtaken)));
}

/// It begins with what the fastest gets next: what the source has beyond it is for both.
#[test]
fn who_joins_a_source_that_waits_makes_nobody_slow() {
    let mut now = Nanos::ZERO;
    let mut node = source(Slow::Isolate, 0);
    let good = connect(&mut node, now, &hello(GOOD, 1, Begin::At(0)));
    for step in 1..=100 {
        now += Nanos::from_millis(10);
        while node.write(now, &[1; 30_000]) > 0 {}
        hear(&mut node, now, good);
        let has = 1000 * step;
        say(&mut node, now, good, &Frame::Taken { taken: has, needed: has });
        if step == 50 {
            let late = connect(&mut node, now, &hello(BAD, 1, Begin::Now));
            assert_eq!(hear(&mut node, now, late).first(), Some(&Frame::Welcome { begin: has }));
        }
        assert!(node.children().any(|child| child == GOOD), "{step}");
    }
}

/// An equal that pauses for a while is behind, and the source holds half of its cache for it.
#[test]
fn who_pauses_behind_the_fastest_is_not_cut_off_at_once() {
    for (pause, kept) in [(5_000, true), (8_000, true), (19_500, false)] {
        let mut now = Nanos::ZERO;
        let mut node = source(Slow::Isolate, 0);
        let [good, bad] = [GOOD, BAD].map(|child| connect(&mut node, now, &hello(child, 1, Begin::At(0))));
        let mut has = [0, 0];
        for step in 0..200 {
            now += Nanos::from_millis(10);
            while node.write(now, &[1; 30_000]) > 0 {}
            let pauses = (100..100 + pause / 500).contains(&step);
            for (n, conn) in [good, bad].into_iter().enumerate() {
                if node.children().count() == 2 || n == 0 {
                    hear(&mut node, now, conn);
                    has[n] += if n == 1 && pauses { 0 } else { 500 };
                    say(&mut node, now, conn, &Frame::Taken { taken: has[n], needed: has[n] });
                }
            }
        }
        assert_eq!(node.children().count() == 2, kept, "{pause}");
    }
}

/// It came from a slow parent, with what that held up.
#[test]
fn a_child_that_catches_up_is_not_reported() {
    // Of each 100 ms: what it takes, and when it is reported.
    for (takes, expected) in [(20, vec![]), (10, vec![110, 120, 130, 140]), (5, vec![110, 120, 130, 140])] {
        let mut node = source(Slow::Wait, 0);
        let good = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, Begin::Now));
        let (mut late, mut reports) = (None, Vec::new());
        for step in 1..=140_u64 {
            let now = Nanos::from_millis(100 * step);
            node.write(now, &[1; 10]);
            hear(&mut node, now, good);
            say(&mut node, now, good, &Frame::Taken { taken: 10 * step, needed: 0 });
            if step == 100 {
                late = Some(connect(&mut node, now, &hello(BAD, 1, Begin::At(0))));
            }
            if let Some(late) = late {
                hear(&mut node, now, late);
                let taken = (takes * (step - 99)).min(10 * step);
                say(&mut node, now, late, &Frame::Taken { taken, needed: 0 });
            }
            let slow = Action::Tell(FromHost::Backlog { child: BAD });
            reports.extend(actions(&mut node).contains(&slow).then_some(step));
        }
        assert_eq!(reports, expected, "{takes}");
    }
}
