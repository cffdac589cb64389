//! Connections to parents that are being made: over QUIC where that is wanted, and over TCP where QUIC does
//! not get through.

use std::net::{SocketAddr, SocketAddrV4};
use std::time::Instant;

use groupflow_host::channel::Channel;
use groupflow_host::error::AgentError;
use groupflow_host::poller::Poller;
use groupflow_host::tcp;
use rustls::Connection;

use super::{Host, Target, SILENCE};
use crate::agent::dial::Dial;
use crate::agent::edge::Edge;
use crate::machine::{ConnId, Peer};

/// A connection that is being made.
#[derive(Debug)]
pub(super) struct Dialling {
    to: SocketAddrV4,
    /// The TLS connection, for an attempt over TCP.
    tls: Option<Connection>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// An attempt over QUIC, until this time.
    Quic(Instant),
    /// Over TCP, because QUIC was not wanted or was refused, or (true) nothing answered over UDP.
    Tcp(Dial, bool),
}

impl Dialling {
    pub(super) fn end(&mut self, poller: &mut Poller<Target>) {
        if let Way::Tcp(dial, _) = &mut self.way {
            dial.end(poller);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.way {
            Way::Quic(until) => Some(*until),
            Way::Tcp(dial, _) => dial.deadline(),
        }
    }
}

impl Host<'_> {
    pub(super) fn connect(&mut self, conn: ConnId, to: Peer) -> Result<(), AgentError> {
        let SocketAddr::V4(to) = to.address else {
            self.node.on_closed(self.nanos(), conn);
            return Ok(());
        };
        let tls = self.shared.as_ref().map(|shared| shared.connect(to)).transpose()?;
        match self.connect_quic(conn, to)? {
            Some(until) => drop(self.dials.insert(conn, Dialling { to, tls, way: Way::Quic(until) })),
            None => self.dial(conn, to, tls, false),
        }
        Ok(())
    }

    fn dial(&mut self, conn: ConnId, to: SocketAddrV4, tls: Option<Connection>, instead: bool) {
        match Dial::begin(self.now, to, SILENCE, &mut self.poller, Target::Edge(conn)) {
            Ok(dial) => drop(self.dials.insert(conn, Dialling { to, tls, way: Way::Tcp(dial, instead) })),
            Err(_) => self.node.on_closed(self.nanos(), conn),
        }
    }

    /// Dials over TCP, because there is no connection over QUIC; `blocked`: nothing answered over UDP.
    pub(super) fn dial_instead(&mut self, conn: ConnId, blocked: bool) {
        let now = self.now;
        if let Some(quic) = &mut self.quic {
            quic.links.drop(now, conn);
        }
        if let Some(Dialling { to, tls, .. }) = self.dials.remove(&conn) {
            self.node.conns.on_heard(self.nanos(), conn);
            self.dial(conn, to, tls, blocked);
        }
    }

    pub(super) fn dials_deadline(&self) -> Option<Instant> {
        self.dials.values().filter_map(Dialling::deadline).min()
    }

    pub(super) fn keep_dials(&mut self) {
        let mut late = Vec::new();
        for (&conn, dialling) in &mut self.dials {
            match &mut dialling.way {
                Way::Quic(until) => late.extend((*until <= self.now).then_some(conn)),
                Way::Tcp(dial, _) => dial.keep(self.now, &mut self.poller, Target::Edge(conn)),
            }
        }
        late.into_iter().for_each(|conn| self.dial_instead(conn, true));
    }

    /// The attempt over TCP succeeded or failed.
    pub(super) fn on_dial(&mut self, conn: ConnId) {
        let Some(mut dialling) = self.dials.remove(&conn) else { return };
        let Way::Tcp(dial, instead) = &mut dialling.way else { return };
        let Some(answer) = dial.answered(self.now, &mut self.poller) else {
            self.dials.insert(conn, dialling);
            return;
        };
        let Ok(made) = answer else { return self.node.on_closed(self.nanos(), conn) };
        if *instead {
            self.is_blocked(dialling.to);
        }
        if tcp::prepare(&made.socket, SILENCE).is_err() {
            self.poller.remove(&made.socket, made.token);
            return self.node.on_closed(self.nanos(), conn);
        }
        self.edges.insert(conn, Edge::new(Channel::begun(made.socket, dialling.tls), made.token));
        self.node.on_connected(self.nanos(), conn);
    }
}
