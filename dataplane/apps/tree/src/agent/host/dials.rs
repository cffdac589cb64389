//! Connections to parents that are being made: over QUIC where that is wanted, and over TCP where QUIC does
//! not get through.

use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

use groupflow_base::SortedMap;
use groupflow_host::channel::Channel;
use groupflow_host::tcp;
use rustls::Connection;

use super::drive::{Drive, HostPollKey};
use super::SILENCE;
use crate::agent::dial::Dial;
use crate::agent::tcp_link::TcpLink;
use crate::machine::ConnId;

/// How long UDP is not tried again with a parent that only TCP reached; the parent may have been busy.
const UNREACHED_FOR: Duration = Duration::from_secs(600);
/// The most such parents that are remembered.
const MAX_UNREACHED: usize = 256;

/// A connection that is being made.
#[derive(Debug)]
struct Dialling {
    to: SocketAddrV4,
    /// The TLS connection, for an attempt over TCP.
    tls: Option<Connection>,
    way: DialAttempt,
}

#[derive(Debug)]
enum DialAttempt {
    /// An attempt over QUIC, until this time.
    Quic(Instant),
    /// Over TCP, because QUIC was not wanted or was refused, or (true) nothing answered over UDP.
    Tcp(Dial, bool),
}

/// All connections that are being made.
#[derive(Debug, Default)]
pub(super) struct Dials {
    dials: SortedMap<ConnId, Dialling>,
    /// Parents that UDP did not reach, and when they may be tried over UDP again.
    unreached: SortedMap<SocketAddrV4, Instant>,
}

impl Dials {
    pub(super) fn is_empty(&self) -> bool {
        self.dials.is_empty()
    }

    pub(super) fn has(&self, conn: ConnId) -> bool {
        self.dials.contains_key(&conn)
    }

    /// Whether UDP may reach that parent.
    pub(super) fn may_use_udp(&mut self, now: Instant, to: SocketAddrV4) -> bool {
        self.unreached.retain(|_, until| *until > now);
        !self.unreached.contains_key(&to)
    }

    /// Notes a connection that was begun over QUIC, and when it is given up.
    pub(super) fn over_quic(
        &mut self, conn: ConnId, to: SocketAddrV4, tls: Option<Connection>, until: Instant,
    ) {
        self.dials.insert(conn, Dialling { to, tls, way: DialAttempt::Quic(until) });
    }

    /// Begins a connection over TCP; `unreached`: nothing answered over UDP.
    pub(super) fn over_tcp(
        &mut self, drive: &mut Drive, conn: ConnId, to: SocketAddrV4, tls: Option<Connection>,
        unreached: bool,
    ) {
        match Dial::begin(drive.now, to, SILENCE, &mut drive.poller, HostPollKey::Link(conn)) {
            Ok(dial) => {
                drop(self.dials.insert(conn, Dialling { to, tls, way: DialAttempt::Tcp(dial, unreached) }))
            }
            Err(_) => drive.on_closed(conn),
        }
    }

    pub(super) fn over_tcp_instead(&mut self, drive: &mut Drive, conn: ConnId, unreached: bool) {
        if let Some(Dialling { to, tls, .. }) = self.dials.remove(&conn) {
            drive.node.conns.on_heard(drive.nanos(), conn);
            self.over_tcp(drive, conn, to, tls, unreached);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.dials.values().filter_map(|dialling| match &dialling.way {
            DialAttempt::Quic(until) => Some(*until),
            DialAttempt::Tcp(dial, _) => dial.deadline(),
        });
        deadlines.min()
    }

    /// Repeats attempts over TCP; returns the connections for which QUIC is given up.
    pub(super) fn keep(&mut self, drive: &mut Drive) -> Vec<ConnId> {
        let mut late = Vec::new();
        for (&conn, dialling) in &mut self.dials {
            match &mut dialling.way {
                DialAttempt::Quic(until) => late.extend((*until <= drive.now).then_some(conn)),
                DialAttempt::Tcp(dial, _) => dial.keep(drive.now, &mut drive.poller, HostPollKey::Link(conn)),
            }
        }
        late
    }

    /// Takes out a connection that is made, or given up; false: it is not here.
    pub(super) fn remove(&mut self, drive: &mut Drive, conn: ConnId) -> bool {
        let Some(Dialling { way, .. }) = self.dials.remove(&conn) else { return false };
        if let DialAttempt::Tcp(mut dial, _) = way {
            dial.end(&mut drive.poller);
        }
        true
    }

    /// Looks at an attempt over TCP after an event; returns the connection once it is made.
    pub(super) fn on_ready(&mut self, drive: &mut Drive, conn: ConnId) -> Option<TcpLink> {
        let DialAttempt::Tcp(dial, unreached) = &mut self.dials.get_mut(&conn)?.way else { return None };
        let (answer, unreached) = (dial.answered(drive.now, &mut drive.poller)?, *unreached);
        let Dialling { to, tls, .. } = self.dials.remove(&conn)?;
        let made = answer.map_err(|_| drive.on_closed(conn)).ok()?;
        if unreached && self.unreached.len() < MAX_UNREACHED {
            self.unreached.insert(to, drive.now + UNREACHED_FOR);
        }
        if tcp::prepare(&made.socket, SILENCE).is_err() {
            drive.poller.remove(&made.socket, made.token);
            drive.on_closed(conn);
            return None;
        }
        Some(TcpLink::new(Channel::begun(made.socket, tls), made.token))
    }
}
