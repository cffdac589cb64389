//! The host's connections to parents and children, established or being made, and its node, which they drive.
//!
//! Hosts recognize each other by the tree's certificate, which the dispatchers give, with its key, to every
//! host that has the token.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use groupflow_base::{Digest, Nanos};
use groupflow_host::error::AgentError;
use groupflow_host::link::{Channel, ReadOutcome, TcpLink};
use groupflow_host::poller::{Poller, Ready};
use groupflow_host::process::{system, Clock};
use groupflow_host::tcp::{Accepted, Acceptor};
use groupflow_host::tls::{fingerprint, server_config, Trust};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Connection, ServerConfig, ServerConnection};

use super::dial::{Dial, HostPollKey};
use crate::machine::messages::CertifiedKey;
use crate::machine::{ConnId, Peer, TreeNode};

/// Bytes that a connection is given at once; those that wait in the kernel besides are bounded, too.
pub(super) const BATCH: usize = 64 << 10;
/// How long an edge lasts on which no sent byte is acknowledged.
const SILENCE: Duration = Duration::from_secs(3);
/// Reads of one connection before the others have their turn.
const TURNS: usize = 4;

/// The host's node, with the clock and the poller that drive it.
pub struct Drive {
    pub node: TreeNode,
    pub poller: Poller<HostPollKey>,
    clock: Clock,
}

impl Drive {
    pub(super) fn new(node: TreeNode) -> Result<Drive, AgentError> {
        let poller = Poller::with_signals().map_err(|e| system(&e))?;
        Ok(Drive { node, clock: Clock::start(), poller })
    }

    /// The time as the node counts it.
    pub fn nanos(&self) -> Nanos {
        self.clock.at(self.poller.now)
    }

    pub(super) fn deadline(&self) -> Instant {
        self.clock.instant(self.node.deadline())
    }

    /// Tells the node that a connection has ended, or could not be made.
    pub(super) fn on_closed(&mut self, conn: ConnId) {
        self.node.on_closed(self.nanos(), conn);
    }
}

enum Edge {
    /// It is being made, and begins with this TLS session.
    Dialling(Dial, Option<Box<Connection>>),
    /// It is established; `ends`: until its last bytes are sent.
    Open { link: Box<TcpLink>, ends: bool },
}

pub(super) struct Edges {
    listener: TcpListener,
    acceptor: Acceptor,
    /// The tree's certificate, once the dispatchers gave it; with `plain` there is none.
    identity: Option<TreeIdentity>,
    plain: bool,
    edges: BTreeMap<ConnId, Edge>,
    scratch: Box<[u8]>,
}

impl Edges {
    pub(super) fn new(listener: TcpListener, plain: bool) -> Edges {
        let scratch = vec![0; BATCH].into_boxed_slice();
        let acceptor = Acceptor::default();
        Edges { listener, acceptor, identity: None, plain, edges: BTreeMap::new(), scratch }
    }

    /// Takes the tree's certificate, which is of no use with `plain`.
    pub(super) fn identify(&mut self, given: Option<&CertifiedKey>) -> Result<(), AgentError> {
        if !self.plain {
            self.identity = Some(TreeIdentity::parse(given)?);
        }
        Ok(())
    }

    /// The next peer that has connected. One for which there is no descriptor is turned away.
    pub(super) fn accept(&mut self) -> Option<TcpStream> {
        loop {
            if let Accepted::Peer(socket, _) = self.acceptor.accept(&self.listener, SILENCE)? {
                return Some(socket);
            }
        }
    }

