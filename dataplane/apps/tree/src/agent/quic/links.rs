//! QUIC connections to parents and children, without sockets and clock: each carries one stream in both
//! directions, and datagrams.
//!
//! The protocol is `quinn-proto`'s. This module adds what an edge needs besides: a connection has a name
//! ([`ConnId`]); the bytes that wait to be sent are bounded, as they cannot go another way; a datagram that
//! waited for too long is dropped; a connection that is to end sends its last bytes first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Incoming,
    MtuDiscoveryConfig, ServerConfig, Transmit, TransportConfig, VarInt,
};

use super::congestion::Bounded;
use super::link::{LinkChange, QuicLink};
use crate::machine::ConnId;

/// Handshakes of unknown peers at one time; more are refused, so that forged addresses cost no more.
const STRANGERS: usize = 256;
/// With this many handshakes of unknown peers at one time, a peer proves its address first (RFC 9000, 8.1.2).
const UNPROVED: usize = 16;
/// Milliseconds without a packet after which a connection is closed, as over TCP.
const SILENCE: VarInt = VarInt::from_u32(3_000);
/// The round trip that is assumed for an unmeasured path: a lost packet of the handshake is sent again after
/// three times as long.
const FIRST_ROUND_TRIP: Duration = Duration::from_millis(50);
/// Bytes of a stream on the way to a child, of which an edge's window is a part.
const WINDOW: VarInt = VarInt::from_u32(4 << 20);
/// Bytes on the way to a parent, which hears short frames only, and perhaps from strangers.
const FRAMES: VarInt = VarInt::from_u32(16 << 10);
/// Bytes of datagrams that came and were not taken yet.
const DATAGRAMS: usize = 1 << 20;
/// Bytes of datagrams that are given to a connection; others wait in [`QuicLink`], with their deadline.
const GIVEN: usize = 16 << 10;
/// The longest UDP payload that a path is probed with: an Ethernet jumbo frame without the headers of IP and
/// UDP.
pub const LONGEST: u16 = 8972;
/// Bytes of one write: IPv4's longest datagram, without the headers of IP and UDP.
pub const WRITE: usize = 65_507;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// A stranger connected: it is named ([`Links::name`]) or refused ([`Links::refuse`]).
    Came(ConnectionHandle),
    /// A connection that the host asked for is established.
    Connected(ConnId),
    /// A connection may have bytes to read.
    Readable(ConnId),
    /// A connection ended, or could not be made.
    Closed(ConnId),
}

/// Counts of packets and datagrams, of all connections since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuicCounts {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets of these that were lost on the way.
    pub lost: u64,
    /// Packets that came.
    pub received: u64,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Datagrams that waited for too long, or that there was no room for, and were not sent.
    pub late: u64,
}

impl QuicCounts {
    /// The sums of both.
    pub fn and(self, other: QuicCounts) -> QuicCounts {
        QuicCounts {
            sent: self.sent + other.sent,
            lost: self.lost + other.lost,
            received: self.received + other.received,
            datagrams: self.datagrams + other.datagrams,
            late: self.late + other.late,
        }
    }
}

/// The transport of connections to a parent, over which the stream comes.
pub fn of_child() -> Arc<TransportConfig> {
    transport(WINDOW, DATAGRAMS)
}

/// The transport of connections from children, over which no datagram comes.
pub fn of_parent() -> Arc<TransportConfig> {
    transport(FRAMES, 1)
}

fn transport(window: VarInt, datagrams: usize) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    let mut mtu = MtuDiscoveryConfig::default();
    mtu.upper_bound(LONGEST);
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(Some(SILENCE.into()))
        .initial_rtt(FIRST_ROUND_TRIP)
        .stream_receive_window(window)
        .receive_window(window)
        .datagram_receive_buffer_size(Some(datagrams))
        .datagram_send_buffer_size(GIVEN)
        .mtu_discovery_config(Some(mtu))
        .congestion_controller_factory(Arc::new(Bounded));
    Arc::new(config)
}

pub struct Links {
    endpoint: Endpoint,
    links: BTreeMap<usize, QuicLink>,
    names: HashMap<ConnId, usize>,
    happened: VecDeque<Happened>,
    answers: VecDeque<(Transmit, Vec<u8>)>,
    /// The connection that is asked first for packets to send.
    turn: usize,
    scratch: Vec<u8>,
    before: QuicCounts,
}

impl Links {
    /// No connections; peers are accepted after [`Links::serve`].
    pub fn new() -> Links {
        let mut config = EndpointConfig::default();
        // The length is within the bounds of `quinn-proto`.
        let _ = config.max_udp_payload_size(LONGEST);
        Links {
            endpoint: Endpoint::new(Arc::new(config), None, true, None),
            links: BTreeMap::new(),
            names: HashMap::new(),
            happened: VecDeque::new(),
            answers: VecDeque::new(),
            turn: 0,
            scratch: Vec::new(),
            before: QuicCounts::default(),
        }
    }

    /// Accepts connections from now on, with this configuration.
    pub fn serve(&mut self, config: Arc<ServerConfig>) {
        self.endpoint.set_server_config(Some(config));
    }

    /// Begins a connection; false: it cannot be made.
    pub fn connect(&mut self, now: Instant, conn: ConnId, to: SocketAddr, config: ClientConfig) -> bool {
        let name = to.ip().to_string();
        match self.endpoint.connect(now, config, to, &name) {
            Ok((handle, connection)) => {
                self.links.insert(handle.0, QuicLink::new(connection, Some(conn)));
                self.names.insert(conn, handle.0);
                true
            }
            Err(_) => false,
        }
    }

