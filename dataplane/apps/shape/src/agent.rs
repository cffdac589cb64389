//! The loop: reports in, rates to the kernel; and the socket where reports arrive.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;
use std::{io, thread};

use groupflow_base::feedback::{Feedback, ETHERTYPE, NEAREST_BRIDGE};
use groupflow_base::Nanos;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::process::Clock;
use groupflow_host::process::{signals, system};
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::sockopt::join_link_group;
use groupflow_host::subcommand::Subcommand;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{recvfrom, LinkAddr};
use serde_json::{json, Value};
use socket2::{Domain, Protocol, Socket, Type};

use crate::args::{Flow, ShapeArgs};
use crate::htb::Htb;
use crate::rates::Rates;

/// Rates are set at most this often: of reports that come faster, on short links, the newest counts.
const QUANTUM: Duration = Duration::from_millis(1);
/// So many reports are taken at most before rates are set and signals are seen.
const REPORTS: usize = 1000;
/// Silence is noticed so late at most.
const POLL_MS: u16 = 100;
/// The rates are reported so often while they change.
const REPORT_EVERY: Nanos = Nanos::from_secs(1);

impl Subcommand for ShapeArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "shape", &self.iface, None)
    }

    /// Shapes until a signal comes; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        let twice =
            |(place, flow): (usize, &Flow)| self.flows[..place].iter().any(|f| f.number == flow.number);
        if self.flows.iter().enumerate().any(twice) {
            return Err(AgentError::usage("--flow has one number twice", "give each flow its own number"));
        }
        let signals = signals().map_err(|error| system(&error.into()))?;
        let clock = Clock::start();
        let reports = Reports::open(&self.iface)?;
        let mut rates = Rates::new(self.flows.iter().map(|flow| flow.number), self.packet_bytes);
        let mut htb = Htb::new(&self.iface, &self.flows, self.packet_bytes)?;
        let mut set: Vec<Option<u64>> = vec![None; self.flows.len()];
        let mut report_at = Nanos::ZERO;
        reporter.event("ready", Weight::Lasting, json!({}), Some(format!("shaping on {}", self.iface)));
        loop {
            let mut fds = [
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(reports.as_fd(), PollFlags::POLLIN),
            ];
            if poll(&mut fds, PollTimeout::from(POLL_MS)).map_err(|error| system(&error.into()))? == 0 {
                reports.check()?;
            }
            if fds[0].any().unwrap_or(false) {
                return Ok(0);
            }
            let now = clock.now();
            for _ in 0..REPORTS {
                let Some(report) = reports.next()? else { break };
                rates.take(now, &report);
            }
            let changes = rates.changes(now);
            if changes.is_empty() {
                continue;
            }
            htb.set(&changes)?;
            for change in changes {
                set[change.place] = change.rate;
            }
            if now >= report_at {
                report_at = now + REPORT_EVERY;
                reporter.event("rates", Weight::Passing, fields(self, &set), None);
            }
            thread::sleep(QUANTUM);
        }
    }
}

/// Each flow's rate in bit/s; null: no limit.
fn fields(args: &ShapeArgs, rates: &[Option<u64>]) -> Value {
    let each = args.flows.iter().zip(rates);
    let rates: serde_json::Map<String, Value> =
        each.map(|(flow, rate)| (flow.number.to_string(), json!(rate.map(|rate| 8 * rate)))).collect();
    json!({ "rate_bps": rates })
}

/// More bytes than a report has.
const FRAME: usize = 128;

/// A packet socket for the reports on one interface.
#[derive(Debug)]
pub struct Reports {
    socket: Socket,
    name: String,
    interface: u32,
}

impl Reports {
    /// Opens the socket. Fails if there is no such interface, or this process is not root.
    pub fn open(name: &str) -> Result<Reports, AgentError> {
        let interface = index(name)?;
        let refused = |error: io::Error| {
            let cause = format!("no packet socket: {}", plain(&error));
            AgentError::new("network", cause, "run as root")
        };
        let protocol = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(protocol)).map_err(refused)?;
        join_link_group(&socket, interface, NEAREST_BRIDGE).map_err(refused)?;
        Ok(Reports { socket, name: name.to_owned(), interface })
    }

    /// Checks that the interface is still there, and not gone with all that was set up there.
    pub fn check(&self) -> Result<(), AgentError> {
        if index(&self.name)? == self.interface {
            Ok(())
        } else {
            Err(gone(&self.name))
        }
    }

    /// The next report that has arrived; an error: the socket does not work any more.
    pub fn next(&self) -> Result<Option<Feedback>, AgentError> {
        let mut frame = [0; FRAME];
        loop {
            match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), &mut frame) {
                // The socket hears all interfaces.
                Ok((length, Some(from))) if from.ifindex() == self.interface as usize => {
                    if let Some(report) = Feedback::read(&frame[..length]) {
                        return Ok(Some(report));
                    }
                }
                Ok(_) | Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                Err(error) => {
                    let cause = format!("receiving failed: {}", error.desc());
                    return Err(AgentError::new("network", cause, "check the interface"));
                }
            }
        }
    }
}

fn index(name: &str) -> Result<u32, AgentError> {
    if_nametoindex(name).map_err(|_| gone(name))
}

fn gone(name: &str) -> AgentError {
    AgentError::new("network", format!("no interface {name:?}"), "see `ip link`, check --iface")
}

impl AsFd for Reports {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
