//! How far other hosts are: half of the time that it takes to connect to them.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use groupflow_protocol::tree::{HostId, Peer};
use groupflow_protocol::Nanos;

use crate::gather::link;
use crate::split::poller::{Poller, Token};
use crate::split::tcp;

/// Who has not answered by then is not there, if another has.
const PATIENCE: Duration = Duration::from_millis(1000);
/// If nobody has, all may be far away. By default dispatchers wait longer than that.
const LONGEST: Duration = Duration::from_millis(2000);

/// One host that is measured.
#[derive(Debug)]
struct Probe {
    host: HostId,
    socket: TcpStream,
    token: Token,
    began: Instant,
}

/// Those that were asked for last.
#[derive(Debug, Default)]
pub struct Probes {
    open: Vec<Probe>,
    measured: Vec<(HostId, Nanos)>,
    began: Option<Instant>,
}

impl Probes {
    /// Begins to measure these, and no others any more. `target`: what events of a host's connection are called.
    pub fn begin<T: Copy>(
        &mut self,
        now: Instant,
        peers: &[Peer],
        poller: &mut Poller<T>,
        target: impl Fn(HostId) -> T,
    ) {
        self.end(poller);
        self.measured.clear();
        self.began = Some(now);
        for peer in peers {
            let SocketAddr::V4(to) = peer.address else { continue };
            let Ok(socket) = link::connect(to, None, LONGEST) else { continue };
            if let Ok(token) = poller.add(&socket, target(peer.host)) {
                self.open.push(Probe { host: peer.host, socket, token, began: Instant::now() });
            }
        }
    }

    /// A connection is there, or failed.
    pub fn on_ready<T: Copy>(&mut self, now: Instant, host: HostId, poller: &mut Poller<T>) {
        let Some(at) = self.open.iter().position(|probe| probe.host == host) else { return };
        let probe = self.open.swap_remove(at);
        poller.remove(&probe.socket, probe.token);
        let failed = tcp::failure(&probe.socket).is_some() || probe.socket.peer_addr().is_err();
        if !failed {
            let there_and_back = now.saturating_duration_since(probe.began);
            let one_way = u64::try_from(there_and_back.as_nanos() / 2).unwrap_or(u64::MAX);
            self.measured.push((host, Nanos(one_way)));
        }
    }

    /// What was measured, once all have answered or had time to.
    pub fn take<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>) -> Option<Vec<(HostId, Nanos)>> {
        let due = self.deadline()?;
        if !self.open.is_empty() && now < due {
            return None;
        }
        self.began = None;
        self.end(poller);
        Some(std::mem::take(&mut self.measured))
    }

    /// When [`Probes::take`] has something at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let patience = if self.measured.is_empty() { LONGEST } else { PATIENCE };
        self.began.map(|began| began + patience)
    }

    fn end<T: Copy>(&mut self, poller: &mut Poller<T>) {
        for probe in self.open.drain(..) {
            poller.remove(&probe.socket, probe.token);
        }
    }
}
