//! The loop that all roles share.

use std::os::fd::BorrowedFd;

use groupflow_protocol::wire::WireError;
use groupflow_protocol::{Datagram, Nanos, Transmit};

use crate::clock::Clock;
use crate::report::Failure;
use crate::socket::GroupSocket;
use crate::wait::{wait, Signals, Wanted};

/// After a signal, this long for the last words.
const GRACE: Nanos = Nanos::from_millis(300);
/// While packets keep coming, the loop looks this often: a wake-up for each would cost more than the packets.
const COALESCE: Nanos = Nanos::from_millis(1);
/// Batches read before other work gets its turn.
const BATCHES: usize = 8;

/// What a role wants next.
#[derive(Debug, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    Go,
    /// Exit with this code.
    Done(u8),
}

/// A protocol machine with its input and output.
pub trait Role {
    /// A datagram came in.
    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), WireError>;
    /// The next packet to send.
    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit>;
    /// When the machine or the role wants to be called again.
    fn next_deadline(&self) -> Option<Nanos>;
    /// Moves data between the machine and files, reports events.
    fn step(&mut self, now: Nanos) -> Result<Flow, Failure>;
    /// A signal asks to end.
    fn interrupt(&mut self, now: Nanos);
    /// What the interruption amounts to, once the last words are out.
    fn interrupted(&mut self) -> Result<u8, Failure>;
    /// Input the role waits for.
    fn input(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Output the role waits for.
    fn output(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Runs a role to its end; gives the exit code.
pub fn run(role: &mut dyn Role, socket: &mut GroupSocket, clock: Clock) -> Result<u8, Failure> {
    let mut signals = Signals::new()?;
    let mut ending: Option<Nanos> = None;
    loop {
        let now = clock.now();
        let received = receive(role, socket, now);
        let flow = role.step(now)?;
        while let Some(packet) = role.poll_transmit(now) {
            socket.send(packet);
        }
        socket.flush();
        if let Flow::Done(code) = flow {
            return if ending.is_some() { role.interrupted() } else { Ok(code) };
        }
        if ending.is_some_and(|end| now >= end) {
            return role.interrupted();
        }
        if ending.is_none() && signals.arrived() {
            ending = Some(now + GRACE);
            role.interrupt(now);
            continue;
        }
        sleep(role, socket, &signals, clock, received, ending);
    }
}

fn receive(role: &mut dyn Role, socket: &mut GroupSocket, now: Nanos) -> usize {
    let mut received = 0;
    for _ in 0..BATCHES {
        let count = socket.receive(|from, bytes| {
            // What is no group packet is not ours: anyone may send to a UDP port.
            let _ = role.handle(now, Datagram { from, bytes });
        });
        received += count;
        if count == 0 {
            break;
        }
    }
    received
}

fn sleep(
    role: &dyn Role,
    socket: &GroupSocket,
    signals: &Signals,
    clock: Clock,
    received: usize,
    ending: Option<Nanos>,
) {
    let deadline = [role.next_deadline(), ending].into_iter().flatten().min();
    let now = clock.now();
    let until = |deadline: Nanos| Nanos(deadline.0.saturating_sub(now.0));
    if received > 0 {
        // In the middle of a stream: let packets gather.
        let span = deadline.map_or(COALESCE, |d| until(d).min(COALESCE)).max(Nanos::from_micros(200));
        wait(Wanted { readable: [Some(signals.fd()), None, None], writable: None }, Some(span));
        return;
    }
    // Deadlines nearer than this are met together: pacing sends its small bursts.
    let span = deadline.map(|d| until(d).max(Nanos::from_micros(500)));
    let readable = [Some(signals.fd()), Some(socket.fd()), role.input()];
    wait(Wanted { readable, writable: role.output() }, span);
}
