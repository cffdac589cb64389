//! The study of large trees: hosts join, the tree is measured, then hosts come and go. To be measured, the
//! tree is laid over the links between routers.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::routers::Routers;
use super::stream_tree::{StreamTree, SOURCE};
use super::wires::{HostAttachment, Wires};
use crate::machine::{Demotion, HostId, NodeConfig, Policy};

/// The stream's rate, bit/s.
const STREAM: u64 = 4_000_000;
/// Latency from the source to its router, one way.
const SOURCE_ACCESS: Nanos = Nanos::from_micros(200);
/// Upstream rates of hosts' links, bit/s, and how many of a hundred hosts have each. A host offers to serve
/// as many children as its link can send the stream to.
const UPLINKS: [(u64, u32); 5] =
    [(2_000_000, 20), (4_000_000, 20), (8_000_000, 30), (16_000_000, 20), (32_000_000, 10)];
/// Hosts send each other no signs of life, which would be nearly all there is to simulate: they are told when
/// they would notice a failure.
const NEVER: Nanos = Nanos::from_secs(36_000);
/// Time between two signs of life to the dispatchers.
const ALIVE: Nanos = Nanos::from_millis(500);
/// Time after the last join, and after the churn, in which everything under way ends.
const REST: Nanos = Nanos::from_secs(20);

/// The parameters of a study; times in ns.
#[derive(Debug, Clone, Deserialize)]
pub struct LargeStudySpec {
    pub hosts: usize,
    pub joins_per_s: u64,
    pub transit: usize,
    /// Stub domains of each transit router.
    pub domains: usize,
    /// Routers of each stub domain.
    pub routers: usize,
    pub threshold_ns: u64,
    /// Of a thousand hosts, how many leave, and how many others come, in a minute; half of those that leave
    /// fail.
    pub churn_permille: u64,
    pub churn_ns: u64,
    /// How long it takes others to notice a failure.
    pub silence_ns: u64,
    pub seed: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct LargeStudyOutcome {
    /// Clusters, when all hosts have joined.
    pub clusters: usize,
    pub largest: usize,
    /// The shape of the tree, when all hosts have joined.
    pub tree: TreeShape,
    /// The shape of a chain in the order of joining.
    pub chain: TreeShape,
    pub unicast: TreeShape,
    pub multicast: TreeShape,
    /// Mean time from a join's beginning to its end, ms.
    pub join_mean_ms: f64,
    /// 95th percentile of this time, ms.
    pub join_p95_ms: f64,
    /// Messages of all hosts and dispatchers per join, until all had joined.
    pub messages_a_join: f64,
    /// Probes per join, there and back, besides these messages.
    pub probes_a_join: f64,
    /// Hosts that find no room after all have had time to.
    pub waiting: usize,
    /// Hosts that are to send more than their links carry.
    pub overloaded: usize,
    pub simulated_s: f64,
    pub churn: Option<Churn>,
}

/// The effects of hosts that come and go.
#[derive(Debug, Clone, Serialize)]
pub struct Churn {
    pub gone: u64,
    /// Orders to another parent, per host that left.
    pub moves_a_departure: f64,
    /// Median time without a parent, of hosts whose parent left, ms.
    pub repair_median_ms: f64,
    /// 95th percentile of this time, ms.
    pub repair_p95_ms: f64,
    /// Mean share of the present hosts that the stream reaches, looked at once a second.
    pub reached_mean: f64,
    /// The least share.
    pub reached_least: f64,
    /// Hosts that were in the tree and that the stream does not reach after the churn.
    pub cut_off: usize,
    /// Hosts that find no room after the churn, and try again.
    pub waiting: usize,
    /// The shape of the tree after the churn.
    pub tree: TreeShape,
}

pub fn run(spec: &LargeStudySpec) -> LargeStudyOutcome {
    let routers =
        Routers::transit_stub(spec.transit.max(1), spec.domains.max(1), spec.routers.max(1), spec.seed);
    let mut study = Study {
        spec,
        stubs: routers.stubs.clone(),
        rng: ChaCha8Rng::seed_from_u64(spec.seed ^ 0x7472_6565),
        hosts: source(spec, routers),
    };
    for n in 0..spec.hosts {
        study.join(Nanos(n as u64 * 1_000_000_000 / spec.joins_per_s.max(1)));
    }
    let all = Nanos(spec.hosts as u64 * 1_000_000_000 / spec.joins_per_s.max(1)) + REST;
    study.hosts.run_until(all);
    let hosts = &study.hosts;
    let joins = milliseconds(&hosts.counts.joins);
    let count = joins.len().max(1) as f64;
    let mut outcome = LargeStudyOutcome {
        clusters: hosts.clusters().count(),
        largest: hosts.clusters().max().unwrap_or(0),
        tree: tree(hosts),
        chain: chain(hosts),
        unicast: unicast(hosts),
        multicast: multicast(hosts),
        join_mean_ms: joins.iter().sum::<f64>() / count,
        join_p95_ms: part(&joins, 95),
        messages_a_join: hosts.counts.messages as f64 / count,
        probes_a_join: hosts.counts.probes as f64 / count,
        waiting: study.waiting(),
        overloaded: study.overloaded(),
        simulated_s: 0.0,
        churn: None,
    };
    if spec.churn_permille > 0 {
        outcome.churn = Some(study.churn());
    }
    outcome.simulated_s = study.hosts.now.0 as f64 / 1e9;
    outcome
}

fn source(spec: &LargeStudySpec, routers: Routers) -> StreamTree {
    let policy = Policy {
        threshold: Nanos(spec.threshold_ns),
        demotion: Demotion::Never,
        patience: Nanos::from_secs(6),
        review: Nanos::ZERO,
        ..Policy::default()
    };
    let config = NodeConfig { silence: NEVER, alive: ALIVE, max_children: 64, ..NodeConfig::new(SOURCE) };
    let attachment = HostAttachment { router: routers.stubs[0], access: SOURCE_ACCESS };
    let own = (attachment, policy.max_children);
    let mut tree = StreamTree::new(Wires::new(routers), policy, config, own, spec.seed);
    tree.silence = Nanos(spec.silence_ns);
    tree
}

struct Study<'a> {
    spec: &'a LargeStudySpec,
    /// The routers to which hosts are attached.
    stubs: Vec<usize>,
    rng: ChaCha8Rng,
    hosts: StreamTree,
}

