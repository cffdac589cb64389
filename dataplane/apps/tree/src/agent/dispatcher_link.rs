//! The connection to the dispatchers, with one JSON object a line in both directions. A lost connection is
//! replaced.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use groupflow_base::lines::LineBuffer;
use groupflow_base::Nanos;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::{Poller, Ready};
use groupflow_host::tls::{self, Trust};
use rustls::Connection;

use super::dial::{Dial, HostPollKey};
use crate::machine::messages::{HostLine, ServiceLine};

/// Bytes of the longest line.
const LINE: usize = 1 << 20;
/// The most bytes that may wait to be written.
const WAITING: usize = 1 << 20;
/// The first and the longest pause between attempts to connect.
const FIRST_PAUSE: Nanos = Nanos::from_millis(50);
const LONGEST_PAUSE: Nanos = Nanos::from_secs(1);
/// The longest time that dispatchers may be silent after a connection was begun; they send a sign of life
/// every second at least.
const FIRST_SIGN: Duration = Duration::from_secs(5);
/// Time without an acknowledgement after which a connection is lost.
const SILENCE: Duration = Duration::from_secs(3);

/// The connection to the dispatchers, or the next attempt to connect.
pub struct DispatcherLink {
    to: SocketAddrV4,
    /// Dispatchers have welcomed the host at some time.
    pub welcome: bool,
    trust: Option<Trust>,
    patience: Duration,
    dial: Option<Dial>,
    open: Option<Open>,
    /// When the dispatchers were heard last.
    heard: Instant,
    /// The longest time between two signs of life of the dispatchers, as far as they have told it.
    pub silence: Option<Duration>,
    /// Since when there has been no connection.
    lost: Instant,
    next: Instant,
    /// Attempts since the dispatchers were heard last.
    attempts: u32,
    trouble: String,
}

struct Open {
    link: TcpLink,
    lines: LineBuffer,
}

#[derive(Debug, PartialEq)]
pub enum LinkEvent {
    /// The connection is made, and this host must introduce itself.
    Connected,
    Lost,
    Line(ServiceLine),
}

impl DispatcherLink {
    /// A connection to dispatchers at this address; without `trust`, nothing is encrypted.
    pub fn new(to: SocketAddrV4, trust: Option<Trust>, patience: Duration, now: Instant) -> DispatcherLink {
        DispatcherLink {
            to,
            welcome: false,
            trust,
            patience,
            dial: None,
            open: None,
            heard: now,
            silence: None,
            lost: now,
            next: now,
            attempts: 0,
            trouble: "no answer".to_owned(),
        }
    }

    /// Leaves dispatchers that are of no use now; they are tried again after a while.
    pub fn leave(&mut self, now: Instant, poller: &mut Poller<HostPollKey>, why: &str) {
        self.trouble = why.to_owned();
        self.lose(poller);
        self.next = now + Duration::from(LONGEST_PAUSE);
    }

