//! The share of a stream that the hosts of one kind have, and their lag behind the source.

use groupflow_base::{BitRate, Nanos};
use serde::Serialize;

use super::stream_tree::{StreamHost, StreamTree};
use crate::machine::HostId;

/// A host that is further behind the source than this counts as late.
const LATE: Nanos = Nanos::from_millis(500);
/// The last part of the stream, in which the tree should have settled.
pub(super) const END: Nanos = Nanos::from_secs(10);

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
pub(super) struct Kind {
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
    pub(super) fn begin(hosts: Vec<HostId>, stream: &StreamTree) -> Kind {
        let begun = read(&hosts, stream);
        Kind { hosts, begun, settled: Vec::new(), lag_most: Nanos::ZERO, late: None }
    }

    /// Notes that the last part of the stream begins.
    pub(super) fn settle(&mut self, stream: &StreamTree) {
        self.settled = read(&self.hosts, stream);
    }

    /// The lag of the last of the hosts behind a source with this rate, at a time in the stream; `None`: all
    /// are cut off.
    pub(super) fn look(&mut self, stream: &StreamTree, rate: BitRate, at: Nanos) -> Option<Nanos> {
        let lag = self.hosts.iter().filter_map(|host| lag(&stream.hosts[host], rate, at)).max()?;
        self.lag_most = self.lag_most.max(lag);
        if lag > LATE {
            self.late = Some(at);
        }
        Some(lag)
    }

    /// The bytes that the hosts received between two times in the stream, of which the second is now.
    pub(super) fn end(&self, stream: &StreamTree, rate: BitRate, (from, to): (Nanos, Nanos)) -> GroupGoodput {
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
        let since = seconds(self.late.unwrap_or(from).saturating_sub(from));
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
    host.broken.is_none().then(|| at.saturating_sub(due))
}

pub(super) fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}
