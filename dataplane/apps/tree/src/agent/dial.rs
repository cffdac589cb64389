//! A connection that is being made. TCP repeats a SYN that was lost, or whose answer was, after a second (RFC
//! 6298, 2.1); a host that has lost its parent cannot be without one for longer than that. So another attempt
//! starts earlier, and the first that succeeds is taken, as RFC 8305 does it with several addresses.

use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use groupflow_host::poller::{Poller, Registration};
use groupflow_host::tcp;

use super::host::edge_options;

/// Times from the beginning at which the second and the third attempt start (RFC 8305, 5: 100 to 2000 ms).
const AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(600)];

/// A connection that is being made.
#[derive(Debug)]
pub struct Dial {
    to: SocketAddrV4,
    silence: Duration,
    began: Instant,
    begun: usize,
    attempts: Vec<Attempt>,
}

#[derive(Debug)]
struct Attempt {
    socket: TcpStream,
    token: Registration,
    began: Instant,
}

/// A connection that is established.
#[derive(Debug)]
pub struct Dialled {
    pub socket: TcpStream,
    /// The socket's registration. Events from before it are not told again.
    pub token: Registration,
    /// How long the connection took.
    pub took: Duration,
}

impl Dial {
    /// Begins to connect, and gives up after `silence`; events of the attempts are called `target`.
    pub fn begin<T: Copy>(
        now: Instant, to: SocketAddrV4, silence: Duration, poller: &mut Poller<T>, target: T,
    ) -> io::Result<Dial> {
        let mut dial = Dial { to, silence, began: now, begun: 0, attempts: Vec::new() };
        dial.attempt(now, poller, target)?;
        Ok(dial)
    }

    fn attempt<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>, target: T) -> io::Result<()> {
        self.begun += 1;
        let socket = tcp::connect(self.to, &edge_options(), self.silence)?;
        let token = poller.add(&socket, target)?;
        self.attempts.push(Attempt { socket, token, began: now });
        Ok(())
    }

    /// When [`Dial::keep`] has work to do.
    pub fn deadline(&self) -> Option<Instant> {
        AGAIN.get(self.begun - 1).map(|&after| self.began + after)
    }

    /// Starts another attempt, if it is time.
    pub fn keep<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>, target: T) {
        if self.deadline().is_some_and(|due| due <= now) {
            // If this attempt cannot start, the earlier ones go on.
            let _ = self.attempt(now, poller, target);
        }
    }

    /// Looks at the attempts after an event: returns the connection once an attempt succeeds, or the error
    /// once one fails; the dial is over then.
    pub fn answered<T: Copy>(&mut self, now: Instant, poller: &mut Poller<T>) -> Option<io::Result<Dialled>> {
        let (at, failure) = self.attempts.iter().enumerate().find_map(|(at, attempt)| {
            let failure = tcp::failure(&attempt.socket);
            (failure.is_some() || attempt.socket.peer_addr().is_ok()).then_some((at, failure))
        })?;
        if let Some(error) = failure {
            self.end(poller);
            return Some(Err(error));
        }
        let Attempt { socket, token, began } = self.attempts.swap_remove(at);
        self.end(poller);
        Some(Ok(Dialled { socket, token, took: now.saturating_duration_since(began) }))
    }

    /// Gives all attempts up.
    pub fn end<T: Copy>(&mut self, poller: &mut Poller<T>) {
        for attempt in self.attempts.drain(..) {
            poller.remove(&attempt.socket, attempt.token);
        }
    }
}

#[cfg(test)]
#[path = "tests/dial.rs"]
mod tests;
