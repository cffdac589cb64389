//! The effect of one slow host on the others. The hosts are a cluster around the source; the link of a host
//! that serves others becomes slower than the stream.

use std::collections::BTreeSet;

use groupflow_base::{BitRate, Nanos};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::stream_tree::{StreamHost, StreamTree, SOURCE};
use super::wires::{HostAttachment, Wires};
use crate::machine::{Demotion, HostId, NodeConfig, Policy, Slow};

/// Time between two joins; then the stream waits for as long as all joins took.
const BETWEEN_JOINS: Nanos = Nanos::from_millis(50);
const REST_JOINS: u64 = 100;
/// Latency from a host to the network, one way, µs: all hosts are nearer to the source than
/// `Policy::threshold`.
const ACCESS_US: (u64, u64) = (500, 2500);
/// Children that hosts offer to serve: the fewest, and the most, which the source offers.
const CAPACITY: (u16, u16) = (2, 4);
/// Time between two writes of the source, and between two looks at the hosts.
const TICK: Nanos = Nanos::from_millis(10);
const LOOK: Nanos = Nanos::from_millis(100);
/// Looks between two that are reported.
const LOOKS_A_REPORT: usize = 5;
/// A host that is further behind the source than this counts as late.
const LATE: Nanos = Nanos::from_millis(500);
/// The last part of the stream, in which the tree should have settled.
const END: Nanos = Nanos::from_secs(10);

/// The parameters of a study; times in ns, rates in bit/s.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowStudySpec {
    /// Hosts, not counting the source.
    pub hosts: usize,
    pub rate_bps: u64,
    /// Rate of each host's link, both ways.
    pub link_bps: u64,
    /// Rate of the slow host's link, once it is slow; `None`: no host becomes slow.
    pub slow_bps: Option<u64>,
    /// When the host becomes slow, from the stream's start.
    pub slow_at_ns: u64,
    pub stream_ns: u64,
    /// Bytes that a node caches.
    pub cache: u64,
    pub demotion: Demotion,
    pub mode: Slow,
    /// The number of children that each host offers to serve, and the source; `None`: different ones.
    pub children: Option<u16>,
    /// The latency from each host to the network, one way; `None`: different ones.
    pub access_ns: Option<u64>,
    /// Whether hosts send to one child after the other ([`Wires::one_by_one`]).
    pub one_by_one: bool,
    pub seed: u64,
}

/// The lag of the last host of each kind behind the source, s; `None`: all are cut off, or there are none.
#[derive(Debug, Clone, Serialize)]
pub struct StreamLag {
    /// Time in the stream, s.
    pub at: f64,
    /// Lag of the hosts that were below the slow host.
    pub below: Option<f64>,
    pub others: Option<f64>,
    pub slow: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SlowStudyOutcome {
    /// The hosts that were below the slow host when it became slow.
    pub below: GroupGoodput,
    pub others: GroupGoodput,
    pub slow: GroupGoodput,
    /// The number of clusters at that time.
    pub clusters: usize,
    /// Hosts that found no room, and belong to none of these groups.
    pub without: usize,
    /// Children of the slow host at that time.
    pub children: usize,
    /// Orders to another parent since then.
    pub moves: u32,
    /// Orders among them that the slow host got.
    pub slow_moves: u32,
    /// Children of the source when the stream ended; it offers to serve 4.
    pub source_children: usize,
    /// How often hosts reported since then that data accumulate for a child.
    pub reports: usize,
    /// Time from when the host became slow until the first report about it, s.
    pub reported: Option<f64>,
    /// The lags, every half second.
    pub looks: Vec<StreamLag>,
    pub simulated_s: f64,
}

struct Study<'a> {
    spec: &'a SlowStudySpec,
    stream: StreamTree,
    began: Nanos,
    written: u64,
    looks: Vec<StreamLag>,
}