impl Study<'_> {
    /// Lets a host of a random kind join at a random router.
    fn join(&mut self, when: Nanos) {
        let router = self.stubs[self.rng.gen_range(0..self.stubs.len())];
        let access = Nanos::from_micros(self.rng.gen_range(100..1000));
        let mut drawn = self.rng.gen_range(0..100);
        let uplink = UPLINKS.iter().find(|(_, share)| {
            let found = drawn < *share;
            drawn = drawn.saturating_sub(*share);
            found
        });
        let up = uplink.map_or(0, |&(rate, _)| rate);
        let capacity = u16::try_from(up / STREAM).unwrap_or(u16::MAX);
        self.hosts.join(when, HostAttachment { router, access }, capacity);
    }

    /// Hosts that have found no room yet.
    fn waiting(&self) -> usize {
        self.hosts.present().count() - 1 - self.hosts.members().len()
    }

    fn overloaded(&self) -> usize {
        let mut served = BTreeMap::new();
        for parent in self.hosts.present().filter_map(|(host, _)| self.hosts.parent(host)) {
            *served.entry(parent).or_insert(0) += 1;
        }
        let too_many =
            |(host, served): &(HostId, usize)| usize::from(self.hosts.hosts[host].capacity) < *served;
        served.into_iter().filter(too_many).count()
    }

    /// Second by second, some hosts leave and as many others come.
    fn churn(&mut self) -> Churn {
        let gone = self.hosts.counts.gone;
        let repairs = self.hosts.counts.repairs.len();
        let moves = self.moves();
        let a_second = self.spec.hosts as f64 * self.spec.churn_permille as f64 / 1000.0 / 60.0;
        let (mut due, mut shares) = (0.0, Vec::new());
        for _ in 0..self.spec.churn_ns / 1_000_000_000 {
            due += a_second;
            let mut members = self.hosts.members();
            members.shuffle(&mut self.rng);
            for host in members.into_iter().take(due as usize) {
                if self.rng.gen_bool(0.5) {
                    self.hosts.fail(host);
                } else {
                    self.hosts.leave(host);
                }
                self.join(self.hosts.now);
            }
            due -= due.floor();
            self.hosts.run_until(self.hosts.now + Nanos::from_secs(1));
            let members = self.hosts.members().len().max(1);
            shares.push(tree(&self.hosts).reached as f64 / members as f64);
        }
        let gone = self.hosts.counts.gone - gone;
        let moves = self.moves() - moves;
        self.hosts.run_until(self.hosts.now + REST);
        let repairs = milliseconds(&self.hosts.counts.repairs[repairs..]);
        let last = tree(&self.hosts);
        Churn {
            gone,
            moves_a_departure: moves as f64 / gone.max(1) as f64,
            repair_median_ms: part(&repairs, 50),
            repair_p95_ms: part(&repairs, 95),
            reached_mean: shares.iter().sum::<f64>() / shares.len().max(1) as f64,
            reached_least: shares.iter().copied().fold(1.0, f64::min),
            cut_off: self.hosts.members().len() - last.reached,
            waiting: self.waiting(),
            tree: last,
        }
    }

    fn moves(&self) -> u32 {
        self.hosts.hosts.values().map(|host| host.moves).sum()
    }
}

