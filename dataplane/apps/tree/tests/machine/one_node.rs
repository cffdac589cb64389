//! One node, and peers that say to it whatever a test wants.

use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::frame::EdgeDecoder;
use groupflow_tree::machine::*;

pub const TICKET: Ticket = Ticket(7);
pub const NODE: HostId = HostId(1);
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

pub fn hello(child: HostId, edge: u32, begin: StartAt) -> TreeFrame {
    let needed = if let StartAt::Offset(offset) = begin { offset } else { 0 };
    TreeFrame::Hello(Hello { child, ticket: TICKET, edge, begin, needed, room: 8_000 })
}

pub fn expect(node: &mut TreeNode, child: HostId) {
    node.on_order(Nanos::ZERO, ToHost::Expect { child, ticket: TICKET });
}

pub fn say(node: &mut TreeNode, now: Nanos, conn: ConnId, frame: &TreeFrame) {
    let mut bytes = Vec::new();
    frame.encode_into(&mut bytes);
    node.on_bytes(now, conn, &bytes);
}

/// The frames that a connection carries from the node now.
pub fn hear(node: &mut TreeNode, now: Nanos, conn: ConnId) -> Vec<TreeFrame> {
    let (mut bytes, mut frames) = (Vec::new(), Vec::new());
    node.fill(now, conn, &mut bytes, 100_000);
    let (mut decoder, mut input) = (EdgeDecoder::default(), &bytes[..]);
    while let Some(frame) = decoder.next_frame(&mut input).expect("frames") {
        frames.push(frame);
    }
    frames
}

/// A connection over which a peer sent this frame.
pub fn connect(node: &mut TreeNode, now: Nanos, frame: &TreeFrame) -> ConnId {
    let conn = node.on_accepted(now).expect("room");
    say(node, now, conn, frame);
    conn
}

pub fn actions(node: &mut TreeNode) -> Vec<NodeAction> {
    std::iter::from_fn(|| node.poll()).collect()
}

/// A source with two children that are expected, and some bytes of which none is needed any more.
pub fn source(slow: Slow, written: usize) -> TreeNode {
    let mut node = TreeNode::source(NodeConfig { slow, ..config() });
    expect(&mut node, GOOD);
    expect(&mut node, BAD);
    assert_eq!(node.write(Nanos::ZERO, &vec![1; written]), written);
    node
}

/// A host below a parent whose frames the test chooses.
pub fn below_with(config: NodeConfig) -> (TreeNode, ConnId) {
    let mut node = TreeNode::new(config, StartAt::Offset(0));
    let address = SocketAddr::from(([10, 0, 0, 1], 4000));
    let parent = Peer { host: HostId(0), address };
    node.on_order(Nanos::ZERO, ToHost::Place { order: 1, parent, ticket: TICKET });
    let Some(NodeAction::Connect { conn, .. }) = node.poll() else { panic!("it connects") };
    node.on_connected(Nanos::ZERO, conn);
    let said = hear(&mut node, Nanos::ZERO, conn);
    assert!(
        matches!(
            said[..],
            [TreeFrame::Hello(Hello { begin: StartAt::Offset(0), needed: 0, room: 8_000, .. })]
        ),
        "{said:?}"
    );
    (node, conn)
}

pub fn below() -> (TreeNode, ConnId) {
    below_with(config())
}

pub fn served() -> (TreeNode, ConnId) {
    served_with(config())
}

pub fn served_with(config: NodeConfig) -> (TreeNode, ConnId) {
    let (mut node, conn) = below_with(config);
    say(&mut node, Nanos::ZERO, conn, &TreeFrame::Welcome { begin: 0 });
    let told = actions(&mut node);
    assert!(matches!(told[..], [NodeAction::Report(FromHost::Attached { order: 1, .. })]), "{told:?}");
    (node, conn)
}