pub fn run(spec: &SlowStudySpec) -> SlowStudyOutcome {
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed ^ 0x736c_6f77);
    let stream = gather(spec, &mut rng);
    let began = stream.now;
    let mut study = Study { spec, stream, began, written: 0, looks: Vec::new() };
    let slow_at = Nanos(spec.slow_at_ns.min(spec.stream_ns));
    study.go_on(slow_at, &mut []);
    let slow = study.choose(&mut rng);
    let below: BTreeSet<HostId> = study.all().filter(|&host| study.is_below(host, slow)).collect();
    let placed = |host: &HostId| study.stream.parent(*host).is_some();
    let without = study.all().filter(|host| !placed(host)).count();
    let others = study.all().filter(|host| *host != slow && !below.contains(host));
    let others: Vec<HostId> = others.filter(placed).collect();
    let kinds = [below.into_iter().collect(), others, vec![slow]];
    let mut kinds = kinds.map(|hosts| Kind::begin(hosts, &study.stream));
    let children = study.children(slow);
    let moves = |study: &Study<'_>| study.all().map(|host| study.stream.hosts[&host].moves).sum::<u32>();
    let (moves_before, reports) = (moves(&study), study.stream.reports.len());
    let clusters = study.stream.clusters().count();
    let slow_moves = study.stream.hosts[&slow].moves;
    if let Some(rate) = spec.slow_bps {
        study.stream.wires.set_rate(slow, BitRate(rate));
    }
    let end = Nanos(spec.stream_ns);
    study.go_on((end - END).max(slow_at), &mut kinds);
    kinds.iter_mut().for_each(|kind| kind.settle(&study.stream));
    study.go_on(end, &mut kinds);
    let reports = &study.stream.reports[reports..];
    let first = reports.iter().find(|(_, _, child)| *child == slow).map(|&(when, ..)| when);
    let [below, others, own] =
        kinds.map(|kind| kind.end(&study.stream, BitRate(spec.rate_bps), (slow_at, end)));
    SlowStudyOutcome {
        clusters,
        without,
        below,
        others,
        slow: own,
        children,
        moves: moves(&study) - moves_before,
        slow_moves: study.stream.hosts[&slow].moves - slow_moves,
        source_children: study.children(SOURCE),
        reports: reports.len(),
        reported: first.map(|when| seconds(when - began - slow_at)),
        looks: study.looks,
        simulated_s: seconds(study.stream.now),
    }
}

/// Lets the hosts join and find their places.
fn gather(spec: &SlowStudySpec, rng: &mut ChaCha8Rng) -> StreamTree {
    let config = NodeConfig { slow: spec.mode, max_children: 64, ..NodeConfig::new(SOURCE) };
    let policy = Policy { demotion: spec.demotion, review: Nanos::ZERO, ..Policy::default() };
    let own = spec.children.unwrap_or(CAPACITY.1);
    let source = attachment(spec, ACCESS_US.0);
    let mut wires = Wires::default();
    wires.one_by_one = spec.one_by_one;
    let mut stream = StreamTree::new(wires, policy, config.with_cache(spec.cache), (source, own), spec.seed);
    for _ in 0..spec.hosts {
        let at = attachment(spec, rng.gen_range(ACCESS_US.0..=ACCESS_US.1));
        let drawn = rng.gen_range(CAPACITY.0..=CAPACITY.1);
        stream.join(stream.now, at, spec.children.unwrap_or(drawn));
        let next = stream.now + BETWEEN_JOINS;
        stream.run_until(next);
    }
    for _ in 0..REST_JOINS {
        let next = stream.now + BETWEEN_JOINS;
        stream.run_until(next);
    }
    stream
}

fn attachment(spec: &SlowStudySpec, access_us: u64) -> HostAttachment {
    let access = spec.access_ns.map_or(Nanos::from_micros(access_us), Nanos);
    let rate = BitRate(spec.link_bps);
    HostAttachment { router: None, access, up: rate, down: rate }
}

impl Study<'_> {
    /// All hosts except the source.
    fn all(&self) -> impl Iterator<Item = HostId> + '_ {
        self.stream.hosts.keys().copied().filter(|&host| host != SOURCE)
    }

    fn children(&self, host: HostId) -> usize {
        self.all().filter(|&child| self.stream.parent(child) == Some(host)).count()
    }

    /// Chooses a host that serves at least two others and is not its parent's only child; if there is none,
    /// any host that serves one.
    fn choose(&self, rng: &mut ChaCha8Rng) -> HostId {
        let shares =
            |&host: &HostId| self.stream.parent(host).is_some_and(|parent| self.children(parent) > 1);
        let fit: Vec<HostId> = self.all().filter(|&host| self.children(host) > 1).filter(shares).collect();
        let any = || self.all().find(|&host| self.children(host) > 0).unwrap_or(SOURCE);
        fit.choose(rng).copied().unwrap_or_else(any)
    }

    fn is_below(&self, host: HostId, top: HostId) -> bool {
        let mut above = std::iter::successors(self.stream.parent(host), |&at| self.stream.parent(at));
        above.any(|at| at == top)
    }

    /// Runs the stream until a time in it.
    fn go_on(&mut self, until: Nanos, kinds: &mut [Kind]) {
        let mut at = self.stream.now - self.began;
        while at < until {
            let due = BitRate(self.spec.rate_bps).bytes_in(at).saturating_sub(self.written);
            // A source without room takes as many bytes as it can, and the rest later.
            let bytes = vec![0; usize::try_from(due.min(self.spec.cache)).unwrap_or(usize::MAX)];
            self.written += self.stream.write(&bytes) as u64;
            at = (at + TICK).min(until);
            self.stream.run_until(self.began + at);
            if at.0 % LOOK.0 == 0 {
                self.look(at, kinds);
            }
        }
    }

    fn look(&mut self, at: Nanos, kinds: &mut [Kind]) {
        let rate = BitRate(self.spec.rate_bps);
        let last: Vec<Option<Nanos>> =
            kinds.iter_mut().map(|kind| kind.look(&self.stream, rate, at)).collect();
        if let &[below, others, slow] = last.as_slice() {
            if at.0 % (LOOKS_A_REPORT as u64 * LOOK.0) == 0 {
                let [below, others, slow] = [below, others, slow].map(|lag| lag.map(seconds));
                self.looks.push(StreamLag { at: seconds(at), below, others, slow });
            }
        }
    }
}

