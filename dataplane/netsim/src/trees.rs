//! The trees of a network: their dispatchers and hosts as ends at the network's hosts.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddrV4;

use groupflow_base::Token;
use groupflow_tree::machine::{HostId, NodeConfig, Peer, TreeJoin};

use crate::error::BuildError;
use crate::flows::addresses;
use crate::host::dispatchers_end::DispatchersEnd;
use crate::host::tree_end::{TreeEnd, TreeOfHost};
use crate::host::{End, FlowEnd, ANY_PORT};
use crate::ids::{FlowId, NodeId};
use crate::spec::{HostSpec, NetworkSpec, NodeKind, TreeMemberSpec, TreeSpec};
use crate::wire::PROTOCOL_TCP;

/// The most children of a host, whatever it offers.
const MOST_CHILDREN: usize = 64;
/// The most packets in flight on a connection.
const MOST_WINDOW: u32 = 100_000;

/// Refuses a tree that cannot be.
pub(crate) fn check(spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>) -> Result<(), BuildError> {
    let mut taken = HashSet::new();
    for tree in &spec.trees {
        let refuse =
            |field: &str, problem| Err(BuildError::new(format!("trees.{}.{field}", tree.name), problem));
        if tree.port == 0 || tree.port == u16::MAX {
            return refuse("port", format!("{} and the next one must be ports", tree.port));
        }
        if !(1..=MOST_WINDOW).contains(&tree.window_packets) {
            return refuse("window_packets", format!("must be between 1 and {MOST_WINDOW}"));
        }
        if host(spec, nodes, &tree.dispatchers).is_none() {
            return refuse("dispatchers", format!("unknown host {:?}", tree.dispatchers));
        }
        if tree.members.iter().filter(|member| member.source.is_some()).count() != 1 {
            return refuse("members", "must have one source".to_owned());
        }
        for member in &tree.members {
            if host(spec, nodes, &member.host).is_none() {
                return refuse("members", format!("unknown host {:?}", member.host));
            }
            if !taken.insert(&member.host) {
                return refuse("members", format!("{:?} is in a tree already", member.host));
            }
        }
    }
    Ok(())
}

fn host<'a>(
    spec: &'a NetworkSpec, nodes: &HashMap<&str, NodeId>, name: &str,
) -> Option<(NodeId, &'a HostSpec)> {
    let node = *nodes.get(name)?;
    match &spec.nodes[node.index()].kind {
        NodeKind::Host(host) => Some((node, host)),
        _ => None,
    }
}

/// The ends of trees at a node. The flows' numbers go on at `numbers`.
pub(crate) fn ends(
    spec: &NetworkSpec, node: NodeId, numbers: &mut impl Iterator<Item = FlowId>,
) -> Vec<FlowEnd> {
    let nodes = (0..).map(NodeId).zip(&spec.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
    let mut ends = Vec::new();
    for tree in &spec.trees {
        let cards = cards(spec, &nodes, tree);
        let found = std::iter::once((&tree.dispatchers, None));
        let found = found.chain(
            tree.members.iter().zip(&cards).map(|(member, card)| (&member.host, Some((member, card)))),
        );
        for ((name, member), number) in found.zip(&mut *numbers) {
            let Some((_, own)) = host(spec, &nodes, name).filter(|(id, _)| *id == node) else { continue };
            let Some((_, at)) = host(spec, &nodes, &tree.dispatchers) else { continue };
            let end = match member {
                Some((member, card)) => {
                    member_end(tree, member, card, own, SocketAddrV4::new(at.ip, tree.port))
                }
                None => dispatchers_end(spec, tree, &cards, own),
            };
            // A tree's host opens connections from many ports.
            let port = if member.is_some() { ANY_PORT } else { tree.port };
            ends.push(FlowEnd::new(number, PROTOCOL_TCP, port, end));
        }
    }
    ends
}

/// The hosts' introductions, in the order of the members.
fn cards(spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>, tree: &TreeSpec) -> Vec<TreeJoin> {
    // Hexadecimal digits are a valid token.
    let token = Token::parse("00").unwrap_or_else(|| unreachable!());
    let card = |(number, member): (u64, &TreeMemberSpec)| {
        let (_, at) = host(spec, nodes, &member.host)?;
        let address = SocketAddrV4::new(at.ip, tree.port + 1).into();
        let (peer, name) = (Peer { host: HostId(number), address }, member.name.clone());
        Some(TreeJoin { peer, router: None, capacity: member.children, token: token.clone(), name })
    };
    (0..).zip(&tree.members).filter_map(card).collect()
}

fn dispatchers_end(spec: &NetworkSpec, tree: &TreeSpec, cards: &[TreeJoin], own: &HostSpec) -> Box<dyn End> {
    let source = tree.members.iter().position(|member| member.source.is_some()).unwrap_or(0);
    let own = addresses((own, tree.port), (own, tree.port));
    Box::new(DispatchersEnd::new(own, tree, &cards[source], spec.seed))
}

fn member_end(
    tree: &TreeSpec, member: &TreeMemberSpec, card: &TreeJoin, own: &HostSpec, dispatchers: SocketAddrV4,
) -> Box<dyn End> {
    let config =
        NodeConfig { slow: tree.slow, max_children: MOST_CHILDREN, ..NodeConfig::new(card.peer.host) };
    let of = TreeOfHost {
        dispatchers,
        card: card.clone(),
        config: config.with_cache(tree.cache_bytes),
        one_by_one: tree.one_by_one,
        window: tree.window_packets,
    };
    let own = addresses((own, tree.port + 1), (own, tree.port + 1));
    Box::new(TreeEnd::new(own, of, member))
}
