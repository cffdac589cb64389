//! The connection to the dispatchers: a JSON object a line, both ways. When it is lost, it is made again.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use rustls::Connection;
use serde_json::Value;

use crate::error::AgentError;
use crate::gather::came::Came;
use crate::gather::channel::Channel;
use crate::gather::link;
use crate::gather::trust::{self, Trust};
use crate::input::plain;
use crate::split::poller::{Poller, Ready, Token};
use crate::split::tcp::{failure, is_later};

/// The longest line.
const LINE: usize = 1 << 20;
/// What waits to be written, at most.
const WAITING: usize = 1 << 20;
/// Between attempts, the first and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// A connection on which nothing that was sent is acknowledged.
const SILENCE: Duration = Duration::from_secs(3);

/// A connection, or the next attempt.
pub struct Control {
    to: SocketAddrV4,
    trust: Option<Trust>,
    patience: Duration,
    open: Option<Open>,
    /// Since when there is none.
    lost: Instant,
    next: Instant,
    pause: Duration,
    trouble: String,
}

struct Open {
    channel: Channel,
    token: Token,
    connected: bool,
    readable: bool,
    writable: bool,
    came: Vec<u8>,
    out: Vec<u8>,
}

/// What happened.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// It is there: say who you are.
    Connected,
    /// It is lost.
    Lost,
    /// A line came.
    Line(Value),
}

impl Control {
    /// To these dispatchers; without `trust`, nothing is encrypted.
    pub fn new(to: SocketAddrV4, trust: Option<Trust>, patience: Duration, now: Instant) -> Control {
        let trouble = "no answer".to_owned();
        Control { to, trust, patience, open: None, lost: now, next: now, pause: PAUSE.0, trouble }
    }

    /// The own address that they are reached from.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        match self.open.as_ref()?.channel.socket().local_addr().ok()? {
            std::net::SocketAddr::V4(address) => Some(*address.ip()),
            std::net::SocketAddr::V6(_) => None,
        }
    }

    /// When [`Control::keep`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.open.is_none().then_some(self.next)
    }

    /// Connects, if there is no connection. An error: nobody was found for too long.
    pub fn keep<T: Copy>(
        &mut self,
        now: Instant,
        poller: &mut Poller<T>,
        target: T,
    ) -> Result<(), AgentError> {
        if self.open.is_some() || now < self.next {
            return Ok(());
        }
        if now >= self.lost + self.patience {
            let cause =
                format!("no dispatchers at {} for {} s: {}", self.to, self.patience.as_secs(), self.trouble);
            return Err(AgentError::new(
                "dispatchers_gone",
                cause,
                "check --to, and that groupflow tree serve runs",
            ));
        }
        (self.next, self.pause) = (now + self.pause, (2 * self.pause).min(PAUSE.1));
        if let Err(error) = self.connect(poller, target) {
            self.trouble = plain(&error);
        }
        Ok(())
    }

    fn connect<T: Copy>(&mut self, poller: &mut Poller<T>, target: T) -> io::Result<()> {
        let socket = link::connect(self.to, None, SILENCE)?;
        let token = poller.add(&socket, target)?;
        let tls = self.trust.as_ref().map(Trust::begin).transpose().map_err(io::Error::other)?;
        let channel = Channel::begun(socket, tls.map(Connection::Client));
        let (came, out) = (Vec::new(), Vec::new());
        self.open =
            Some(Open { channel, token, connected: false, readable: false, writable: false, came, out });
        Ok(())
    }

    /// A line goes out; without a connection it is lost.
    pub fn say(&mut self, line: &Value) {
        if let Some(open) = &mut self.open {
            if open.out.len() < WAITING {
                open.out.extend(format!("{line}\n").bytes());
            }
        }
    }

    /// Something happened to the connection.
    pub fn on_ready(&mut self, ready: Ready) {
        if let Some(open) = &mut self.open {
            open.readable |= ready.readable;
            open.writable |= ready.writable;
        }
    }

    /// Writes and reads what goes. An error: there is no use in trying again.
    pub fn work<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>) -> Result<Vec<Said>, AgentError> {
        let mut said = Vec::new();
        let Some(open) = &mut self.open else { return Ok(said) };
        match open.work(&mut said) {
            Ok(()) => {
                if said.iter().any(|said| matches!(said, Said::Line(_))) {
                    self.pause = PAUSE.0;
                }
                if open.connected {
                    self.lost = now;
                }
            }
            Err(error) => {
                if let Some(error) = trust::hopeless(&error, self.to) {
                    return Err(error);
                }
                self.trouble = plain(&error);
                self.lose(poller);
                said.push(Said::Lost);
            }
        }
        Ok(said)
    }

    /// The connection is of no use.
    pub fn lose<T: Copy>(&mut self, poller: &mut Poller<T>) {
        if let Some(open) = self.open.take() {
            poller.remove(open.channel.socket(), open.token);
        }
    }

    /// Whether all that was said has gone.
    pub fn is_empty(&self) -> bool {
        self.open.as_ref().map_or(true, |open| open.out.is_empty())
    }
}

impl Open {
    fn work(&mut self, said: &mut Vec<Said>) -> io::Result<()> {
        if !self.connected && (self.writable || self.readable) {
            if let Some(error) = failure(self.channel.socket()) {
                return Err(error);
            }
            self.connected = true;
            said.push(Said::Connected);
        }
        self.flush()?;
        let mut chunk = vec![0; 16 << 10];
        while self.connected && self.readable {
            match Came::read(&mut self.channel, &mut self.readable, &mut chunk)? {
                Came::Bytes(count) => self.came.extend_from_slice(&chunk[..count]),
                Came::Nothing => break,
                Came::End => {
                    self.lines(said)?;
                    return Err(io::Error::other("they closed the connection"));
                }
            }
            self.lines(said)?;
        }
        // What TLS had to answer, and what could not go before.
        self.flush()
    }

    fn lines(&mut self, said: &mut Vec<Said>) -> io::Result<()> {
        while let Some(end) = self.came.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.came.drain(..=end).collect();
            let line =
                serde_json::from_slice(&line).map_err(|_| io::Error::other("a line makes no sense"))?;
            said.push(Said::Line(line));
        }
        match self.came.len() {
            0..=LINE => Ok(()),
            _ => Err(io::Error::other("a line is too long")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.connected && self.writable && !self.out.is_empty() {
            match self.channel.write(&self.out) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.out.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        if self.connected && self.writable {
            self.writable = !self.channel.push()?;
        }
        Ok(())
    }
}
