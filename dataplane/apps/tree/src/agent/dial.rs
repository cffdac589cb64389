//! A connection that is being made. TCP repeats a SYN that was lost, or whose answer was, after a second (RFC
//! 6298, 2.1); a host that has lost its parent cannot be without one for longer than that. So another attempt
//! starts earlier, and the first that succeeds is taken, as RFC 8305 does it with several addresses.
//!
//! Half of the time that connecting takes is the latency to another host, one way.

use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::poller::{Poller, Registration};
use groupflow_host::process::nanos;
use groupflow_host::tcp::{self, TcpOptions};

use crate::machine::{ConnId, HostId, Peer};

/// Bytes that the kernel takes before it has sent them (TCP_NOTSENT_LOWAT): bytes that wait there cannot go
/// over another connection.
const UNSENT: libc::c_int = 128 << 10;
/// Times from the beginning at which the second and the third attempt start (RFC 8305, 5: 100 to 2000 ms).
const AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(600)];

/// A host that has not answered by then counts as absent, if another has answered.
const PATIENCE: Duration = Duration::from_millis(1000);
/// If no host has answered, all may be far away. The dispatchers' default wait is longer than this.
const LONGEST: Duration = Duration::from_millis(2000);

/// The source of an event.
#[derive(Debug, Clone, Copy)]
pub enum HostPollKey {
    Listener,
    Dispatchers,
    Link(ConnId),
    Probe(HostId),
    Data,
}

/// The options of an edge's connections, which accepted ones inherit.
pub(super) fn edge_options() -> TcpOptions {
    TcpOptions { unsent: Some(UNSENT), ..TcpOptions::default() }
}

#[derive(Debug)]
pub struct Dial {
    to: SocketAddrV4,
    /// The source of the attempts' events.
    key: HostPollKey,
    silence: Duration,
    began: Instant,
    begun: usize,
    attempts: Vec<Attempt>,
}

/// A connection, which one attempt tries to make.
#[derive(Debug)]
pub struct Attempt {
    pub socket: TcpStream,
    /// The socket's registration. Events that came before the connection is established are not told again.
    pub token: Registration,
    pub began: Instant,
}

impl Dial {
    /// Begins to connect, and gives up after `silence`.
    pub fn begin(
        now: Instant, to: SocketAddrV4, silence: Duration, poller: &mut Poller<HostPollKey>, key: HostPollKey,
    ) -> io::Result<Dial> {
        let mut dial = Dial { to, key, silence, began: now, begun: 0, attempts: Vec::new() };
        dial.attempt(now, poller)?;
        Ok(dial)
    }

    fn attempt(&mut self, now: Instant, poller: &mut Poller<HostPollKey>) -> io::Result<()> {
        self.begun += 1;
        let socket = tcp::connect(self.to, &edge_options(), self.silence)?;
        let token = poller.add(&socket, self.key)?;
        self.attempts.push(Attempt { socket, token, began: now });
        Ok(())
    }

    /// When [`Dial::keep`] has work to do.
    pub fn deadline(&self) -> Option<Instant> {
        AGAIN.get(self.begun - 1).map(|&after| self.began + after)
    }

    /// Starts another attempt, if it is time.
    pub fn keep(&mut self, now: Instant, poller: &mut Poller<HostPollKey>) {
        if self.deadline().is_some_and(|due| due <= now) {
            // If this attempt cannot start, the earlier ones go on.
            let _ = self.attempt(now, poller);
        }
    }

    /// Looks at the attempts after an event: returns the connection once an attempt succeeds, or the error
    /// once one fails; the dial is over then.
    pub fn answered(&mut self, poller: &mut Poller<HostPollKey>) -> Option<io::Result<Attempt>> {
        let (at, failure) = self.attempts.iter().enumerate().find_map(|(at, attempt)| {
            let failure = tcp::failure(&attempt.socket);
            (failure.is_some() || attempt.socket.peer_addr().is_ok()).then_some((at, failure))
        })?;
        if let Some(error) = failure {
            self.end(poller);
            return Some(Err(error));
        }
        let made = self.attempts.swap_remove(at);
        self.end(poller);
        Some(Ok(made))
    }

    pub fn end(&mut self, poller: &mut Poller<HostPollKey>) {
        for attempt in self.attempts.drain(..) {
            poller.remove(&attempt.socket, attempt.token);
        }
    }
}

/// The measurements that were last asked for.
#[derive(Debug, Default)]
pub struct Probes {
    open: Vec<(HostId, Dial)>,
    measured: Vec<(HostId, Nanos)>,
    began: Option<Instant>,
}

impl Probes {
    /// Begins to measure these hosts, and stops measuring others.
    pub fn begin(&mut self, peers: &[Peer], poller: &mut Poller<HostPollKey>) {
        self.end(poller);
        self.measured.clear();
        self.began = Some(poller.now);
        for peer in peers {
            let SocketAddr::V4(to) = peer.address else { continue };
            if let Ok(dial) = Dial::begin(Instant::now(), to, LONGEST, poller, HostPollKey::Probe(peer.host))
            {
                self.open.push((peer.host, dial));
            }
        }
    }

    /// Notes that a connection was made or failed.
    pub fn on_ready(&mut self, host: HostId, poller: &mut Poller<HostPollKey>) {
        let Some(at) = self.open.iter().position(|(measured, _)| *measured == host) else { return };
        let Some(answer) = self.open[at].1.answered(poller) else { return };
        self.open.swap_remove(at);
        if let Ok(made) = answer {
            poller.remove(&made.socket, made.token);
            let took = poller.now.saturating_duration_since(made.began);
            self.measured.push((host, nanos(took / 2)));
        }
    }

    /// Asks hosts again that have not answered.
    pub fn keep(&mut self, poller: &mut Poller<HostPollKey>) {
        for (_, dial) in &mut self.open {
            dial.keep(poller.now, poller);
        }
    }

    /// The measured latencies, once all hosts have answered or had time to.
    pub fn take(&mut self, poller: &mut Poller<HostPollKey>) -> Option<Vec<(HostId, Nanos)>> {
        let due = self.due()?;
        if !self.open.is_empty() && poller.now < due {
            return None;
        }
        self.end(poller);
        Some(std::mem::take(&mut self.measured))
    }

    /// When [`Probes::keep`] or [`Probes::take`] has something to do at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let dials = self.open.iter().filter_map(|(_, dial)| dial.deadline());
        dials.chain(self.due()).min()
    }

    fn due(&self) -> Option<Instant> {
        let patience = if self.measured.is_empty() { LONGEST } else { PATIENCE };
        self.began.map(|began| began + patience)
    }

    /// Stops to measure: the answers would be to a dispatcher that did not ask.
    pub fn end(&mut self, poller: &mut Poller<HostPollKey>) {
        self.began = None;
        for (_, mut dial) in self.open.drain(..) {
            dial.end(poller);
        }
    }
}

#[cfg(test)]
#[path = "tests/dial.rs"]
mod tests;