    /// Admits a peer that was accepted. A host without the tree's certificate cannot prove itself, unless all
    /// is `plain`: it admits no child, and none expects it.
    pub(super) fn admit(&mut self, drive: &mut Drive, socket: TcpStream) -> Result<(), AgentError> {
        let tls = self.identity.as_ref().map(TreeIdentity::accept).transpose()?;
        if tls.is_none() && !self.plain {
            return Ok(());
        }
        let Some(conn) = drive.node.on_accepted(drive.nanos()) else { return Ok(()) };
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

    pub(super) fn connect(&mut self, drive: &mut Drive, conn: ConnId, to: Peer) -> Result<(), AgentError> {
        let SocketAddr::V4(to) = to.address else {
            drive.on_closed(conn);
            return Ok(());
        };
        let tls = self.identity.as_ref().map(|identity| identity.connect(to)).transpose()?;
        match Dial::begin(drive.poller.now, to, SILENCE, &mut drive.poller, HostPollKey::Link(conn)) {
            Ok(dial) => drop(self.edges.insert(conn, Edge::Dialling(dial, tls.map(Box::new)))),
            Err(_) => drive.on_closed(conn),
        }
        Ok(())
    }

    fn links(&self) -> impl Iterator<Item = (ConnId, &TcpLink)> {
        self.edges.iter().filter_map(|(&conn, edge)| match edge {
            Edge::Open { link, .. } => Some((conn, &**link)),
            Edge::Dialling(..) => None,
        })
    }

    pub(super) fn dials(&self) -> bool {
        self.links().count() < self.edges.len()
    }

    pub(super) fn is_readable(&self) -> bool {
        self.links().any(|(_, link)| link.readable)
    }

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
        for edge in self.edges.values_mut() {
            if let Edge::Dialling(dial, _) = edge {
                dial.keep(drive.poller.now, &mut drive.poller);
            }
        }
    }

    /// Handles an event of a connection, which may be made now.
    pub(super) fn on_ready(&mut self, drive: &mut Drive, conn: ConnId, ready: Ready) {
        match self.edges.get_mut(&conn) {
            Some(Edge::Open { link, .. }) => link.on_ready(ready),
            Some(Edge::Dialling(dial, tls)) => {
                let Some(answer) = dial.answered(&mut drive.poller) else { return };
                let Ok(made) = answer else { return self.close(drive, conn) };
                let channel = Channel::begun(made.socket, tls.take().map(|tls| *tls));
                let link = TcpLink::established(channel, made.token, BATCH);
                drive.node.on_round_trip(conn, link.least_round_trip());
                self.establish(conn, link);
                drive.node.on_connected(drive.nanos(), conn);
            }
            None => {}
        }
    }

    pub(super) fn measure(&self, drive: &mut Drive) {
        for (conn, link) in self.links() {
            drive.node.on_round_trip(conn, link.least_round_trip());
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

/// The TLS configurations of connections to and from other hosts.
#[derive(Debug, Clone)]
struct TreeIdentity {
    config: Arc<ServerConfig>,
    pin: Digest,
}

impl TreeIdentity {
    fn parse(given: Option<&CertifiedKey>) -> Result<TreeIdentity, AgentError> {
        let wrong = |why: &dyn std::fmt::Display| {
            let cause =
                format!("the tree's certificate cannot be used: {}", why.to_string().replace('\n', " "));
            AgentError::new("tls", cause, "check that dispatchers and hosts are of one version")
        };
        let given = given.ok_or_else(|| wrong(&"there is none"))?;
        let certificate = CertificateDer::from_pem_slice(given.certificate.as_bytes());
        let certificate = certificate.map_err(|error| wrong(&error))?;
        let key = PrivateKeyDer::from_pem_slice(given.key.as_bytes()).map_err(|error| wrong(&error))?;
        let pin = fingerprint(&certificate);
        let config = server_config(vec![certificate], key).map_err(|error| wrong(&error))?;
        Ok(TreeIdentity { config, pin })
    }

    /// The TLS session with a child that has connected.
    fn accept(&self) -> Result<Connection, AgentError> {
        ServerConnection::new(self.config.clone()).map(Connection::Server).map_err(|error| unusable(&error))
    }

    fn connect(&self, to: SocketAddrV4) -> Result<Connection, AgentError> {
        let trust = Trust::pinned(self.pin, to)?;
        trust.begin().map(Connection::Client).map_err(|error| unusable(&error))
    }
}

fn unusable(error: &dyn std::fmt::Display) -> AgentError {
    AgentError::new("tls", format!("TLS cannot begin: {error}"), "check the tree's certificate")
}
