//! A tree of hosts, laid over the links between routers.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use serde::Serialize;

use super::routers::Routers;
use super::stream_tree::{StreamTree, SOURCE};
use crate::machine::HostId;

/// Figures of one way to distribute a stream.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TreeShape {
    /// Hosts that the stream reaches, not counting the source.
    pub reached: usize,
    /// The most copies of a packet on one link between routers.
    pub stress_max: u32,
    /// Copies over all links.
    pub copies: u64,
    /// Mean over hosts of the ratio of a packet's delay to its delay by unicast.
    pub stretch_mean: f64,
    /// Mean number of edges from the source to a host.
    pub depth_mean: f64,
    /// Mean number of edges to hosts by the number of children that they offer to serve.
    pub depth_by_capacity: BTreeMap<u16, f64>,
}

/// The shape of the tree as hosts are connected now.
pub fn tree(hosts: &StreamTree) -> TreeShape {
    shape(hosts, |host| hosts.parent(host))
}

/// The shape of a chain, in which every host passes the stream to the one that came after it.
pub fn chain(hosts: &StreamTree) -> TreeShape {
    let chain: Vec<HostId> = std::iter::once(SOURCE).chain(hosts.members()).collect();
    let before: BTreeMap<HostId, HostId> = chain.windows(2).map(|pair| (pair[1], pair[0])).collect();
    shape(hosts, |host| before.get(&host).copied())
}

/// The shape of unicast, in which the source sends to every host.
pub fn unicast(hosts: &StreamTree) -> TreeShape {
    shape(hosts, |host| hosts.hosts[&host].joined.then_some(SOURCE))
}

/// The shape of multicast, in which routers send a packet once over each link of the shortest paths.
pub fn multicast(hosts: &StreamTree) -> TreeShape {
    let mut found = unicast(hosts);
    let mut links = Links::of(hosts);
    for host in hosts.members() {
        links.count(SOURCE, host, |_| 1);
    }
    (found.stress_max, found.copies) = links.stress();
    found
}

/// Copies on each link between routers.
struct Links<'a> {
    hosts: &'a StreamTree,
    copies: Vec<u32>,
}

impl<'a> Links<'a> {
    fn of(hosts: &'a StreamTree) -> Links<'a> {
        Links { hosts, copies: vec![0; hosts.wires.routers().map_or(0, Routers::links)] }
    }

    /// Changes the number of copies on all links from one host to another.
    fn count(&mut self, from: HostId, to: HostId, copies: impl Fn(u32) -> u32) {
        let wires = &self.hosts.wires;
        let ends = wires.router(from).zip(wires.router(to));
        for link in wires.routers().zip(ends).into_iter().flat_map(|(routers, (a, b))| routers.way(a, b)) {
            self.copies[link] = copies(self.copies[link]);
        }
    }

    /// The most copies on one link, and the copies on all.
    fn stress(&self) -> (u32, u64) {
        let most = self.copies.iter().copied().max().unwrap_or(0);
        (most, self.copies.iter().map(|&copies| u64::from(copies)).sum())
    }
}

fn shape(hosts: &StreamTree, parent: impl Fn(HostId) -> Option<HostId>) -> TreeShape {
    let parent = |host| parent(host).filter(|above| !hosts.hosts[above].gone);
    let mut links = Links::of(hosts);
    let mut delays: BTreeMap<HostId, Option<(Nanos, usize)>> =
        BTreeMap::from([(SOURCE, Some((Nanos::ZERO, 0)))]);
    let (mut stretches, mut depths) = (Vec::new(), Vec::new());
    let mut by_capacity: BTreeMap<u16, (usize, usize)> = BTreeMap::new();
    for (id, host) in hosts.present().filter(|&(id, _)| id != SOURCE) {
        let Some((delay, depth)) = delay(hosts, &parent, id, &mut delays) else { continue };
        if let Some(from) = parent(id) {
            links.count(from, id, |copies| copies + 1);
        }
        stretches.push(delay.0 as f64 / hosts.wires.latency(SOURCE, id).0 as f64);
        depths.push(depth);
        let (sum, count) = by_capacity.entry(host.capacity).or_default();
        (*sum, *count) = (*sum + depth, *count + 1);
    }
    stretches.sort_by(f64::total_cmp);
    let (stress_max, copies) = links.stress();
    let reached = stretches.len();
    let mean = |sum: f64| if reached > 0 { sum / reached as f64 } else { 0.0 };
    TreeShape {
        reached,
        stress_max,
        copies,
        stretch_mean: mean(stretches.iter().sum()),
        depth_mean: mean(depths.iter().sum::<usize>() as f64),
        depth_by_capacity: by_capacity
            .into_iter()
            .map(|(capacity, (sum, count))| (capacity, sum as f64 / count as f64))
            .collect(),
    }
}

/// A host's delay from the source, and the number of edges; `None`: the stream does not reach it.
fn delay(
    hosts: &StreamTree, parent: &impl Fn(HostId) -> Option<HostId>, host: HostId,
    known: &mut BTreeMap<HostId, Option<(Nanos, usize)>>,
) -> Option<(Nanos, usize)> {
    // A chain is as long as there are hosts, so this does not recurse.
    let (mut way, mut at) = (Vec::new(), host);
    while !known.contains_key(&at) && way.len() <= hosts.hosts.len() {
        way.push(at);
        match parent(at) {
            Some(parent) => at = parent,
            None => {
                known.insert(at, None);
                way.pop();
            }
        }
    }
    let mut so_far = known.get(&at).copied().flatten();
    for id in way.into_iter().rev() {
        so_far = so_far.map(|(delay, depth)| (delay + hosts.wires.latency(at, id), depth + 1));
        known.insert(id, so_far);
        at = id;
    }
    known.get(&host).copied().flatten()
}
