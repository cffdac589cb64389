//! A tree of hosts, laid over the links between routers.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use serde::Serialize;

use super::overlay::{Overlay, OverlayHost, SOURCE};
use super::routers::Routers;
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
pub fn tree(overlay: &Overlay<'_>, routers: &Routers) -> TreeShape {
    shape(overlay, routers, |host| overlay.hosts[&host].parent)
}

/// The shape of a chain, in which every host passes the stream to the one that came after it.
pub fn chain(overlay: &Overlay<'_>, routers: &Routers) -> TreeShape {
    let hosts: Vec<HostId> = overlay.hosts.keys().copied().filter(|&host| is_in(overlay, host)).collect();
    let before: BTreeMap<HostId, HostId> = hosts.windows(2).map(|pair| (pair[1], pair[0])).collect();
    shape(overlay, routers, |host| before.get(&host).copied())
}

/// The shape of unicast, in which the source sends to every host.
pub fn unicast(overlay: &Overlay<'_>, routers: &Routers) -> TreeShape {
    shape(overlay, routers, |host| (host != SOURCE && is_in(overlay, host)).then_some(SOURCE))
}

fn is_in(overlay: &Overlay<'_>, host: HostId) -> bool {
    host == SOURCE || overlay.hosts.get(&host).is_some_and(|found| found.joined)
}

/// The shape of multicast, in which routers send a packet once over each link of the shortest paths.
pub fn multicast(overlay: &Overlay<'_>, routers: &Routers) -> TreeShape {
    let mut found = unicast(overlay, routers);
    let source = overlay.hosts[&SOURCE].router;
    let mut carries = vec![0_u32; routers.links()];
    for (_, host) in overlay.hosts.iter().filter(|(&id, _)| is_in(overlay, id)) {
        for link in routers.way(source, host.router) {
            carries[link] = 1;
        }
    }
    (found.stress_max, found.copies) = stress(&carries);
    found
}

fn shape(overlay: &Overlay<'_>, routers: &Routers, parent: impl Fn(HostId) -> Option<HostId>) -> TreeShape {
    let mut carries = vec![0_u32; routers.links()];
    let mut delays: BTreeMap<HostId, Option<(Nanos, usize)>> =
        BTreeMap::from([(SOURCE, Some((Nanos::ZERO, 0)))]);
    let (mut stretches, mut depths) = (Vec::new(), Vec::new());
    let mut by_capacity: BTreeMap<u16, (usize, usize)> = BTreeMap::new();
    for (&id, host) in overlay.hosts.iter().filter(|(&id, _)| id != SOURCE) {
        let Some((delay, depth)) = delay(overlay, &parent, id, &mut delays) else { continue };
        if let Some(from) = parent(id).and_then(|parent| overlay.hosts.get(&parent)) {
            routers.way(from.router, host.router).for_each(|link| carries[link] += 1);
        }
        let direct = overlay.latency(&overlay.hosts[&SOURCE], host);
        stretches.push(delay.0 as f64 / direct.0 as f64);
        depths.push(depth);
        let (sum, count) = by_capacity.entry(host.capacity).or_default();
        (*sum, *count) = (*sum + depth, *count + 1);
    }
    stretches.sort_by(f64::total_cmp);
    let (stress_max, copies) = stress(&carries);
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
    overlay: &Overlay<'_>, parent: &impl Fn(HostId) -> Option<HostId>, host: HostId,
    known: &mut BTreeMap<HostId, Option<(Nanos, usize)>>,
) -> Option<(Nanos, usize)> {
    // A chain is as long as there are hosts, so this does not recurse.
    let (mut way, mut at) = (Vec::new(), host);
    while !known.contains_key(&at) && way.len() <= overlay.hosts.len() {
        way.push(at);
        match parent(at).filter(|parent| overlay.hosts.contains_key(parent)) {
            Some(parent) => at = parent,
            None => {
                known.insert(at, None);
                way.pop();
            }
        }
    }
    let (mut so_far, mut above): (_, Option<&OverlayHost>) =
        (known.get(&at).copied().flatten(), overlay.hosts.get(&at));
    for id in way.into_iter().rev() {
        let here = overlay.hosts.get(&id);
        let edge = above.zip(here).map(|(above, here)| overlay.latency(above, here));
        so_far = so_far.zip(edge).map(|((delay, depth), edge)| (delay + edge, depth + 1));
        known.insert(id, so_far);
        above = here;
    }
    known.get(&host).copied().flatten()
}

/// The most copies on one link, and the copies on all.
fn stress(carries: &[u32]) -> (u32, u64) {
    let most = carries.iter().copied().max().unwrap_or(0);
    (most, carries.iter().map(|&copies| u64::from(copies)).sum())
}
