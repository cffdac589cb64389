//! The loop around a protocol machine: one thread, one `ppoll`.
//!
//! While packets flow, the loop sleeps a quantum of 1 ms between rounds and then moves all packets that have
//! gathered, so that its cost follows time and not the number of packets. When no packets flow, the loop
//! sleeps until the machine's next deadline or the next packet. It never spins. The poller of the other loops
//! ([`crate::poller`]) waits whole milliseconds, up to twice the quantum.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use std::{iter, mem};

use groupflow_base::{Datagram, Machine, Nanos};
use nix::poll::{ppoll, PollFd, PollFlags};
use nix::sys::signalfd::SignalFd;
use nix::sys::time::TimeSpec;

use crate::error::AgentError;
use crate::process::{signals, Clock};
use crate::socket::{GroupSocket, BATCH};

/// How long an agent that is stopped waits for the answer to its LEAVE.
const LEAVE_PATIENCE: Nanos = Nanos::from_millis(300);
/// Packets are moved at most this often.
const QUANTUM: Nanos = Nanos::from_millis(1);
/// Batches received in one round: about as many as the socket's buffer holds, so that a machine hears what
/// came while its process stood still before it asks again for it.
const ROUNDS: usize = 64;
/// Packets sent in one round.
const BURST: usize = 8 * BATCH;

/// A descriptor that the application waits for besides packets.
#[derive(Clone, Copy)]
pub struct Interest<'a> {
    pub fd: BorrowedFd<'a>,
    /// Whether to wait for reading or for writing.
    pub flags: PollFlags,
}

/// The reason why the loop woke.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Woken {
    /// SIGTERM or SIGINT has arrived.
    pub signal: bool,
    /// A descriptor of the application is ready.
    pub ready: bool,
}

/// The socket, the clock and the signals of one agent.
pub struct Shell {
    /// The clock that the machine sees.
    pub clock: Clock,
    pub socket: GroupSocket,
    /// A socket of the agent's own, for hosts on which others also listen at the main socket's port.
    private: Option<GroupSocket>,
    signals: SignalFd,
    busy: bool,
}

impl Shell {
    /// A shell, which takes over SIGTERM and SIGINT.
    pub fn new(socket: GroupSocket) -> Result<Shell, AgentError> {
        let signals = signals()
            .map_err(|e| AgentError::new("network", format!("cannot take signals: {e}"), "report this"))?;
        Ok(Shell { clock: Clock::start(), socket, private: None, signals, busy: false })
    }

    /// Adds a socket for the datagrams of [`Machine::poll_private`].
    pub fn with_private(self, private: GroupSocket) -> Shell {
        Shell { private: Some(private), ..self }
    }

    /// Moves packets in both directions; to be called also after the application changed something. Arrived
    /// ones come first: the answer to a request may have waited while the application wrote to a disk.
    pub fn exchange(&mut self, machine: &mut impl Machine) -> Result<(), AgentError> {
        let received = self.receive(machine)?;
        let sent = self.transmit(machine)?;
        self.busy |= received > 0 || sent > 0;
        Ok(())
    }

    fn receive(&mut self, machine: &mut impl Machine) -> Result<usize, AgentError> {
        let mut total = 0;
        for socket in iter::once(&mut self.socket).chain(&mut self.private) {
            for _ in 0..ROUNDS {
                let now = self.clock.now();
                let count = socket.receive(|from, bytes| {
                    // A datagram that is no valid packet of the group changes nothing.
                    let _ = machine.handle(now, Datagram { from, bytes });
                })?;
                total += count;
                if count < BATCH {
                    break;
                }
            }
        }
        Ok(total)
    }

    fn transmit(&mut self, machine: &mut impl Machine) -> Result<usize, AgentError> {
        self.socket.flush()?;
        let mut total = 0;
        let now = self.clock.now();
        while total < BURST && !self.socket.congested() {
            while !self.socket.batch_full() {
                let Some(transmit) = machine.poll_transmit(now) else { break };
                self.socket.queue(transmit);
                total += 1;
            }
            let full = self.socket.batch_full();
            self.socket.flush()?;
            if !full {
                break;
            }
        }
        let socket = self.private.as_mut().unwrap_or(&mut self.socket);
        while let Some(transmit) = machine.poll_private(now) {
            socket.queue(transmit);
            total += 1;
        }
        socket.flush()?;
        Ok(total)
    }

    /// Lets the machine say goodbye: until it is over, or its patience ends.
    pub fn farewell<M: Machine>(
        &mut self, machine: &mut M, over: impl Fn(&M) -> bool,
    ) -> Result<(), AgentError> {
        let end = self.clock.now() + LEAVE_PATIENCE;
        self.exchange(machine)?;
        while !over(machine) && self.clock.now() < end {
            self.wait(machine, Some(end), None)?;
            self.exchange(machine)?;
        }
        Ok(())
    }

    /// Sleeps until there is something to do, at the latest at `until`.
    pub fn wait<'a>(
        &mut self, machine: &impl Machine, until: Option<Nanos>,
        interests: impl IntoIterator<Item = Interest<'a>>,
    ) -> Result<Woken, AgentError> {
        let now = self.clock.now();
        let deadline = [machine.next_deadline(), until].into_iter().flatten().min();
        let mut span = deadline.map(|at| (at - now).max(QUANTUM));
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        if mem::take(&mut self.busy) {
            // More packets are arriving: this lets them gather.
            span = Some(span.map_or(QUANTUM, |s| s.min(QUANTUM)));
        } else {
            let mut flags = PollFlags::POLLIN;
            flags.set(PollFlags::POLLOUT, self.socket.congested());
            fds.push(PollFd::new(self.socket.as_fd(), flags));
            fds.extend(self.private.as_ref().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)));
        }
        let own = fds.len();
        fds.extend(interests.into_iter().map(|interest| PollFd::new(interest.fd, interest.flags)));
        let timeout = span.map(|s| TimeSpec::from(Duration::from_nanos(s.0)));
        match ppoll(&mut fds, timeout, None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => {
                return Err(AgentError::new("network", format!("waiting failed: {e}"), "report this"));
            }
        }
        let any = |fds: &[PollFd<'_>]| fds.iter().any(|fd| fd.any().unwrap_or(false));
        let woken = Woken { signal: any(&fds[..1]), ready: any(&fds[own..]) };
        if woken.signal {
            // Reading the signal keeps it from waking the loop again.
            let _ = self.signals.read_signal();
        }
        Ok(woken)
    }
}