    /// This host's address on the connection to the dispatchers.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        match self.open.as_ref()?.link.socket().local_addr().ok()? {
            SocketAddr::V4(address) => Some(*address.ip()),
            SocketAddr::V6(_) => None,
        }
    }

    pub fn round_trip(&self) -> Nanos {
        self.open.as_ref().map_or(Nanos::ZERO, |open| open.link.least_round_trip())
    }

    pub fn is_made(&self) -> bool {
        self.open.is_some()
    }

    /// Whether there is a connection, or one is being made.
    pub fn is_open(&self) -> bool {
        self.open.is_some() || self.dial.is_some()
    }

    /// When [`DispatcherLink::keep`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        if !self.is_open() {
            return Some(self.next);
        }
        let silent = self.silence.map(|silence| self.heard + silence);
        self.dial.as_ref().and_then(Dial::deadline).into_iter().chain(silent).min()
    }

    /// Gives up a silent connection, and connects if there is none. The error means that no dispatcher was
    /// found for too long.
    pub fn keep(&mut self, now: Instant, poller: &mut Poller<HostPollKey>) -> Result<(), AgentError> {
        if let Some(dial) = &mut self.dial {
            dial.keep(now, poller);
        }
        if self.is_open() && self.silence.is_some_and(|silence| self.heard + silence <= now) {
            self.trouble = "the dispatchers are silent".to_owned();
            self.lose(poller);
        }
        if self.is_open() || now < self.next {
            return Ok(());
        }
        if now >= self.lost + self.patience {
            let (to, seconds) = (self.to, self.patience.as_secs());
            let cause = format!("no dispatchers at {to} for {seconds} s: {}", self.trouble);
            let cure = "check --to, and that groupflow tree serve runs";
            return Err(AgentError::new("dispatchers_gone", cause, cure));
        }
        self.next = now + Duration::from(FIRST_PAUSE.doubled(self.attempts, LONGEST_PAUSE));
        self.attempts = self.attempts.saturating_add(1);
        match Dial::begin(now, self.to, SILENCE, poller, HostPollKey::Dispatchers) {
            Ok(dial) => {
                self.dial = Some(dial);
                self.heard = now;
                self.silence = Some(FIRST_SIGN);
            }
            Err(error) => self.trouble = plain(&error),
        }
        Ok(())
    }

    /// Queues a line; without a connection it is lost. The first line of each connection introduces
    /// this host.
    pub fn send(&mut self, line: &HostLine) {
        let Ok(text) = serde_json::to_string(line) else { return };
        if let Some(open) = self.open.as_mut().filter(|open| open.link.out.room() > 0) {
            open.link.out.bytes().extend(format!("{text}\n").bytes());
        }
    }

    pub fn on_ready(&mut self, ready: Ready) {
        if let Some(open) = &mut self.open {
            open.link.on_ready(ready);
        }
    }

    /// Writes and reads as much as possible. The error means that another attempt is useless.
    pub fn work(
        &mut self, now: Instant, poller: &mut Poller<HostPollKey>,
    ) -> Result<Vec<LinkEvent>, AgentError> {
        let mut events = Vec::new();
        match self.converse(poller, &mut events) {
            Ok(()) => {
                for event in &events {
                    let LinkEvent::Line(line) = event else { continue };
                    self.attempts = 0;
                    self.heard = now;
                    // A process may accept connections and then say nothing, or only that it is of no use.
                    if !matches!(line, ServiceLine::Refused { .. }) {
                        self.lost = now;
                    }
                }
            }
            Err(error) => {
                if let Some(error) = tls::hopeless(&error, self.to).filter(|_| !self.welcome) {
                    return Err(error);
                }
                self.trouble = plain(&error);
                self.lose(poller);
                events.push(LinkEvent::Lost);
            }
        }
        Ok(events)
    }

    fn converse(&mut self, poller: &mut Poller<HostPollKey>, events: &mut Vec<LinkEvent>) -> io::Result<()> {
        if let Some(answer) = self.dial.as_mut().and_then(|dial| dial.answered(poller)) {
            self.dial = None;
            let made = answer?;
            let tls = self.trust.as_ref().map(Trust::begin).transpose().map_err(io::Error::other)?;
            let channel = Channel::begun(made.socket, tls.map(Connection::Client));
            let link = TcpLink::established(channel, made.token, WAITING);
            self.open = Some(Open { link, lines: LineBuffer::new(LINE) });
            events.push(LinkEvent::Connected);
        }
        let Some(Open { link, lines }) = &mut self.open else { return Ok(()) };
        link.flush(false)?;
        let mut chunk = vec![0; 16 << 10];
        while link.readable {
            let count = match link.read(&mut chunk)? {
                ReadOutcome::Bytes(count) => count,
                ReadOutcome::Nothing => break,
                ReadOutcome::End => return Err(io::Error::other("the dispatchers closed the connection")),
            };
            let cut = lines.push(&chunk[..count]).ok_or_else(|| io::Error::other("a line is too long"))?;
            for line in cut {
                let parsed = serde_json::from_slice(&line);
                events.push(LinkEvent::Line(parsed.map_err(|_| io::Error::other("a line is malformed"))?));
            }
        }
        // TLS may have an answer to send, and lines may still wait.
        link.flush(false)
    }

    /// Closes a connection that is of no use.
    pub fn lose(&mut self, poller: &mut Poller<HostPollKey>) {
        if let Some(mut dial) = self.dial.take() {
            dial.end(poller);
        }
        if let Some(open) = self.open.take() {
            open.link.close(poller);
        }
    }
}
