//! What hosts of one kind have of a stream, and how far behind they are.

use groupflow_base::{BitRate, Nanos};
use serde::Serialize;

use super::stream::{Host, Stream};
use crate::machine::HostId;

/// Who is so far behind the source is late.
const LATE: Nanos = Nanos::from_millis(500);
/// The end of the stream, in which the tree should have settled.
pub(super) const END: Nanos = Nanos::from_secs(10);

/// What hosts of one kind had, from when the slow one was slow until the stream's end.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Group {
    /// So many.
    pub hosts: usize,
    /// Bit/s: the median of the hosts, and the least.
    pub goodput_median: f64,
    /// The least.
    pub goodput_least: f64,
    /// In the last 10 s: the least.
    pub end_least: f64,
    /// Behind the source, s: the most at any time, of those that are not cut off.
    pub lag_most: f64,
    /// At the end.
    pub lag_end: f64,
    /// Until all that are not cut off were less than 0.5 s behind again, s; `None`: not before the stream's end, or there are none.
    pub caught_up: Option<f64>,
    /// Bytes that were skipped.
    pub skipped: u64,
    /// Hosts for which the stream was broken off.
    pub cut_off: usize,
}

/// Hosts of one kind, while they are looked at.
pub(super) struct Kind {
    hosts: Vec<HostId>,
    /// Bytes that each had when it began, and when the end began.
    begun: Vec<u64>,
    settled: Vec<u64>,
    lag_most: Nanos,
    /// When one of them was late last.
    late: Option<Nanos>,
}

impl Kind {
    /// From now on.
    pub(super) fn begin(hosts: Vec<HostId>, stream: &Stream) -> Kind {
        let begun = read(&hosts, stream);
        Kind { hosts, begun, settled: Vec::new(), lag_most: Nanos::ZERO, late: None }
    }

    /// The end of the stream begins.
    pub(super) fn settle(&mut self, stream: &Stream) {
        self.settled = read(&self.hosts, stream);
    }

    /// How far the last of them is behind a source that was to have that rate, now, in the stream; `None`: all are cut off.
    pub(super) fn look(&mut self, stream: &Stream, rate: BitRate, at: Nanos) -> Option<Nanos> {
        let lag = self.hosts.iter().filter_map(|host| lag(&stream.hosts[host], rate, at)).max()?;
        self.lag_most = self.lag_most.max(lag);
        if lag > LATE {
            self.late = Some(at);
        }
        Some(lag)
    }

    /// What they had between two times in the stream, of which the second is now.
    pub(super) fn end(&self, stream: &Stream, rate: BitRate, (from, to): (Nanos, Nanos)) -> Group {
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
        Group {
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

fn read(hosts: &[HostId], stream: &Stream) -> Vec<u64> {
    hosts.iter().map(|host| stream.hosts[host].read).collect()
}

/// How long ago the byte was due at the source that the host gets next; `None`: it is cut off.
fn lag(host: &Host, rate: BitRate, at: Nanos) -> Option<Nanos> {
    let due = rate.time_for(host.read + host.skipped);
    host.broken.is_none().then(|| at.saturating_sub(due))
}

pub(super) fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}
