//! Connections to parents that are being made.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::time::Instant;

use groupflow_host::error::AgentError;
use groupflow_host::link::{Channel, TcpLink};
use groupflow_host::tcp;
use rustls::Connection;

use super::drive::{Drive, HostPollKey};
use super::{BATCH, SILENCE};
use crate::agent::dial::Dial;
use crate::machine::ConnId;

/// So many attempts over UDP in succession that nobody answers mean that UDP is blocked.
const UNANSWERED: u32 = 8;

/// A connection that is being made.
#[derive(Debug)]
enum Dialling {
    /// Over QUIC, until this time.
    Quic(Instant),
    Tcp(Dial, Option<Box<Connection>>),
}

/// All connections that are being made.
#[derive(Debug, Default)]
pub(super) struct Dials {
    dials: BTreeMap<ConnId, Dialling>,
    /// Attempts over UDP since the last that was answered.
    unanswered: u32,
}

impl Dials {
    pub(super) fn is_empty(&self) -> bool {
        self.dials.is_empty()
    }

    pub(super) fn has(&self, conn: ConnId) -> bool {
        self.dials.contains_key(&conn)
    }

    /// Notes a connection that was begun over QUIC, and when it is given up.
    pub(super) fn over_quic(&mut self, conn: ConnId, until: Instant) {
        self.dials.insert(conn, Dialling::Quic(until));
    }

    /// Begins a connection over TCP.
    pub(super) fn over_tcp(
        &mut self, drive: &mut Drive, conn: ConnId, to: SocketAddrV4, tls: Option<Connection>,
    ) {
        match Dial::begin(drive.poller.now, to, SILENCE, &mut drive.poller, HostPollKey::Link(conn)) {
            Ok(dial) => drop(self.dials.insert(conn, Dialling::Tcp(dial, tls.map(Box::new)))),
            Err(_) => drive.on_closed(conn),
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.dials.values().filter_map(|dialling| match dialling {
            Dialling::Quic(until) => Some(*until),
            Dialling::Tcp(dial, _) => dial.deadline(),
        });
        deadlines.min()
    }

    /// Repeats attempts over TCP; returns the connections over QUIC that are given up. The error: UDP is blocked.
    pub(super) fn keep(&mut self, drive: &mut Drive) -> Result<Vec<ConnId>, AgentError> {
        let mut late = Vec::new();
        for (&conn, dialling) in &mut self.dials {
            match dialling {
                Dialling::Quic(until) => late.extend((*until <= drive.poller.now).then_some(conn)),
                Dialling::Tcp(dial, _) => {
                    dial.keep(drive.poller.now, &mut drive.poller, HostPollKey::Link(conn))
                }
            }
        }
        self.unanswered += u32::try_from(late.len()).unwrap_or(u32::MAX);
        if self.unanswered >= UNANSWERED {
            let cause = "no parent answers over UDP, which may be blocked";
            return Err(AgentError::new("udp_blocked", cause, "choose --edges stream"));
        }
        Ok(late)
    }

    /// Takes out a connection over QUIC that is made; false: it was given up.
    pub(super) fn is_made(&mut self, conn: ConnId) -> bool {
        self.unanswered = 0;
        self.dials.remove(&conn).is_some()
    }

    /// Gives a connection up; false: it is not here.
    pub(super) fn remove(&mut self, drive: &mut Drive, conn: ConnId) -> bool {
        let Some(dialling) = self.dials.remove(&conn) else { return false };
        if let Dialling::Tcp(mut dial, _) = dialling {
            dial.end(&mut drive.poller);
        }
        true
    }

    /// Looks at an attempt over TCP after an event; returns the connection once it is made.
    pub(super) fn on_ready(&mut self, drive: &mut Drive, conn: ConnId) -> Option<TcpLink> {
        let Dialling::Tcp(dial, _) = self.dials.get_mut(&conn)? else { return None };
        let answer = dial.answered(drive.poller.now, &mut drive.poller)?;
        let Dialling::Tcp(_, tls) = self.dials.remove(&conn)? else { return None };
        let made = answer.map_err(|_| drive.on_closed(conn)).ok()?;
        if tcp::prepare(&made.socket, SILENCE).is_err() {
            drive.poller.remove(&made.socket, made.token);
            drive.on_closed(conn);
            return None;
        }
        let channel = Channel::begun(made.socket, tls.map(|tls| *tls));
        Some(TcpLink::established(channel, made.token, BATCH))
    }
}
