//! Transit-stub networks of routers (Zegura, Calvert and Bhattacharjee 1996): transit routers far from each
//! other, each with stub domains of routers near to each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use groupflow_base::Nanos;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Latency, one way, ms: between transit routers, from a transit router to a stub domain, and within a stub
/// domain.
const TRANSIT_MS: (u64, u64) = (10, 40);
const ATTACH_MS: (u64, u64) = (2, 8);
const STUB_MS: (u64, u64) = (1, 2);
/// Links per router of a domain, beyond those that keep the domain connected.
const MORE_LINKS: f64 = 0.5;

/// A link between two routers, undirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RouterLink {
    ends: (usize, usize),
    latency: Nanos,
}

/// A network of routers, and the shortest path between any two.
#[derive(Debug, Clone)]
pub struct Routers {
    pub(super) links: Vec<RouterLink>,
    /// The routers to which hosts are attached.
    pub stubs: Vec<usize>,
    /// Shortest paths by source and target: the latency, and the last link.
    ways: Vec<Vec<(Nanos, Option<usize>)>>,
}

impl Routers {
    /// A network of `transit` transit routers, each with `domains` stub domains of `size` routers.
    pub fn transit_stub(transit: usize, domains: usize, size: usize, seed: u64) -> Routers {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut links, mut stubs) = (Vec::new(), Vec::new());
        let core: Vec<usize> = (0..transit).collect();
        join(&core, TRANSIT_MS, &mut links, &mut rng);
        let mut next = transit;
        for router in 0..transit {
            for _ in 0..domains {
                let domain: Vec<usize> = (next..next + size).collect();
                next += size;
                join(&domain, STUB_MS, &mut links, &mut rng);
                links.push(RouterLink { ends: (router, domain[0]), latency: draw(ATTACH_MS, &mut rng) });
                stubs.extend(domain);
            }
        }
        let mut found = Routers { links, stubs, ways: Vec::new() };
        found.ways = found.shortest(next);
        found
    }

    /// Latency from one router to another, one way.
    pub fn latency(&self, from: usize, to: usize) -> Nanos {
        self.ways[from][to].0
    }

    /// The links of the shortest path, from its end backwards.
    pub fn way(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        let mut at = to;
        std::iter::from_fn(move || {
            let link = self.ways[from][at].1?;
            let (a, b) = self.links[link].ends;
            at = if at == a { b } else { a };
            Some(link)
        })
    }

    /// Dijkstra's algorithm, from every router.
    fn shortest(&self, routers: usize) -> Vec<Vec<(Nanos, Option<usize>)>> {
        let mut beside = vec![Vec::new(); routers];
        for (number, link) in self.links.iter().enumerate() {
            let (a, b) = link.ends;
            beside[a].push((b, number));
            beside[b].push((a, number));
        }
        let from = |source: usize| {
            let mut ways = vec![(Nanos::MAX, None); routers];
            ways[source].0 = Nanos::ZERO;
            let mut next = BinaryHeap::from([Reverse((Nanos::ZERO, source))]);
            while let Some(Reverse((so_far, at))) = next.pop() {
                if so_far > ways[at].0 {
                    continue;
                }
                for &(to, link) in &beside[at] {
                    let length = so_far + self.links[link].latency;
                    if length < ways[to].0 {
                        ways[to] = (length, Some(link));
                        next.push(Reverse((length, to)));
                    }
                }
            }
            ways
        };
        (0..routers).map(from).collect()
    }
}

/// Connects routers by a random tree, and some more links.
fn join(routers: &[usize], latency: (u64, u64), links: &mut Vec<RouterLink>, rng: &mut ChaCha8Rng) {
    for (n, &router) in routers.iter().enumerate().skip(1) {
        let other = routers[rng.gen_range(0..n)];
        links.push(RouterLink { ends: (other, router), latency: draw(latency, rng) });
    }
    for &router in routers {
        let other = routers[rng.gen_range(0..routers.len())];
        if other != router && rng.gen_bool(MORE_LINKS) {
            links.push(RouterLink { ends: (router, other), latency: draw(latency, rng) });
        }
    }
}

fn draw((least, most): (u64, u64), rng: &mut ChaCha8Rng) -> Nanos {
    Nanos::from_micros(rng.gen_range(least * 1000..=most * 1000))
}

#[cfg(test)]
#[path = "tests/routers.rs"]
mod tests;
