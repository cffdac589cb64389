//! A connection that is being made. TCP repeats a SYN that was lost, or whose answer was, after a second (RFC
//! 6298, 2.1); a host that has lost its parent cannot be without one for longer than that. So another attempt
//! starts earlier, and the first that succeeds is taken, as RFC 8305 does it with several addresses.

use std::io;
use std::net::{SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

use groupflow_host::poller::{Poller, Registration};
use groupflow_host::tcp;

use super::tcp_link;

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
        let socket = tcp::connect(self.to, &tcp_link::options(), self.silence)?;
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
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::net::{SocketAddr, TcpListener};

    const SILENCE: Duration = Duration::from_secs(10);

    fn address(listener: &TcpListener) -> SocketAddrV4 {
        match listener.local_addr().expect("bound") {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => unreachable!("it was bound to another"),
        }
    }

    /// A listener to which the kernel answers no SYN as long as a connection waits to be accepted.
    fn narrow() -> (TcpListener, TcpStream) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a port");
        socket.listen(0).expect("it listens");
        let listener = TcpListener::from(socket);
        let waits = TcpStream::connect(address(&listener)).expect("there is room for one");
        (listener, waits)
    }

    fn wait(dial: &mut Dial, now: Instant, poller: &mut Poller<()>) -> io::Result<Dialled> {
        let end = Instant::now() + SILENCE;
        loop {
            assert!(Instant::now() < end, "nothing happens");
            poller.wait(Some(Duration::from_millis(20)), &mut Vec::new()).expect("waited");
            if let Some(answer) = dial.answered(now, poller) {
                return answer;
            }
        }
    }

    #[test]
    fn a_lost_syn_is_not_waited_for() {
        let (listener, _waits) = narrow();
        let (mut poller, now) = (Poller::new().expect("epoll"), Instant::now());
        let mut dial = Dial::begin(now, address(&listener), SILENCE, &mut poller, ()).expect("begun");
        let first = dial.attempts[0].socket.local_addr().expect("bound");
        assert!(dial.answered(now, &mut poller).is_none());
        drop(listener.accept().expect("the one that waits"));
        dial.keep(now + AGAIN[0], &mut poller, ());
        let made = wait(&mut dial, now + AGAIN[0] + AGAIN[0], &mut poller).expect("it is there");
        assert_ne!(made.socket.local_addr().expect("bound"), first);
        // The time is that of the attempt that succeeded, not of the one that was lost.
        assert_eq!((made.took, dial.attempts.len()), (AGAIN[0], 0));
    }

    #[test]
    fn a_dial_makes_three_attempts_and_no_more() {
        let (listener, _waits) = narrow();
        let (mut poller, now) = (Poller::new().expect("epoll"), Instant::now());
        let mut dial = Dial::begin(now, address(&listener), SILENCE, &mut poller, ()).expect("begun");
        let mut begun = Vec::new();
        while let Some(due) = dial.deadline() {
            dial.keep(due - Duration::from_nanos(1), &mut poller, ());
            begun.push((due - now, dial.attempts.len()));
            dial.keep(due, &mut poller, ());
        }
        assert_eq!(begun, [(AGAIN[0], 1), (AGAIN[1], 2)]);
        assert_eq!(dial.attempts.len(), 3);
    }

    #[test]
    fn a_refused_dial_makes_no_other_attempt() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let nowhere = address(&listener);
        drop(listener);
        let (mut poller, now) = (Poller::new().expect("epoll"), Instant::now());
        let mut dial = Dial::begin(now, nowhere, SILENCE, &mut poller, ()).expect("begun");
        let error = wait(&mut dial, now, &mut poller).expect_err("nobody is there");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
