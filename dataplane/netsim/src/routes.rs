//! The way to every host: fewest hops, then least delay, then by the names of the nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use groupflow_base::Nanos;
use rustc_hash::FxHashMap;

use crate::ids::{LinkId, NodeId};

/// The port that means that there is no way; also the port of a node towards itself.
const NOWHERE: u16 = u16::MAX;

/// A step to a neighbour.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    pub port: u16,
    pub link: LinkId,
    pub delay: Nanos,
    pub to: NodeId,
    /// Whether the neighbour passes frames on.
    pub forwards: bool,
}

/// The first steps to all hosts from all nodes.
#[derive(Debug)]
pub struct Routes {
    /// Place of each host among the attachments, by the host's address.
    hosts: FxHashMap<u32, usize>,
    /// The node beside each host, and the host's port there. A split agent has an address of its own.
    attachments: Vec<(NodeId, u16)>,
    /// For each node that forwards, its port towards each node.
    ports: Vec<Vec<u16>>,
}

impl Routes {
    /// Computes the routes. `hosts` has address and node, `steps` the neighbours of each node by port;
    /// `names` decides between equally good ways.
    pub fn new(hosts: &[(u32, NodeId)], steps: &[Vec<Hop>], names: &[String]) -> Routes {
        let (mut places, mut attachments) = (FxHashMap::default(), Vec::new());
        for &(address, host) in hosts {
            if steps.iter().flatten().any(|step| step.to == host && step.forwards) {
                places.insert(address, attachments.len());
                attachments.push((host, NOWHERE));
                continue;
            }
            let Some(up) = steps[host.index()].first() else { continue };
            if let Some(back) = steps[up.to.index()].iter().find(|step| step.to == host) {
                places.insert(address, attachments.len());
                attachments.push((up.to, back.port));
            }
        }
        let order = order_of(names);
        let mut ports = vec![Vec::new(); steps.len()];
        for step in steps.iter().flatten().filter(|step| step.forwards) {
            if ports[step.to.index()].is_empty() {
                ports[step.to.index()] = first_ports(step.to, steps, &order);
            }
        }
        Routes { hosts: places, attachments, ports }
    }

    #[inline]
    pub fn port(&self, node: NodeId, address: u32) -> Option<u16> {
        let (goal, port) = self.attachments[*self.hosts.get(&address)?];
        if goal == node {
            return Some(port).filter(|&port| port != NOWHERE);
        }
        self.ports[node.index()].get(goal.index()).copied().filter(|&port| port != NOWHERE)
    }

    /// The links from a host to an address, in order. `None`: there is no way.
    pub fn path(&self, from: NodeId, address: u32, steps: &[Vec<Hop>]) -> Option<Vec<LinkId>> {
        let (goal, last) = self.attachments[*self.hosts.get(&address)?];
        let (mut links, mut at) = (Vec::new(), from);
        while links.len() <= steps.len() {
            let here = &steps[at.index()];
            let step = match &here[..] {
                [only] if at == from => only,
                _ => here.iter().find(|step| Some(step.port) == self.port(at, address))?,
            };
            links.push(step.link);
            if !step.forwards || step.to == goal && last == NOWHERE {
                return Some(links);
            }
            at = step.to;
        }
        None
    }
}

/// The rank of each node's name among all names.
fn order_of(names: &[String]) -> Vec<u32> {
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    sorted.sort_by(|&a, &b| names[a].cmp(&names[b]));
    let mut order = vec![0; names.len()];
    (0..).zip(sorted).for_each(|(rank, node)| order[node] = rank);
    order
}

/// The first port on the way from `root` to each node.
///
/// The controller's rule (`Topology.path`), so that routers and P4 switches agree: a tree is grown by
/// hops, delay, the name of the node, the name of its parent.
fn first_ports(root: NodeId, steps: &[Vec<Hop>], order: &[u32]) -> Vec<u16> {
    let mut ports = vec![NOWHERE; steps.len()];
    let mut done = vec![false; steps.len()];
    let rank = order[root.index()];
    let mut todo = BinaryHeap::from([Reverse((0, Nanos::ZERO, rank, rank, root, NOWHERE))]);
    while let Some(Reverse((hops, delay, rank, _, node, first))) = todo.pop() {
        if std::mem::replace(&mut done[node.index()], true) {
            continue;
        }
        ports[node.index()] = first;
        let here = &steps[node.index()];
        for (place, step) in here.iter().enumerate().filter(|(_, step)| step.forwards) {
            // Of several links to one neighbour, that of the lowest port.
            if done[step.to.index()] || here[..place].iter().any(|earlier| earlier.to == step.to) {
                continue;
            }
            let first = if node == root { step.port } else { first };
            todo.push(Reverse((hops + 1, delay + step.delay, order[step.to.index()], rank, step.to, first)));
        }
    }
    ports
}

#[cfg(test)]
#[path = "tests/routes.rs"]
mod tests;
