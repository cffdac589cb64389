//! Edges over the group transport: what a parent says goes as a stream in sealed datagrams, and the child's acknowledgements and
//! requests come back the same way. What the child says itself goes over the edge's connection, which also tells when it ends.
//!
//! The transport's packets are [`groupflow_transport::pipe`]'s; header, seals and which datagrams are taken are those of
//! [`super::datagrams`], with a key for each direction. A child answers to wherever a sealed datagram came from.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use groupflow_base::Nanos;
use groupflow_host::channel::Channel;
use groupflow_host::tcp::is_later;
use groupflow_transport::pipe::{Inlet, Outlet};

use super::datagrams::{bind, Counts, Seal, Way, MOST, TURN};
use crate::machine::datagram::{Carries, Header, Window, MAX_BODY};
use crate::machine::{ConnId, Door, HostId};

/// A child that says nothing in a pipe for so long and two round trips: no way there, or back.
const UNHEARD: Nanos = Nanos::from_millis(1000);
/// One that is lost after so long, and two round trips, without a word was given up by the child, which heard nothing either.
const GIVEN_UP: Nanos = Nanos::from_millis(200);
/// Such a child has no pipe for so long; it may have been busy.
const DEAF_FOR: Nanos = Nanos::from_millis(600_000);
/// So many are remembered.
const MAX_DEAF: usize = 256;

/// What an end seals with, and what it opens with.
pub struct Seals {
    out: Seal,
    into: Seal,
}

impl Seals {
    /// Of the end that sends this way; `None`: the handshake is not over.
    pub fn of(channel: &Channel, tag: u64, out: Way) -> Option<Seals> {
        let into = if out == Way::Down { Way::Up } else { Way::Down };
        Some(Seals { out: Seal::of(channel, tag, out)?, into: Seal::of(channel, tag, into)? })
    }
}

enum End {
    /// To a child, which spoke here or has until then.
    Outlet { outlet: Outlet, child: HostId, opened: Nanos, round_trip: Nanos, heard: bool },
    /// From a parent.
    Inlet(Inlet),
}

struct Pipe {
    end: End,
    tag: u64,
    /// The other end; `None`: nothing came from it yet.
    to: Option<SocketAddrV4>,
    number: u64,
    window: Window,
    seals: Option<Seals>,
    /// What is not acknowledged by then is not waited for.
    ends: Option<Nanos>,
}

impl Pipe {
    fn poll_transmit(&mut self, now: Nanos) -> Option<Vec<u8>> {
        match &mut self.end {
            End::Outlet { outlet, .. } => outlet.poll_transmit(now),
            End::Inlet(inlet) => inlet.poll_transmit(now),
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        let own = match &self.end {
            End::Outlet { outlet, .. } => outlet.next_deadline(),
            End::Inlet(inlet) => inlet.next_deadline(),
        };
        let unheard = match self.end {
            End::Outlet { opened, round_trip, heard: false, .. } => {
                Some(spoken_by(opened, round_trip, UNHEARD))
            }
            _ => None,
        };
        own.into_iter().chain(self.ends).chain(unheard).min()
    }

    fn failed(&self, now: Nanos) -> bool {
        match &self.end {
            End::Outlet { outlet, .. } => outlet.failed().is_some() || self.is_unheard(now, UNHEARD),
            End::Inlet(inlet) => inlet.failed(),
        }
    }

    /// Whether a child had so long to say something, and did not.
    fn is_unheard(&self, now: Nanos, after: Nanos) -> bool {
        match self.end {
            End::Outlet { opened, round_trip, heard: false, .. } => {
                spoken_by(opened, round_trip, after) <= now
            }
            _ => false,
        }
    }

    fn repeated(&self) -> u64 {
        match &self.end {
            End::Outlet { outlet, .. } => outlet.stats().retransmitted,
            End::Inlet(_) => 0,
        }
    }
}

/// When a child that hears what is said to it has answered.
fn spoken_by(opened: Nanos, round_trip: Nanos, after: Nanos) -> Nanos {
    opened + after + Nanos(2 * round_trip.0)
}

/// A host's edges over the group transport.
pub struct Pipes {
    socket: UdpSocket,
    port: u16,
    pipes: BTreeMap<ConnId, Pipe>,
    tags: HashMap<u64, ConnId>,
    /// Children that do not hear, or are not heard, and until when they have no pipe.
    deaf: BTreeMap<HostId, Nanos>,
    /// There may be something to read.
    pub readable: bool,
    /// Since it was opened.
    pub counts: Counts,
    /// Packets that were sent again, of edges that are no more.
    repeated: u64,
    scratch: Vec<u8>,
}

impl Pipes {
    /// At this address, any port.
    pub fn open(at: Ipv4Addr) -> io::Result<Pipes> {
        let (socket, port) = bind(at)?;
        Ok(Pipes {
            socket,
            port,
            pipes: BTreeMap::new(),
            tags: HashMap::new(),
            deaf: BTreeMap::new(),
            readable: false,
            counts: Counts::default(),
            repeated: 0,
            scratch: Vec::with_capacity(MOST),
        })
    }