/// The bytes that the hosts of one kind received, from when the slow host became slow until the stream's end.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GroupGoodput {
    pub hosts: usize,
    /// Median goodput of the hosts, bit/s.
    pub goodput_median: f64,
    /// Least goodput of a host, bit/s.
    pub goodput_least: f64,
    /// Least goodput of a host in the last 10 s, bit/s.
    pub end_least: f64,
    /// Greatest lag behind the source at any time, s, of the hosts that are not cut off.
    pub lag_most: f64,
    /// Greatest lag at the end, s.
    pub lag_end: f64,
    /// Time until all hosts that are not cut off were less than 0.5 s behind again, s; `None`: this did not
    /// happen before the stream's end, or there are no such hosts.
    pub caught_up: Option<f64>,
    /// Bytes that were skipped.
    pub skipped: u64,
    /// Hosts for which the stream was broken off.
    pub cut_off: usize,
}

/// The hosts of one kind, while they are observed.
struct Kind {
    hosts: Vec<HostId>,
    /// Bytes that each host had when the observation began, and when the last part of the stream began.
    begun: Vec<u64>,
    settled: Vec<u64>,
    lag_most: Nanos,
    /// When one of the hosts was last late.
    late: Option<Nanos>,
}

impl Kind {
    /// Begins to observe these hosts.
    fn begin(hosts: Vec<HostId>, stream: &StreamTree) -> Kind {
        let begun = read(&hosts, stream);
        Kind { hosts, begun, settled: Vec::new(), lag_most: Nanos::ZERO, late: None }
    }

    /// Notes that the last part of the stream begins.
    fn settle(&mut self, stream: &StreamTree) {
        self.settled = read(&self.hosts, stream);
    }

    /// The lag of the last of the hosts behind a source with this rate, at a time in the stream; `None`: all
    /// are cut off.
    fn look(&mut self, stream: &StreamTree, rate: BitRate, at: Nanos) -> Option<Nanos> {
        let lag = self.hosts.iter().filter_map(|host| lag(&stream.hosts[host], rate, at)).max()?;
        self.lag_most = self.lag_most.max(lag);
        if lag > LATE {
            self.late = Some(at);
        }
        Some(lag)
    }

    /// The bytes that the hosts received between two times in the stream, of which the second is now.
    fn end(&self, stream: &StreamTree, rate: BitRate, (from, to): (Nanos, Nanos)) -> GroupGoodput {
        let rates = |before: &[u64], span: Nanos| {
            let now = read(&self.hosts, stream);
            let rate = |(now, before): (u64, &u64)| (now - before) as f64 * 8.0 / seconds(span).max(1e-9);
            let mut rates: Vec<f64> = now.into_iter().zip(before).map(rate).collect();
            rates.sort_by(f64::total_cmp);
            rates
        };
        let all = rates(&self.begun, to - from);
        let last = rates(&self.settled, END.min(to - from));
        let hosts = || self.hosts.iter().map(|host| &stream.hosts[host]);
        let lag_end = hosts().filter_map(|host| lag(host, rate, to)).max().unwrap_or(Nanos::ZERO);
        let cut_off = hosts().filter(|host| host.broken.is_some()).count();
        let since = seconds(self.late.unwrap_or(from) - from);
        GroupGoodput {
            hosts: self.hosts.len(),
            goodput_median: all.get(all.len() / 2).copied().unwrap_or(0.0),
            goodput_least: all.first().copied().unwrap_or(0.0),
            end_least: last.first().copied().unwrap_or(0.0),
            lag_most: seconds(self.lag_most),
            lag_end: seconds(lag_end),
            caught_up: (lag_end <= LATE && cut_off < self.hosts.len()).then_some(since),
            skipped: hosts().map(|host| host.skipped).sum(),
            cut_off,
        }
    }
}

fn read(hosts: &[HostId], stream: &StreamTree) -> Vec<u64> {
    hosts.iter().map(|host| stream.hosts[host].read).collect()
}

/// How long ago the source was to send the byte that the host gets next; `None`: the host is cut off.
fn lag(host: &StreamHost, rate: BitRate, at: Nanos) -> Option<Nanos> {
    let due = rate.time_for(host.read + host.skipped);
    host.broken.is_none().then(|| at - due)
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}
