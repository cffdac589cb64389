//! An edge-triggered epoll: every descriptor is registered once, for all events.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// The most events taken by one call.
const EVENTS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Registration(u64);

#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// There is something to read: bytes, the end, a connection or an error.
    pub readable: bool,
    /// There is room to write, or an error.
    pub writable: bool,
}

/// An epoll with its registrations, each with its meaning.
#[derive(Debug)]
pub struct Poller<T> {
    epoll: Epoll,
    targets: HashMap<u64, T>,
    next: u64,
    events: Vec<EpollEvent>,
}

impl<T: Copy> Poller<T> {
    /// A poller without registrations.
    pub fn new() -> Result<Poller<T>, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Poller { epoll, targets: HashMap::new(), next: 0, events: vec![EpollEvent::empty(); EVENTS] })
    }

    /// Registers a descriptor; its present readiness is reported at once.
    pub fn add(&mut self, fd: impl AsFd, target: T) -> Result<Registration, Errno> {
        let all = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.epoll.add(fd, EpollEvent::new(all, self.next))?;
        self.targets.insert(self.next, target);
        self.next += 1;
        Ok(Registration(self.next - 1))
    }

    /// Ends a registration. To be called before the descriptor is closed, because a copy of it may live
    /// elsewhere.
    pub fn remove(&mut self, fd: impl AsFd, registration: Registration) {
        if self.targets.remove(&registration.0).is_some() {
            let _ = self.epoll.delete(fd);
        }
    }

    /// Changes the meaning of a registration.
    pub fn rename(&mut self, registration: Registration, target: T) {
        if let Some(old) = self.targets.get_mut(&registration.0) {
            *old = target;
        }
    }

    /// Waits for events; without a timeout, for ever.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<(T, Ready)>) -> Result<(), Errno> {
        let timeout = match timeout {
            // The timeout is rounded up, so that a deadline has passed when the wait ends.
            Some(time) => {
                let millis = time.as_micros().div_ceil(1000).min(60_000);
                EpollTimeout::try_from(millis as u32).unwrap_or(EpollTimeout::MAX)
            }
            None => EpollTimeout::NONE,
        };
        let count = match self.epoll.wait(&mut self.events, timeout) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(error),
        };
        ready.clear();
        for event in &self.events[..count] {
            let flags = event.events();
            let failed = flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
            let readable = failed || flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP);
            let writable = failed || flags.contains(EpollFlags::EPOLLOUT);
            if let Some(&target) = self.targets.get(&event.data()) {
                ready.push((target, Ready { readable, writable }));
            }
        }
        Ok(())
    }
}

/// Whether a descriptor becomes ready within `patience`.
pub fn is_ready(fd: BorrowedFd<'_>, flags: PollFlags, patience: PollTimeout) -> bool {
    let mut fds = [PollFd::new(fd, flags)];
    matches!(poll(&mut fds, patience), Ok(n) if n > 0)
}
