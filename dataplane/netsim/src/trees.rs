//! The trees of a network: their dispatchers and hosts as ends at the network's hosts.

use std::collections::HashMap;
use std::net::SocketAddrV4;

use groupflow_base::Token;
use groupflow_tree::machine::{HostId, NodeConfig, Peer, TreeJoin};

use crate::error::BuildError;
use crate::flows::addresses;
use crate::host::dispatchers_end::DispatchersEnd;
use crate::host::tree_end::{TreeEnd, TreeSettings};
use crate::host::{End, FlowEnd, ANY_PORT};
use crate::ids::{FlowId, NodeId};
use crate::spec::{HostSpec, NetworkSpec, NodeKind, TreeSpec};
use crate::wire::PROTOCOL_TCP;

/// The most children of a host, whatever it offers.
const MOST_CHILDREN: usize = 64;
/// The most packets in flight on a connection.
const MOST_WINDOW: u32 = 100_000;

/// Refuses an impossible tree. `ports` has what takes each port of a host, by protocol.
pub(crate) fn check<'a>(
    spec: &'a NetworkSpec, ports: &mut HashMap<(NodeId, u8, u16), &'a String>,
) -> Result<(), BuildError> {
    for tree in &spec.trees {
        let refuse = |field: &str, problem| BuildError::new(format!("trees.{}.{field}", tree.name), problem);
        if tree.port == 0 || tree.port == u16::MAX {
            return Err(refuse("port", format!("{} and the next one must be ports", tree.port)));
        }
        if !(1..=MOST_WINDOW).contains(&tree.window_packets) {
            return Err(refuse("window_packets", format!("must be between 1 and {MOST_WINDOW}")));
        }
        if tree.members.iter().filter(|member| member.source.is_some()).count() != 1 {
            return Err(refuse("members", "must have one source".to_owned()));
        }
        let members = tree.members.iter().map(|member| ("members", &member.host, ANY_PORT, &member.name));
        for (field, name, port, taker) in
            members.chain([("dispatchers", &tree.dispatchers, tree.port, &tree.name)])
        {
            let unknown = || refuse(field, format!("unknown host {name:?}"));
            let (node, _) = host(spec, name).ok_or_else(unknown)?;
            if let Some(other) = ports.insert((node, PROTOCOL_TCP, port), taker) {
                return Err(refuse(field, format!("{name:?} has a port already that is {other:?}'s")));
            }
        }
    }
    Ok(())
}

fn host<'a>(spec: &'a NetworkSpec, name: &str) -> Option<(NodeId, &'a HostSpec)> {
    let place = spec.nodes.iter().position(|node| node.name == name)?;
    match &spec.nodes[place].kind {
        NodeKind::Host(host) => Some((NodeId(place as u32), host)),
        _ => None,
    }
}

/// The ends of trees at a node. The flows' numbers go on at `numbers`.
pub(crate) fn ends(
    spec: &NetworkSpec, node: NodeId, numbers: &mut impl Iterator<Item = FlowId>,
) -> Vec<FlowEnd> {
    let name = &spec.nodes[node.index()].name;
    let NodeKind::Host(own) = &spec.nodes[node.index()].kind else { return Vec::new() };
    let mut ends = Vec::new();
    for tree in &spec.trees {
        let mut numbers = numbers.take(1 + tree.members.len());
        let number = numbers.next().filter(|_| tree.dispatchers == *name);
        if let Some((number, end)) = number.zip(dispatchers_end(spec, tree, own)) {
            ends.push(FlowEnd::new(number, PROTOCOL_TCP, tree.port, end));
        }
        for (place, number) in numbers.enumerate() {
            let end = (tree.members[place].host == *name).then(|| member_end(spec, tree, place, own));
            if let Some(end) = end.flatten() {
                // A tree's host opens connections from many ports.
                ends.push(FlowEnd::new(number, PROTOCOL_TCP, ANY_PORT, end));
            }
        }
    }
    ends
}

/// The introduction of a member.
fn card(spec: &NetworkSpec, tree: &TreeSpec, place: usize) -> Option<TreeJoin> {
    let member = &tree.members[place];
    let address = SocketAddrV4::new(host(spec, &member.host)?.1.ip, tree.port + 1).into();
    let (peer, name) = (Peer { host: HostId(place as u64), address }, member.name.clone());
    // Hexadecimal digits are a valid token.
    Some(TreeJoin { peer, router: None, capacity: member.children, token: Token::parse("00")?, name })
}

fn dispatchers_end(spec: &NetworkSpec, tree: &TreeSpec, own: &HostSpec) -> Option<Box<dyn End>> {
    let source = tree.members.iter().position(|member| member.source.is_some())?;
    let own = addresses((own, tree.port), (own, tree.port));
    Some(Box::new(DispatchersEnd::new(own, tree, &card(spec, tree, source)?, spec.seed)))
}

fn member_end(spec: &NetworkSpec, tree: &TreeSpec, place: usize, own: &HostSpec) -> Option<Box<dyn End>> {
    let card = card(spec, tree, place)?;
    let config =
        NodeConfig { slow: tree.slow, max_children: MOST_CHILDREN, ..NodeConfig::new(card.peer.host) };
    let settings = TreeSettings {
        dispatchers: SocketAddrV4::new(host(spec, &tree.dispatchers)?.1.ip, tree.port),
        card,
        config: config.with_cache(tree.cache_bytes),
        one_by_one: tree.one_by_one,
        window: tree.window_packets,
    };
    let own = addresses((own, tree.port + 1), (own, tree.port + 1));
    Some(Box::new(TreeEnd::new(own, settings, &tree.members[place])))
}