    /// Names a stranger's connection.
    pub fn name(&mut self, handle: ConnectionHandle, conn: ConnId) {
        if let Some(link) = self.links.get_mut(&handle.0) {
            link.conn = Some(conn);
            self.names.insert(conn, handle.0);
            // The stranger may have sent bytes before.
            self.happened.push_back(Happened::Readable(conn));
        }
    }

    /// Closes a stranger's connection.
    pub fn refuse(&mut self, now: Instant, handle: ConnectionHandle) {
        if let Some(link) = self.links.get_mut(&handle.0) {
            link.close(now);
        }
    }

    /// Takes a UDP datagram that came.
    pub fn handle(
        &mut self, now: Instant, (from, at): (SocketAddr, Option<IpAddr>), ecn: Option<EcnCodepoint>,
        bytes: BytesMut,
    ) {
        self.scratch.clear();
        match self.endpoint.handle(now, from, at, ecn, bytes, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(link) = self.links.get_mut(&handle.0) {
                    link.handle(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming),
            Some(DatagramEvent::Response(to)) => self.answer(to),
            None => {}
        }
    }

    fn accept(&mut self, now: Instant, incoming: Incoming) {
        let strangers = self.links.values().filter(|link| link.conn.is_none()).count();
        if strangers >= STRANGERS {
            let to = self.endpoint.refuse(incoming, &mut self.scratch);
            return self.answer(to);
        }
        if strangers >= UNPROVED && !incoming.remote_address_validated() {
            let to = self.endpoint.retry(incoming, &mut self.scratch);
            return to.map_or((), |to| self.answer(to));
        }
        match self.endpoint.accept(incoming, now, &mut self.scratch, None) {
            Ok((handle, connection)) => drop(self.links.insert(handle.0, QuicLink::new(connection, None))),
            Err(failed) => failed.response.into_iter().for_each(|to| self.answer(to)),
        }
    }

    fn answer(&mut self, to: Transmit) {
        let bytes = self.scratch[..to.size].to_vec();
        // An answer to a peer that may not even exist is dropped if too many wait.
        if self.answers.len() < STRANGERS {
            self.answers.push_back((to, bytes));
        }
    }

    /// Lets the connections act on received packets and on the time.
    pub fn advance(&mut self, now: Instant) {
        let mut drained = Vec::new();
        for (&number, link) in &mut self.links {
            if !link.is_touched(now) {
                continue;
            }
            let handle = ConnectionHandle(number);
            while let Some(event) = link.connection().poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    link.handle(event);
                }
            }
            let heard = link.was_heard();
            let mut closed = false;
            while let Some(event) = link.connection().poll() {
                match (link.on_event(now, &event), link.conn) {
                    (LinkChange::Connected, Some(conn)) => self.happened.push_back(Happened::Connected(conn)),
                    (LinkChange::Connected, None) => self.happened.push_back(Happened::Came(handle)),
                    (LinkChange::Closed, _) => closed = true,
                    (LinkChange::Nothing, _) => {}
                }
            }
            link.give(now);
            if let Some(conn) = link.conn.filter(|conn| self.names.contains_key(conn)) {
                self.happened.extend(heard.then_some(Happened::Readable(conn)));
                self.happened.extend((closed || link.is_closed()).then_some(Happened::Closed(conn)));
            }
            if link.connection().is_drained() {
                drained.push(number);
            }
        }
        for number in drained {
            let Some(link) = self.links.remove(&number) else { continue };
            self.before = self.before.and(link.counts());
        }
    }

    /// The next event; to be called after [`Links::advance`].
    pub fn poll(&mut self) -> Option<Happened> {
        self.happened.pop_front()
    }

    /// The next packets to send, at most `most` datagrams of one size, into `out`, which is empty.
    pub fn poll_transmit(&mut self, now: Instant, most: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((to, bytes)) = self.answers.pop_front() {
            out.extend(bytes);
            return Some(to);
        }
        // Each connection has its turn, as the socket may be full again after one of them.
        let mut next = |(&number, link): (&usize, &mut QuicLink)| {
            link.poll_transmit(now, most, out).map(|transmit| (number + 1, transmit))
        };
        let later = self.links.range_mut(self.turn..).find_map(&mut next);
        let (turn, transmit) = later.or_else(|| self.links.range_mut(..self.turn).find_map(next))?;
        self.turn = turn;
        Some(transmit)
    }

    /// When [`Links::advance`] has work to do next.
    pub fn deadline(&mut self) -> Option<Instant> {
        self.links.values_mut().filter_map(QuicLink::deadline).min()
    }

    pub fn get(&mut self, conn: ConnId) -> Option<&mut QuicLink> {
        self.links.get_mut(self.names.get(&conn)?)
    }

    /// The address from which a peer came.
    pub fn source(&self, conn: ConnId) -> Option<IpAddr> {
        Some(self.links.get(self.names.get(&conn)?)?.source())
    }

    pub fn has(&self, conn: ConnId) -> bool {
        self.names.contains_key(&conn)
    }

    /// Closes the connection at once, and tells the peer.
    pub fn drop(&mut self, now: Instant, conn: ConnId) -> bool {
        let number = self.names.remove(&conn);
        let link = number.and_then(|number| self.links.get_mut(&number));
        link.into_iter().for_each(|link| link.close(now));
        number.is_some()
    }

    /// The connections' least round trips.
    pub fn round_trips(&self) -> impl Iterator<Item = (ConnId, Duration)> + '_ {
        self.links.values().filter_map(|link| Some((link.conn?, link.round_trip?)))
    }

    pub fn names(&self) -> Vec<ConnId> {
        self.names.keys().copied().collect()
    }

    pub fn counts(&self) -> QuicCounts {
        self.links.values().map(QuicLink::counts).fold(self.before, QuicCounts::and)
    }
}

impl Default for Links {
    fn default() -> Links {
        Links::new()
    }
}