    /// Where it takes datagrams.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Packets that were sent again.
    pub fn repeated(&self) -> u64 {
        self.repeated + self.pipes.values().map(Pipe::repeated).sum::<u64>()
    }

    /// A connection to a parent is made, whose words are to come here: what the parent is to be told.
    pub fn expect(&mut self, now: Nanos, conn: ConnId) -> Door {
        let tag = rand::random();
        self.insert(now, conn, tag, None, None, End::Inlet(Inlet::new(now, rand::random())));
        Door { carries: Carries::Stream, port: self.port, tag }
    }

    /// What is said to a child, so far away there and back, goes there from now on; false: it does not, and is said over its
    /// connection.
    pub fn serve(
        &mut self,
        now: Nanos,
        (conn, child, round_trip): (ConnId, HostId, Nanos),
        to: SocketAddrV4,
        tag: u64,
        seals: Seals,
    ) -> bool {
        self.deaf.retain(|_, until| *until > now);
        // Another child has this tag, hardly by chance; or datagrams do not get there and back.
        if self.tags.contains_key(&tag) || self.deaf.contains_key(&child) {
            return false;
        }
        let end =
            End::Outlet { outlet: Outlet::new(now, MAX_BODY), child, opened: now, round_trip, heard: false };
        self.insert(now, conn, tag, Some(to), Some(seals), end);
        true
    }

    fn insert(
        &mut self,
        now: Nanos,
        conn: ConnId,
        tag: u64,
        to: Option<SocketAddrV4>,
        seals: Option<Seals>,
        end: End,
    ) {
        self.forget(now, conn, false);
        self.tags.insert(tag, conn);
        let pipe = Pipe { end, tag, to, number: 0, window: Window::default(), seals, ends: None };
        self.pipes.insert(conn, pipe);
    }

    /// A connection is closed; `lost`: and the child at its other end did not say that another serves it, nor was it told to go.
    pub fn forget(&mut self, now: Nanos, conn: ConnId, lost: bool) {
        let Some(pipe) = self.pipes.remove(&conn) else { return };
        self.tags.remove(&pipe.tag);
        self.repeated += pipe.repeated();
        if let (End::Outlet { child, .. }, true) = (&pipe.end, lost && pipe.is_unheard(now, GIVEN_UP)) {
            if self.deaf.len() < MAX_DEAF {
                self.deaf.insert(*child, now + DEAF_FOR);
            }
        }
    }

    /// Whether what is said over this connection goes here.
    pub fn carries(&self, conn: ConnId) -> bool {
        matches!(self.pipes.get(&conn), Some(Pipe { end: End::Outlet { .. }, .. }))
    }

    /// Whether there is room for some more to this child: however much is written then is taken.
    pub fn takes(&mut self, conn: ConnId) -> bool {
        self.outlet(conn).is_some_and(Outlet::takes)
    }

    /// Says it to a child.
    pub fn write(&mut self, conn: ConnId, bytes: &[u8]) {
        if let Some(outlet) = self.outlet(conn) {
            outlet.write(bytes);
        }
    }

    fn outlet(&mut self, conn: ConnId) -> Option<&mut Outlet> {
        match &mut self.pipes.get_mut(&conn)?.end {
            End::Outlet { outlet, .. } => Some(outlet),
            End::Inlet(_) => None,
        }
    }

    /// What was said to a child is waited for until then, and nothing follows.
    pub fn end(&mut self, conn: ConnId, by: Nanos) {
        if let Some(Pipe { end: End::Outlet { .. }, ends, .. }) = self.pipes.get_mut(&conn) {
            ends.get_or_insert(by);
        }
    }

    /// Whether a child that hears nothing more has all, or is not waited for any longer.
    pub fn is_over(&mut self, now: Nanos, conn: ConnId) -> bool {
        let late = self.pipes.get(&conn).is_some_and(|pipe| pipe.ends.is_some_and(|ends| ends <= now));
        late || self.outlet(conn).map_or(true, |outlet| outlet.is_empty() || outlet.failed().is_some())
    }

    /// Connections over which nothing more comes or goes.
    pub fn failed(&self, now: Nanos) -> Vec<ConnId> {
        self.pipes.iter().filter(|(_, pipe)| pipe.failed(now)).map(|(&conn, _)| conn).collect()
    }

