//! The latencies to other hosts: half of the time that connecting to each takes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::poller::Poller;

use super::dial::Dial;
use crate::machine::{HostId, Peer};

/// A host that has not answered by then counts as absent, if another has answered.
const PATIENCE: Duration = Duration::from_millis(1000);
/// If no host has answered, all may be far away. The dispatchers' default wait is longer than this.
const LONGEST: Duration = Duration::from_millis(2000);

/// A host that is measured.
#[derive(Debug)]
struct Probe {
    host: HostId,
    dial: Dial,
}

/// The measurements that were last asked for.
#[derive(Debug, Default)]
pub struct Probes {
    open: Vec<Probe>,
    measured: Vec<(HostId, Nanos)>,
    began: Option<Instant>,
}

impl Probes {
    /// Begins to measure these hosts, and stops measuring others. `target` names the events of a host's
    /// connection.
    pub fn begin<T: Copy>(
        &mut self, now: Instant, peers: &[Peer], poller: &mut Poller<T>, target: impl Fn(HostId) -> T,
    ) {
        self.end(poller);
        self.measured.clear();
        self.began = Some(now);
        for peer in peers {
            let SocketAddr::V4(to) = peer.address else { continue };
            if let Ok(dial) = Dial::begin(Instant::now(), to, LONGEST, poller, target(peer.host)) {
                self.open.push(Probe { host: peer.host, dial });
            }
        }
    }

    /// Notes that a connection was made or failed.
    pub fn on_ready<T: Copy>(&mut self, now: Instant, host: HostId, poller: &mut Poller<T>) {
        let Some(at) = self.open.iter().position(|probe| probe.host == host) else { return };
        let Some(answer) = self.open[at].dial.answered(now, poller) else { return };
        self.open.swap_remove(at);
        if let Ok(made) = answer {
            poller.remove(&made.socket, made.token);
            let one_way = u64::try_from(made.took.as_nanos() / 2).unwrap_or(u64::MAX);
            self.measured.push((host, Nanos(one_way)));
        }
    }

    /// Asks hosts again that have not answered.
    pub fn keep<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>, target: impl Fn(HostId) -> T) {
        for probe in &mut self.open {
            probe.dial.keep(now, poller, target(probe.host));
        }
    }

    /// The measured latencies, once all hosts have answered or had time to.
    pub fn take<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>) -> Option<Vec<(HostId, Nanos)>> {
        let due = self.due()?;
        if !self.open.is_empty() && now < due {
            return None;
        }
        self.end(poller);
        Some(std::mem::take(&mut self.measured))
    }

    /// When [`Probes::keep`] or [`Probes::take`] has something to do at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let dials = self.open.iter().filter_map(|probe| probe.dial.deadline());
        dials.chain(self.due()).min()
    }

    fn due(&self) -> Option<Instant> {
        let patience = if self.measured.is_empty() { LONGEST } else { PATIENCE };
        self.began.map(|began| began + patience)
    }

    /// Stops to measure: the answers would be to a dispatcher that did not ask.
    pub fn end<T: Copy>(&mut self, poller: &mut Poller<T>) {
        self.began = None;
        for mut probe in self.open.drain(..) {
            probe.dial.end(poller);
        }
    }
}
