//! The connection to the dispatchers: a JSON object a line, both ways. When it is lost, it is made again, to another process of
//! theirs if one is known.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::came::Came;
use groupflow_host::channel::Channel;
use groupflow_host::error::plain;
use groupflow_host::error::AgentError;
use groupflow_host::poller::{Poller, Ready, Token};
use groupflow_host::tcp::is_later;
use groupflow_host::trust::{self, Trust};
use rustls::Connection;
use serde_json::Value;

use super::dial::Dial;
use super::edge;
use super::known::Known;

/// The longest line.
const LINE: usize = 1 << 20;
/// What waits to be written, at most.
const WAITING: usize = 1 << 20;
/// Between attempts, the first and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Who says nothing for so long after a connection was begun is not there, at most; they say so every second at least.
const FIRST_SIGN: Duration = Duration::from_secs(5);
/// Times as long as the last took to answer.
const FIRST_SIGN_FACTOR: u32 = 4;
/// Before it goes again where it was sent just now.
const AGAIN: Duration = Duration::from_millis(200);
/// A connection on which nothing that was sent is acknowledged.
const SILENCE: Duration = Duration::from_secs(3);

/// A connection, or the next attempt.
pub struct Control {
    known: Known,
    /// Those that were lost or not reached since the last welcome.
    failed: Vec<SocketAddrV4>,
    /// Where it was sent last, when, and since when again and again without a welcome there.
    sent: Option<(SocketAddrV4, Instant, Instant)>,
    /// They knew it, some time.
    welcome: bool,
    trust: Option<Trust>,
    patience: Duration,
    dial: Option<Dial>,
    open: Option<Open>,
    /// When they were heard last, and for how long at most they say nothing, if they said so.
    heard: Instant,
    silence: Option<Duration>,
    /// When the connection was begun, how long it took until they answered, and for how long the next one is waited for.
    begun: Instant,
    took: Duration,
    first_sign: Duration,
    /// Since when there is none.
    lost: Instant,
    next: Instant,
    pause: Duration,
    trouble: String,
}

struct Open {
    channel: Channel,
    token: Token,
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
    /// To dispatchers that are at one of these; without `trust`, nothing is encrypted.
    pub fn new(to: &[SocketAddrV4], trust: Option<Trust>, patience: Duration, now: Instant) -> Control {
        let (pause, trouble) = (PAUSE.0, "no answer".to_owned());
        Control {
            known: Known::new(to, patience),
            failed: Vec::new(),
            sent: None,
            welcome: false,
            trust,
            patience,
            dial: None,
            open: None,
            heard: now,
            silence: None,
            begun: now,
            took: FIRST_SIGN,
            first_sign: FIRST_SIGN,
            lost: now,
            next: now,
            pause,
            trouble,
        }
    }

    /// They say where they are.
    pub fn know(&mut self, now: Instant, told: &[SocketAddrV4]) {
        self.known.know(now, told);
    }

    /// Who is to be asked is there. An error: it was sent there for too long, and did not reach anybody.
    pub fn go_to<T: Copy>(
        &mut self,
        now: Instant,
        poller: &mut Poller<T>,
        address: SocketAddrV4,
    ) -> Result<(), AgentError> {
        self.lose(poller);
        let address = self.known.go_to(now, address);
        // Should nobody be there, it comes back, and is sent there again: not all the time.
        let before = self.sent.filter(|&(to, then, _)| to == address && now < then + self.patience);
        let since = before.map_or(now, |(.., since)| since);
        self.sent = Some((address, now, since));
        let again = before.is_some_and(|(_, then, _)| now < then + PAUSE.1);
        self.next = if again { now + AGAIN } else { now };
        if now >= since + self.patience {
            self.trouble = format!("they send it to {address}, which it does not reach");
            return Err(self.gone());
        }
        Ok(())
    }

