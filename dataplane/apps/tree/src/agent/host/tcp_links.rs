//! A host's connections over TCP: the listener, and the connections that are established.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};

use groupflow_host::error::AgentError;
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::Ready;
use groupflow_host::tcp;

use super::drive::{Drive, HostPollKey};
use super::{BATCH, SILENCE};
use crate::agent::shared::TreeIdentity;
use crate::machine::ConnId;

/// Reads of one connection before the others have their turn.
const TURNS: usize = 4;

pub(super) struct TcpLinks {
    listener: TcpListener,
    links: BTreeMap<ConnId, TcpLink>,
    /// Connections that end when their last bytes are sent.
    closing: BTreeSet<ConnId>,
    scratch: Box<[u8]>,
}

impl TcpLinks {
    pub(super) fn new(listener: TcpListener) -> TcpLinks {
        TcpLinks {
            listener,
            links: BTreeMap::new(),
            closing: BTreeSet::new(),
            scratch: vec![0; BATCH].into_boxed_slice(),
        }
    }

    /// The next peer that waits.
    pub(super) fn accept(&self) -> Option<TcpStream> {
        // An error means that no peer waits, that it has gone again, or that no descriptor is left: another
        // peer will come.
        self.listener.accept().ok().map(|(socket, _)| socket)
    }

    /// Admits a peer that was accepted. A host without the tree's certificate cannot prove itself, unless all
    /// is `plain`: it admits no child, and none expects it.
    pub(super) fn admit(
        &mut self, drive: &mut Drive, socket: TcpStream, shared: Option<&TreeIdentity>, plain: bool,
    ) -> Result<(), AgentError> {
        let tls = shared.map(TreeIdentity::accept).transpose()?;
        if (tls.is_none() && !plain) || tcp::prepare(&socket, SILENCE).is_err() {
            return Ok(());
        }
        let Some(conn) = drive.node.conns.on_accepted(drive.nanos()) else { return Ok(()) };
        match drive.poller.add(&socket, HostPollKey::Link(conn)) {
            Ok(token) => {
                self.insert(conn, TcpLink::established(Channel::accepted(socket, tls), token, BATCH))
            }
            Err(_) => drive.on_closed(conn),
        }
        Ok(())
    }

    /// The address from which a peer came.
    pub(super) fn source(&self, conn: ConnId) -> Option<IpAddr> {
        Some(self.links.get(&conn)?.socket().peer_addr().ok()?.ip())
    }

    pub(super) fn insert(&mut self, conn: ConnId, link: TcpLink) {
        self.links.insert(conn, link);
    }

    /// Notes the readiness of a connection; false: it is not here.
    pub(super) fn on_ready(&mut self, conn: ConnId, ready: Ready) -> bool {
        self.links.get_mut(&conn).map(|link| link.on_ready(ready)).is_some()
    }

    pub(super) fn is_readable(&self) -> bool {
        self.links.values().any(|link| link.readable)
    }

    pub(super) fn measure(&self, drive: &mut Drive) {
        for (&conn, link) in &self.links {
            drive.node.conns.on_round_trip(conn, link.least_round_trip());
        }
    }

    pub(super) fn read(&mut self, drive: &mut Drive) {
        for conn in self.links.keys().copied().collect::<Vec<_>>() {
            if self.read_from(drive, conn).is_err() {
                self.close(drive, conn);
            }
        }
    }

    fn read_from(&mut self, drive: &mut Drive, conn: ConnId) -> io::Result<()> {
        let Some(link) = self.links.get_mut(&conn) else { return Ok(()) };
        link.flush(false)?;
        for _ in 0..TURNS {
            if !link.readable {
                break;
            }
            match link.read(&mut self.scratch)? {
                ReadOutcome::Bytes(count) => {
                    drive.node.on_bytes(drive.nanos(), conn, &self.scratch[..count]);
                }
                ReadOutcome::Nothing => break,
                ReadOutcome::End => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        Ok(())
    }

    /// Writes as many bytes as the connections take now.
    pub(super) fn write(&mut self, drive: &mut Drive) {
        for conn in self.links.keys().copied().collect::<Vec<_>>() {
            self.write_to(drive, conn);
        }
    }

    fn write_to(&mut self, drive: &mut Drive, conn: ConnId) {
        let Some(link) = self.links.get_mut(&conn) else { return };
        let closing = self.closing.contains(&conn);
        while link.writable && link.out.is_empty() {
            drive.node.fill(drive.nanos(), conn, link.out.bytes(), BATCH);
            let ends = link.out.is_empty();
            if ends && !closing {
                return;
            }
            // A peer that is gone need not be told the end.
            if link.flush(ends).is_err() || ends {
                self.close(drive, conn);
                return;
            }
        }
    }

    /// Closes a connection when its last bytes are sent; false: it is not here.
    pub(super) fn end(&mut self, drive: &mut Drive, conn: ConnId) -> bool {
        let is_here = self.links.contains_key(&conn);
        if is_here {
            self.closing.insert(conn);
            self.write_to(drive, conn);
        }
        is_here
    }

    /// Closes a connection; false: it is not here.
    pub(super) fn close(&mut self, drive: &mut Drive, conn: ConnId) -> bool {
        let Some(link) = self.links.remove(&conn) else { return false };
        self.closing.remove(&conn);
        link.close(&mut drive.poller);
        drive.on_closed(conn);
        true
    }
}