/// Times in milliseconds, in order.
fn milliseconds(times: &[Nanos]) -> Vec<f64> {
    let mut found: Vec<f64> = times.iter().map(|time| time.0 as f64 / 1e6).collect();
    found.sort_by(f64::total_cmp);
    found
}

/// The percentile of sorted values.
fn part(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

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
fn tree(hosts: &StreamTree) -> TreeShape {
    shape(hosts, |host| hosts.parent(host))
}

/// The shape of a chain, in which every host passes the stream to the one that came after it.
fn chain(hosts: &StreamTree) -> TreeShape {
    let chain: Vec<HostId> = std::iter::once(SOURCE).chain(hosts.members()).collect();
    let before: BTreeMap<HostId, HostId> = chain.windows(2).map(|pair| (pair[1], pair[0])).collect();
    shape(hosts, |host| before.get(&host).copied())
}

/// The shape of unicast, in which the source sends to every host.
fn unicast(hosts: &StreamTree) -> TreeShape {
    shape(hosts, |host| hosts.hosts[&host].joined.then_some(SOURCE))
}

/// The shape of multicast, in which routers send a packet once over each link of the shortest paths.
fn multicast(hosts: &StreamTree) -> TreeShape {
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
        Links { hosts, copies: vec![0; hosts.wires.routers.links.len()] }
    }

    /// Changes the number of copies on all links from one host to another.
    fn count(&mut self, from: HostId, to: HostId, copies: impl Fn(u32) -> u32) {
        let wires = &self.hosts.wires;
        let ends = wires.router(from).zip(wires.router(to));
        for link in ends.into_iter().flat_map(|(a, b)| wires.routers.way(a, b)) {
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
    let mut children: BTreeMap<HostId, Vec<HostId>> = BTreeMap::new();
    for (host, _) in hosts.present().filter(|&(host, _)| host != SOURCE) {
        if let Some(above) = parent(host).filter(|above| !hosts.hosts[above].gone) {
            children.entry(above).or_default().push(host);
        }
    }
    let mut links = Links::of(hosts);
    let (mut stretches, mut depths) = (Vec::new(), 0);
    let mut by_capacity: BTreeMap<u16, (usize, usize)> = BTreeMap::new();
    // Each host that is reached, with its delay from the source and the number of edges.
    let mut next = vec![(SOURCE, Nanos::ZERO, 0)];
    while let Some((from, so_far, level)) = next.pop() {
        for host in children.remove(&from).unwrap_or_default() {
            let (delay, depth) = (so_far + hosts.wires.latency(from, host), level + 1);
            links.count(from, host, |copies| copies + 1);
            stretches.push(delay.0 as f64 / hosts.wires.latency(SOURCE, host).0 as f64);
            depths += depth;
            let (sum, count) = by_capacity.entry(hosts.hosts[&host].capacity).or_default();
            (*sum, *count) = (*sum + depth, *count + 1);
            next.push((host, delay, depth));
        }
    }
    stretches.sort_by(f64::total_cmp);
    let (stress_max, copies) = links.stress();
    let reached = stretches.len();
    let mean = |sum: f64| if reached > 0 { sum / reached as f64 } else { 0.0 };
    let ratio = |(capacity, (sum, count)): (u16, (usize, usize))| (capacity, sum as f64 / count as f64);
    TreeShape {
        reached,
        stress_max,
        copies,
        stretch_mean: mean(stretches.iter().sum()),
        depth_mean: mean(depths as f64),
        depth_by_capacity: by_capacity.into_iter().map(ratio).collect(),
    }
}
