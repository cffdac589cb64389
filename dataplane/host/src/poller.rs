//! The poller of an agent's loop, on mio: edge-triggered, so that every descriptor is registered once, for
//! all events. It has the loop's time, and takes the signals that end the agent.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signalfd::SignalFd;

use crate::process::signals;

/// The most events taken by one call.
const EVENTS: usize = 256;
/// The longest wait: a deadline that is later is looked at again.
const LONGEST: Duration = Duration::from_secs(60);
const SIGNALS: Token = Token(usize::MAX);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Registration(Token);

#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// There is something to read: bytes, the end, a connection or an error.
    pub readable: bool,
    /// There is room to write, or an error.
    pub writable: bool,
}

impl Ready {
    fn of(event: &Event) -> Ready {
        let failed = event.is_error();
        Ready {
            readable: failed || event.is_readable() || event.is_read_closed(),
            writable: failed || event.is_writable() || event.is_write_closed(),
        }
    }
}

/// A poller with its registrations, each with its meaning.
#[derive(Debug)]
pub struct Poller<T> {
    poll: Poll,
    events: Events,
    targets: HashMap<Token, T>,
    next: usize,
    signals: Option<SignalFd>,
    /// Whether a signal had come when the last wait ended.
    pub stopped: bool,
    /// The time at which the last wait ended.
    pub now: Instant,
}

impl<T: Copy> Poller<T> {
    pub fn new() -> io::Result<Poller<T>> {
        Ok(Poller {
            poll: Poll::new()?,
            events: Events::with_capacity(EVENTS),
            targets: HashMap::new(),
            next: 0,
            signals: None,
            stopped: false,
            now: Instant::now(),
        })
    }

    /// A poller that takes SIGINT and SIGTERM: they no longer end the process by themselves.
    pub fn with_signals() -> io::Result<Poller<T>> {
        let (mut poller, signals) = (Poller::new()?, signals()?);
        poller.register(signals.as_fd(), SIGNALS)?;
        poller.signals = Some(signals);
        Ok(poller)
    }

    /// Whether a signal has come by now.
    pub fn is_stopped(&mut self) -> bool {
        let signal = self.signals.as_ref().map(SignalFd::read_signal);
        self.stopped |= matches!(signal, Some(Ok(Some(_))));
        self.stopped
    }

    /// Registers a descriptor; its present readiness is reported at once.
    pub fn add(&mut self, fd: impl AsFd, target: T) -> io::Result<Registration> {
        let token = Token(self.next);
        self.register(fd.as_fd(), token)?;
        self.targets.insert(token, target);
        self.next += 1;
        Ok(Registration(token))
    }

    /// Registers an input or output. False: it is a file, which is always ready and cannot be registered.
    pub fn watch(&mut self, fd: impl AsFd, target: T) -> io::Result<bool> {
        match self.add(fd, target) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn register(&self, fd: BorrowedFd<'_>, token: Token) -> io::Result<()> {
        let all = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut SourceFd(&fd.as_raw_fd()), token, all)
    }

    /// Ends a registration. To be called before the descriptor is closed, because a copy of it may live
    /// elsewhere.
    pub fn remove(&mut self, fd: impl AsFd, registration: Registration) {
        if self.targets.remove(&registration.0).is_some() {
            let _ = self.poll.registry().deregister(&mut SourceFd(&fd.as_fd().as_raw_fd()));
        }
    }

    /// Gives a registration another meaning.
    pub fn rename(&mut self, registration: Registration, target: T) {
        if let Some(old) = self.targets.get_mut(&registration.0) {
            *old = target;
        }
    }

    /// Waits for events; without a timeout, for ever.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<(T, Ready)>) -> io::Result<()> {
        ready.clear();
        let waited = self.poll.poll(&mut self.events, timeout.map(|time| time.min(LONGEST)));
        self.now = Instant::now();
        match waited {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            waited => waited?,
        }
        let mut is_signal = false;
        for event in &self.events {
            is_signal |= event.token() == SIGNALS;
            if let Some(&target) = self.targets.get(&event.token()) {
                ready.push((target, Ready::of(event)));
            }
        }
        if is_signal {
            self.is_stopped();
        }
        Ok(())
    }
}

/// Whether a descriptor becomes ready within `patience`.
pub fn is_ready(fd: BorrowedFd<'_>, flags: PollFlags, patience: PollTimeout) -> bool {
    let mut fds = [PollFd::new(fd, flags)];
    matches!(poll(&mut fds, patience), Ok(n) if n > 0)
}
