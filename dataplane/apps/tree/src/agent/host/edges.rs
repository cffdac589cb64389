//! A host's connections to parents and children, established or being made.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Instant;

use groupflow_host::error::AgentError;
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::Ready;
use groupflow_host::tcp;
use rustls::Connection;

use super::drive::{Drive, HostPollKey};
use super::{BATCH, SILENCE};
use crate::agent::dial::{Dial, Dialled};
use crate::agent::shared::TreeIdentity;
use crate::machine::ConnId;

/// Reads of one connection before the others have their turn.
const TURNS: usize = 4;

enum Edge {
    /// It is being made, and begins with this TLS session.
    Dialling(Dial, Option<Box<Connection>>),
    /// It is established.
    Open {
        link: Box<TcpLink>,
        /// It ends when its last bytes are sent.
        ends: bool,
    },
}

pub(super) struct Edges {
    listener: TcpListener,
    edges: BTreeMap<ConnId, Edge>,
    scratch: Box<[u8]>,
}

impl Edges {
    pub(super) fn new(listener: TcpListener) -> Edges {
        let scratch = vec![0; BATCH].into_boxed_slice();
        Edges { listener, edges: BTreeMap::new(), scratch }
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
                self.establish(conn, TcpLink::established(Channel::accepted(socket, tls), token, BATCH));
            }
            Err(_) => drive.on_closed(conn),
        }
        Ok(())
    }

    fn establish(&mut self, conn: ConnId, link: TcpLink) {
        self.edges.insert(conn, Edge::Open { link: Box::new(link), ends: false });
    }

    /// Begins a connection.
    pub(super) fn connect(
        &mut self, drive: &mut Drive, conn: ConnId, to: SocketAddrV4, tls: Option<Connection>,
    ) {
        match Dial::begin(drive.poller.now, to, SILENCE, &mut drive.poller, HostPollKey::Link(conn)) {
            Ok(dial) => drop(self.edges.insert(conn, Edge::Dialling(dial, tls.map(Box::new)))),
            Err(_) => drive.on_closed(conn),
        }
    }

    /// The established connections.
    fn links(&self) -> impl Iterator<Item = (ConnId, &TcpLink)> {
        self.edges.iter().filter_map(|(&conn, edge)| match edge {
            Edge::Open { link, .. } => Some((conn, &**link)),
            Edge::Dialling(..) => None,
        })
    }

    /// Whether any connection is being made.
    pub(super) fn dials(&self) -> bool {
        self.links().count() < self.edges.len()
    }

    pub(super) fn is_readable(&self) -> bool {
        self.links().any(|(_, link)| link.readable)
    }

    /// The address from which a peer came.
    pub(super) fn source(&self, conn: ConnId) -> Option<IpAddr> {
        match self.edges.get(&conn)? {
            Edge::Open { link, .. } => Some(link.socket().peer_addr().ok()?.ip()),
            Edge::Dialling(..) => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.edges.values().filter_map(|edge| match edge {
            Edge::Dialling(dial, _) => dial.deadline(),
            Edge::Open { .. } => None,
        });
        deadlines.min()
    }

    /// Repeats attempts that were not answered.
    pub(super) fn keep(&mut self, drive: &mut Drive) {
        for (&conn, edge) in &mut self.edges {
            if let Edge::Dialling(dial, _) = edge {
                dial.keep(drive.poller.now, &mut drive.poller, HostPollKey::Link(conn));
            }
        }
    }

    /// Handles an event of a connection, which may be made now.
    pub(super) fn on_ready(&mut self, drive: &mut Drive, conn: ConnId, ready: Ready) {
        match self.edges.get_mut(&conn) {
            Some(Edge::Open { link, .. }) => link.on_ready(ready),
            Some(Edge::Dialling(dial, tls)) => {
                let Some(answer) = dial.answered(drive.poller.now, &mut drive.poller) else { return };
                let tls = tls.take().map(|tls| *tls);
                match answer {
                    Ok(made) => self.on_dialled(drive, conn, made, tls),
                    Err(_) => self.close(drive, conn),
                }
            }
            None => {}
        }
    }

    fn on_dialled(&mut self, drive: &mut Drive, conn: ConnId, made: Dialled, tls: Option<Connection>) {
        if tcp::prepare(&made.socket, SILENCE).is_err() {
            drive.poller.remove(&made.socket, made.token);
            self.close(drive, conn);
            return;
        }
        let link = TcpLink::established(Channel::begun(made.socket, tls), made.token, BATCH);
        drive.node.conns.on_round_trip(conn, link.least_round_trip());
        self.establish(conn, link);
        drive.node.on_connected(drive.nanos(), conn);
    }

    pub(super) fn measure(&self, drive: &mut Drive) {
        for (conn, link) in self.links() {
            drive.node.conns.on_round_trip(conn, link.least_round_trip());
        }
    }

    pub(super) fn read(&mut self, drive: &mut Drive) {
        for conn in self.edges.keys().copied().collect::<Vec<_>>() {
            if self.read_from(drive, conn).is_err() {
                self.close(drive, conn);
            }
        }
    }

    fn read_from(&mut self, drive: &mut Drive, conn: ConnId) -> io::Result<()> {
        let Some(Edge::Open { link, .. }) = self.edges.get_mut(&conn) else { return Ok(()) };
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
        for conn in self.edges.keys().copied().collect::<Vec<_>>() {
            self.write_to(drive, conn);
        }
    }

    fn write_to(&mut self, drive: &mut Drive, conn: ConnId) {
        let Some(Edge::Open { link, ends }) = self.edges.get_mut(&conn) else { return };
        while link.writable && link.out.is_empty() {
            drive.node.fill(drive.nanos(), conn, link.out.bytes(), BATCH);
            let is_last = link.out.is_empty();
            if is_last && !*ends {
                return;
            }
            // A peer that is gone need not be told the end.
            if link.flush(is_last).is_err() || is_last {
                self.close(drive, conn);
                return;
            }
        }
    }

    /// Closes a connection when its last bytes are sent, and one that is being made at once.
    pub(super) fn end(&mut self, drive: &mut Drive, conn: ConnId) {
        let Some(Edge::Open { ends, .. }) = self.edges.get_mut(&conn) else { return self.close(drive, conn) };
        *ends = true;
        self.write_to(drive, conn);
    }

    /// Closes a connection, if it is here.
    pub(super) fn close(&mut self, drive: &mut Drive, conn: ConnId) {
        match self.edges.remove(&conn) {
            None => return,
            Some(Edge::Dialling(mut dial, _)) => dial.end(&mut drive.poller),
            Some(Edge::Open { link, .. }) => link.close(&mut drive.poller),
        }
        drive.on_closed(conn);
    }
}