    /// Who is there is of no use now: another is tried after a while.
    pub fn leave<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>, why: &str) {
        self.trouble = why.to_owned();
        self.lose(poller);
        self.try_another();
        self.next = now + PAUSE.1;
    }

    fn gone(&self) -> AgentError {
        let tried: Vec<String> = self.known.all().iter().map(SocketAddrV4::to_string).collect();
        let (tried, seconds) = (tried.join(", "), self.patience.as_secs());
        let cause = format!("no dispatchers at {tried} for {seconds} s: {}", self.trouble);
        AgentError::new("dispatchers_gone", cause, "check --to, and that groupflow tree serve runs")
    }

    /// The own address that they are reached from.
    pub fn own_address(&self) -> Option<Ipv4Addr> {
        match self.open.as_ref()?.channel.socket().local_addr().ok()? {
            SocketAddr::V4(address) => Some(*address.ip()),
            SocketAddr::V6(_) => None,
        }
    }

    /// How long it takes there and back.
    pub fn round_trip(&self) -> Nanos {
        self.open.as_ref().map_or(Nanos::ZERO, |open| edge::round_trip(open.channel.socket()))
    }

    /// Whether there is a connection, or one is being made.
    pub fn is_open(&self) -> bool {
        self.open.is_some() || self.dial.is_some()
    }

    /// From now on they are there only as long as they say so, at least this often. Others, too: one that stands still, and
    /// takes connections as long as its kernel does, is not to cost the time after which they give up a host.
    pub fn expect_signs(&mut self, silence: Option<Duration>) {
        self.silence = silence;
        let soon = silence.map_or(FIRST_SIGN, |silence| (silence / 2).max(FIRST_SIGN_FACTOR * self.took));
        self.first_sign = soon.min(FIRST_SIGN);
    }

    /// When [`Control::keep`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        if !self.is_open() {
            return Some(self.next);
        }
        let silent = self.silence.map(|silence| self.heard + silence);
        self.dial.as_ref().and_then(Dial::deadline).into_iter().chain(silent).min()
    }

    /// Gives up a connection over which nothing comes, and connects if there is none. An error: nobody was found for too long.
    pub fn keep<T: Copy>(
        &mut self,
        now: Instant,
        poller: &mut Poller<T>,
        target: T,
    ) -> Result<(), AgentError> {
        if let Some(dial) = &mut self.dial {
            dial.keep(now, poller, target);
        }
        if self.is_open() && self.silence.is_some_and(|silence| self.heard + silence <= now) {
            self.trouble = "they are silent".to_owned();
            let none = self.heard == self.begun;
            self.lose(poller);
            self.try_another();
            // They may all be slow, because many come at once.
            if none && self.known.all().iter().all(|at| self.failed.contains(at)) {
                self.first_sign = (2 * self.first_sign).min(FIRST_SIGN);
            }
        }
        if self.is_open() || now < self.next {
            return Ok(());
        }
        if now >= self.lost + self.patience {
            return Err(self.gone());
        }
        (self.next, self.pause) = (now + self.pause, (2 * self.pause).min(PAUSE.1));
        if let Err(error) = self.connect(now, poller, target) {
            self.trouble = plain(&error);
            self.try_another();
        }
        Ok(())
    }

    /// Dispatchers that it does not reach are not where others should send it.
    pub fn failed(&self) -> &[SocketAddrV4] {
        &self.failed
    }

    /// It is where it was to be.
    pub fn is_welcome(&mut self) {
        self.failed.clear();
        self.welcome = true;
        let at = self.known.at();
        self.sent = self.sent.filter(|&(to, ..)| Some(to) != at);
    }

    /// It is served where it is.
    pub fn is_served(&mut self) {
        self.sent = None;
    }

    fn try_another(&mut self) {
        self.failed.extend(self.known.at().filter(|at| !self.failed.contains(at)));
        self.known.try_another();
    }

    fn connect<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>, target: T) -> io::Result<()> {
        let to = self.known.reach().ok_or(io::ErrorKind::AddrNotAvailable)?;
        self.dial = Some(Dial::begin(now, to, SILENCE, poller, target)?);
        (self.begun, self.heard, self.silence) = (now, now, Some(self.first_sign));
        Ok(())
    }

    /// Whether a connection that was being made is there by now.
    fn is_connected<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>) -> io::Result<bool> {
        let Some(answer) = self.dial.as_mut().and_then(|dial| dial.answered(now, poller)) else {
            return Ok(false);
        };
        self.dial = None;
        let made = answer?;
        let tls = self.trust.as_ref().map(Trust::begin).transpose().map_err(io::Error::other)?;
        let channel = Channel::begun(made.socket, tls.map(Connection::Client));
        let (came, out) = (Vec::new(), Vec::new());
        self.open = Some(Open { channel, token: made.token, readable: true, writable: true, came, out });
        Ok(true)
    }

    /// A line goes out; without a connection it is lost. The first over each says who this is.
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
        match self.converse(now, poller, &mut said) {
            Ok(()) => {
                if said.iter().any(|said| matches!(said, Said::Line(_))) {
                    if self.heard == self.begun {
                        self.took = now - self.begun;
                    }
                    (self.pause, self.heard) = (PAUSE.0, now);
                }
                // Somebody may accept connections there, and say nothing, or that it is of no use.
                let of_use = |said: &Said| matches!(said, Said::Line(line) if line.get("refused").is_none());
                if said.iter().any(of_use) {
                    self.lost = now;
                }
            }
            Err(error) => {
                let to = self.known.at();
                // Somebody else may be at an address that they told, by now.
                if let Some(error) = to.and_then(|to| trust::hopeless(&error, to)).filter(|_| !self.welcome) {
                    return Err(error);
                }
                self.trouble = plain(&error);
                self.lose(poller);
                self.try_another();
                said.push(Said::Lost);
            }
        }
        Ok(said)
    }

    fn converse<T: Copy>(
        &mut self,
        now: Instant,
        poller: &mut Poller<T>,
        said: &mut Vec<Said>,
    ) -> io::Result<()> {
        if self.is_connected(now, poller)? {
            said.push(Said::Connected);
        }
        self.open.as_mut().map_or(Ok(()), |open| open.work(said))
    }

    /// The connection is of no use.
    pub fn lose<T: Copy>(&mut self, poller: &mut Poller<T>) {
        if let Some(mut dial) = self.dial.take() {
            dial.end(poller);
        }
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
        self.flush()?;
        let mut chunk = vec![0; 16 << 10];
        while self.readable {
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
        while self.writable && !self.out.is_empty() {
            match self.channel.write(&self.out) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.out.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_later(&error) => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        if self.writable {
            self.writable = !self.channel.push()?;
        }
        Ok(())
    }
}
