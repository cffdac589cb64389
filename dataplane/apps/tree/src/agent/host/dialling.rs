//! Connections to parents that are being made.

use std::net::SocketAddr;
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

/// A connection that is being made, and what is said over it in the end.
#[derive(Debug)]
pub(super) struct Dialling {
    dial: Dial,
    tls: Option<Connection>,
}

impl Dialling {
    pub(super) fn end(&mut self, poller: &mut Poller<Target>) {
        self.dial.end(poller);
    }
}

impl Host<'_> {
    pub(super) fn connect(&mut self, conn: ConnId, to: Peer) -> Result<(), AgentError> {
        let SocketAddr::V4(address) = to.address else {
            self.node.on_closed(self.nanos(), conn);
            return Ok(());
        };
        let tls = self.shared.as_ref().map(|shared| shared.connect(address)).transpose()?;
        self.offer(conn);
        match Dial::begin(self.now, address, SILENCE, &mut self.poller, Target::Edge(conn)) {
            Ok(dial) => drop(self.dials.insert(conn, Dialling { dial, tls })),
            Err(_) => self.is_not_reached(conn),
        }
        Ok(())
    }

    pub(super) fn dials_deadline(&self) -> Option<Instant> {
        self.dials.values().filter_map(|dialling| dialling.dial.deadline()).min()
    }

    pub(super) fn keep_dials(&mut self) {
        for (&conn, dialling) in &mut self.dials {
            dialling.dial.keep(self.now, &mut self.poller, Target::Edge(conn));
        }
    }

    /// It is there, or failed.
    pub(super) fn on_dial(&mut self, conn: ConnId) {
        let Some(mut dialling) = self.dials.remove(&conn) else { return };
        let Some(answer) = dialling.dial.answered(self.now, &mut self.poller) else {
            self.dials.insert(conn, dialling);
            return;
        };
        let Ok(made) = answer else { return self.is_not_reached(conn) };
        if tcp::prepare(&made.socket, SILENCE).is_err() {
            self.poller.remove(&made.socket, made.token);
            return self.is_not_reached(conn);
        }
        self.edges.insert(conn, Edge::new(Channel::begun(made.socket, dialling.tls), made.token));
        self.node.on_connected(self.nanos(), conn);
    }

    fn is_not_reached(&mut self, conn: ConnId) {
        self.forget_doors(conn);
        self.node.on_closed(self.nanos(), conn);
    }
}
