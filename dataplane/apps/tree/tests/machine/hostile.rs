//! Peers that say whatever they like: nothing panics, nothing is held beyond its bound, and others are
//! unharmed.

use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::frame::MAX_BLOCK;
use groupflow_tree::machine::{
    FromHost, Hello, HostId, NodeAction, NodeConfig, Peer, Reason, Slow, StartAt, ToHost, TreeFrame, TreeNode,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::one_node::{actions, config, connect, expect, hear, hello, say, served_with, BAD, GOOD, TICKET};

#[derive(Debug, Clone)]
enum HostileInput {
    Bytes(Vec<u8>),
    Frame(TreeFrame),
    Close,
}

fn frame() -> impl Strategy<Value = TreeFrame> {
    let offset = || prop_oneof![4 => 0..30_000_u64, 1 => any::<u64>()];
    let begin = prop_oneof![Just(StartAt::Now), offset().prop_map(StartAt::Offset)];
    prop_oneof![
        (begin, 1..4_u32, 0..20_000_u64).prop_map(|(begin, edge, room)| {
            let needed = if let StartAt::Offset(offset) = begin { offset / 2 } else { 0 };
            TreeFrame::Hello(Hello { child: BAD, ticket: TICKET, edge, begin, needed, room })
        }),
        (offset(), offset()).prop_map(|(x, y)| TreeFrame::Taken { taken: x.max(y), needed: x.min(y) }),
        Just(TreeFrame::Complete),
        Just(TreeFrame::Moved),
        offset().prop_map(|begin| TreeFrame::Welcome { begin }),
        (offset(), 1..MAX_BLOCK)
            .prop_map(|(offset, count)| TreeFrame::Data { offset, bytes: vec![9; count] }),
        offset().prop_map(|to| TreeFrame::Skip { to }),
        offset().prop_map(|length| TreeFrame::End { length }),
        Just(TreeFrame::Refused(Reason::Gone)),
        Just(TreeFrame::Alive),
    ]
}

fn input() -> impl Strategy<Value = HostileInput> {
    prop_oneof![
        20 => frame().prop_map(HostileInput::Frame),
        1 => vec(any::<u8>(), 0..200).prop_map(HostileInput::Bytes),
        1 => Just(HostileInput::Close),
    ]
}

fn treatments() -> impl Strategy<Value = Slow> {
    proptest::sample::select(vec![Slow::Wait, Slow::Isolate, Slow::Skip])
}

proptest! {
    /// A child that says whatever it likes: its sibling reads the stream.
    #[test]
    fn nothing_that_a_child_says_harms_its_sibling(inputs in vec(input(), 0..100), slow in treatments()) {
        let mut node = TreeNode::source(NodeConfig { slow, align: 100, ..config() });
        expect(&mut node, GOOD);
        expect(&mut node, BAD);
        let mut now = Nanos::ZERO;
        let good = connect(&mut node, now, &hello(GOOD, 1, StartAt::Offset(0)));
        let mut bad = node.on_accepted(now);
        let (mut written, mut got) = (0_u64, 0_u64);
        for input in inputs {
            now += Nanos::from_millis(10);
            bad = bad.or_else(|| node.on_accepted(now));
            match (input, bad) {
                (HostileInput::Frame(frame), Some(conn)) => say(&mut node, now, conn, &frame),
                (HostileInput::Bytes(bytes), Some(conn)) => node.on_bytes(now, conn, &bytes),
                (HostileInput::Close, Some(conn)) => node.on_closed(now, conn),
                _ => {}
            }
            if let Some(conn) = bad {
                hear(&mut node, now, conn);
            }
            say(&mut node, now, good, &TreeFrame::Alive);
            written += node.write(now, &[1; 700]) as u64;
            for frame in hear(&mut node, now, good) {
                if let TreeFrame::Data { offset, bytes } = frame {
                    prop_assert_eq!(offset, got);
                    got += bytes.len() as u64;
                    say(&mut node, now, good, &TreeFrame::Taken { taken: got, needed: got });
                }
            }
            prop_assert_eq!(got, written);
            node.on_time(now);
            for action in actions(&mut node) {
                if let NodeAction::Close(conn) = action {
                    prop_assert!(conn != good);
                    node.on_closed(now, conn);
                    bad = bad.filter(|&bad| bad != conn);
                }
            }
            prop_assert!(node.held() <= 20_000);
        }
    }

    /// A parent that says whatever it likes: the node holds no more than it may.
    #[test]
    fn nothing_that_a_parent_says_makes_a_node_panic_or_hold_much(
        inputs in vec(input(), 0..100), slow in treatments(),
    ) {
        let (mut node, mut conn) = served_with(NodeConfig { slow, align: 100, ..config() });
        expect(&mut node, GOOD);
        let child = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, StartAt::Now));
        let (mut now, mut order) = (Nanos::ZERO, 1);
        for input in inputs {
            now += Nanos::from_millis(10);
            match input {
                HostileInput::Frame(frame) => say(&mut node, now, conn, &frame),
                HostileInput::Bytes(bytes) => node.on_bytes(now, conn, &bytes),
                HostileInput::Close => node.on_closed(now, conn),
            }
            hear(&mut node, now, child);
            node.read(now, 500);
            node.on_time(now);
            prop_assert!(node.held() <= 28_000);
            for action in actions(&mut node) {
                if let NodeAction::Report(FromHost::Lost { .. }) = action {
                    order += 1;
                    let parent = Peer { host: HostId(0), address: SocketAddr::from(([10, 0, 0, 1], 4000)) };
                    node.on_order(now, ToHost::Place { order, parent, ticket: TICKET });
                }
                if let NodeAction::Connect { conn: new, .. } = action {
                    node.on_connected(now, new);
                    conn = new;
                }
            }
        }
    }
}
