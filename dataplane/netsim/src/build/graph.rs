//! The graph of a network: the numbers of its nodes, their links by port, and its islands.

use std::collections::{HashMap, HashSet};

use groupflow_base::Nanos;

use crate::error::BuildError;
use crate::ids::{LinkId, NodeId};
use crate::routes::Hop;
use crate::spec::{AgentSpec, NetworkSpec, NodeKind};

#[derive(Debug, Clone, Copy)]
pub(super) struct LinkAttachment {
    pub(super) port: u16,
    /// The direction away from the node.
    pub(super) link: LinkId,
    pub(super) far: NodeId,
}

pub(super) fn node_numbers(spec: &NetworkSpec) -> Result<HashMap<&str, NodeId>, BuildError> {
    let mut nodes = HashMap::new();
    let mut addresses = HashSet::new();
    for (number, node) in (0..).zip(&spec.nodes) {
        if nodes.insert(node.name.as_str(), NodeId(number)).is_some() {
            return Err(BuildError::new(format!("nodes.{}", node.name), "there are two of this name"));
        }
        if let NodeKind::Host(host) | NodeKind::Agent(AgentSpec { host, .. }) = &node.kind {
            if !addresses.insert(host.ip) {
                let field = format!("nodes.{}.ip", node.name);
                return Err(BuildError::new(field, format!("another host has {}", host.ip)));
            }
        }
    }
    Ok(nodes)
}

pub(super) fn attachments(
    spec: &NetworkSpec, nodes: &HashMap<&str, NodeId>,
) -> Result<Vec<Vec<LinkAttachment>>, BuildError> {
    let mut attachments: Vec<Vec<LinkAttachment>> = vec![Vec::new(); spec.nodes.len()];
    for (number, link) in (0u32..).zip(&spec.links) {
        let find = |end: &str, name: &str| {
            let unknown =
                || BuildError::new(format!("links[{number}].{end}.node"), format!("unknown node {name:?}"));
            nodes.get(name).copied().ok_or_else(unknown)
        };
        let (a, b) = (find("a", &link.a.node)?, find("b", &link.b.node)?);
        if a == b {
            return Err(BuildError::new(format!("links[{number}]"), "joins a node to itself"));
        }
        for (end, near, far, port, direction) in [("a", a, b, link.a.port, 0), ("b", b, a, link.b.port, 1)] {
            let field = || format!("links[{number}].{end}.port");
            let here = &mut attachments[near.index()];
            if here.iter().any(|other| other.port == port) {
                return Err(BuildError::new(field(), format!("port {port} has a link already")));
            }
            if matches!(spec.nodes[near.index()].kind, NodeKind::Host(_)) && port != 0 {
                return Err(BuildError::new(field(), "a host has port 0 only"));
            }
            here.push(LinkAttachment { port, link: LinkId(2 * number + direction), far });
        }
    }
    attachments.iter_mut().for_each(|here| here.sort_by_key(|attachment| attachment.port));
    Ok(attachments)
}

pub(super) fn steps(spec: &NetworkSpec, attachments: &[Vec<LinkAttachment>]) -> Vec<Vec<Hop>> {
    let step = |attachment: &LinkAttachment| Hop {
        port: attachment.port,
        link: attachment.link,
        delay: Nanos(spec.links[attachment.link.index() / 2].delay_ns),
        to: attachment.far,
        forwards: !matches!(spec.nodes[attachment.far.index()].kind, NodeKind::Host(_)),
    };
    attachments.iter().map(|here| here.iter().map(step).collect()).collect()
}

pub(super) fn host_addresses(spec: &NetworkSpec) -> Vec<(u32, NodeId)> {
    let address = |(number, node): (u32, &crate::spec::NodeSpec)| match &node.kind {
        NodeKind::Host(host) | NodeKind::Agent(AgentSpec { host, .. }) => {
            Some((u32::from(host.ip), NodeId(number)))
        }
        _ => None,
    };
    (0..).zip(&spec.nodes).filter_map(address).collect()
}

/// The island of each node: nodes joined by links without delay share one. Islands are numbered by
/// their first node.
pub(super) fn islands(spec: &NetworkSpec, attachments: &[Vec<LinkAttachment>]) -> Vec<usize> {
    let mut island_of = vec![usize::MAX; spec.nodes.len()];
    let mut count = 0;
    for first in 0..spec.nodes.len() {
        if island_of[first] != usize::MAX {
            continue;
        }
        island_of[first] = count;
        let mut todo = vec![first];
        while let Some(node) = todo.pop() {
            for attachment in &attachments[node] {
                let far = attachment.far.index();
                if spec.links[attachment.link.index() / 2].delay_ns == 0 && island_of[far] == usize::MAX {
                    island_of[far] = count;
                    todo.push(far);
                }
            }
        }
        count += 1;
    }
    island_of
}