    /// When [`Pipes::send`] has something to do next.
    pub fn deadline(&self) -> Option<Nanos> {
        self.pipes.values().filter_map(Pipe::deadline).min()
    }

    /// Sends what is to be sent now.
    pub fn send(&mut self, now: Nanos) {
        for pipe in self.pipes.values_mut() {
            while let Some(packet) = pipe.poll_transmit(now) {
                // Who did not hear from the other end yet does not know where it is.
                let (Some(to), Some(seals)) = (pipe.to, &pipe.seals) else { continue };
                let header = Header { tag: pipe.tag, number: pipe.number };
                pipe.number += 1;
                self.scratch.clear();
                self.scratch.extend(header.encode());
                self.scratch.extend_from_slice(&packet);
                let sealed = seals.out.seal(header, &mut self.scratch);
                if sealed && self.socket.send_to(&self.scratch, to).is_ok() {
                    self.counts.sent += 1;
                } else {
                    self.counts.dropped += 1;
                }
            }
        }
    }

    /// Whether the parent was heard of here: what it says comes here, and nowhere else.
    pub fn hears(&self, conn: ConnId) -> bool {
        matches!(self.pipes.get(&conn), Some(Pipe { end: End::Inlet(_), to: Some(_), .. }))
    }

    /// Whether a parent was to speak here, and none does.
    pub fn hears_nobody(&self) -> bool {
        let mut inlets = self.pipes.values().filter(|pipe| matches!(pipe.end, End::Inlet(_))).peekable();
        inlets.peek().is_some() && inlets.all(|pipe| pipe.to.is_none())
    }

    /// Takes what came: `seals` knows the edge's of a connection to a parent and a tag, once they are there; `take` is given the
    /// connection, what the other end says there, perhaps nothing yet, and whether that is the first of it.
    pub fn receive(
        &mut self,
        now: Nanos,
        seals: impl Fn(ConnId, u64) -> Option<Seals>,
        mut take: impl FnMut(ConnId, &[u8], bool),
    ) {
        // One more than is allowed, so that what is cut off is seen to be too long.
        let (mut room, mut said) = ([0; MOST + 1], Vec::new());
        // Who was heard of, and said nothing that is in order: a hole is no silence.
        let mut quiet = BTreeSet::new();
        for _ in 0..TURN {
            let (count, from) = match self.socket.recv_from(&mut room) {
                Ok((count, SocketAddr::V4(from))) => (count, from),
                Ok(_) => continue,
                Err(error) if is_later(&error) => {
                    self.readable = false;
                    break;
                }
                // Of something that was sent, or a signal.
                Err(_) => continue,
            };
            match self.open_datagram(now, from, &seals, &mut room[..count]) {
                Some((conn, first)) => {
                    self.counts.came += 1;
                    said.clear();
                    self.take(now, conn, &mut said);
                    if first || !said.is_empty() {
                        take(conn, &said, first);
                    } else {
                        quiet.insert(conn);
                    }
                }
                None => self.counts.refused += 1,
            }
        }
        quiet.into_iter().for_each(|conn| take(conn, &[], false));
    }

    fn take(&mut self, now: Nanos, conn: ConnId, said: &mut Vec<u8>) {
        if let Some(Pipe { end: End::Inlet(inlet), .. }) = self.pipes.get_mut(&conn) {
            inlet.take(now, said);
        }
    }

    /// Whose it is, and whether it is the first from there. Nothing that is forged or altered changes what is known of the edge.
    fn open_datagram(
        &mut self,
        now: Nanos,
        from: SocketAddrV4,
        seals: &impl Fn(ConnId, u64) -> Option<Seals>,
        datagram: &mut [u8],
    ) -> Option<(ConnId, bool)> {
        let (header, _) = Header::split(datagram)?;
        let conn = *self.tags.get(&header.tag)?;
        let pipe = self.pipes.get_mut(&conn).filter(|pipe| pipe.window.is_new(header.number))?;
        if pipe.seals.is_none() {
            pipe.seals = seals(conn, header.tag);
        }
        let packet = pipe.seals.as_ref()?.into.open(header, datagram)?;
        let first = pipe.to.is_none();
        match &mut pipe.end {
            End::Outlet { outlet, heard, .. } => {
                outlet.handle(now, packet).ok()?;
                *heard = true;
            }
            End::Inlet(inlet) => {
                inlet.handle(now, packet).ok()?;
                pipe.to = Some(from);
            }
        }
        pipe.window.take(header.number);
        Some((conn, first))
    }
}

impl AsFd for Pipes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
