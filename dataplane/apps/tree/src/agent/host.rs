//! The loop around a node: its sockets, the dispatchers, and the clock.
//!
//! | module | subject |
//! |---|---|
//! | `drive` | the node, the poller and the clock |
//! | `dialogue` | the messages of host and dispatchers to each other |
//! | `edges` | the connections to parents and children |

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use groupflow_base::gives_way;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::tcp::{self, TcpOptions};

use super::args::TreeArgs;
use super::dispatcher_link::LinkEvent;
use super::probes::Probes;
use super::shared::TreeIdentity;
use crate::machine::dialogue::CertifiedKey;
use crate::machine::{ConnId, FromHost, HostId, NodeAction, Peer, TreeNode};

mod dialogue;
mod drive;
mod edges;

use dialogue::{Dialogue, DispatcherWord};
use drive::{Drive, HostPollKey};
use edges::Edges;

/// Bytes that a connection is given at once; those that wait in the kernel besides are bounded, too.
pub const BATCH: usize = 64 << 10;
/// Bytes that the kernel takes before it has sent them (TCP_NOTSENT_LOWAT): bytes that wait there cannot go
/// over another connection.
const UNSENT: libc::c_int = 128 << 10;
/// How long an edge lasts on which no sent byte is acknowledged.
const SILENCE: Duration = Duration::from_secs(3);

/// A host, until it has no more to do.
pub struct TreeHost<'a> {
    args: &'a TreeArgs,
    /// The host's node, with the clock and the poller that drive it.
    pub drive: Drive,
    pub dialogue: Dialogue,
    /// The tree's certificate, once the dispatchers gave it.
    shared: Option<TreeIdentity>,
    edges: Edges,
    probes: Probes,
}

impl<'a> TreeHost<'a> {
    /// Listens for children; nothing else happens before [`TreeHost::wait`].
    pub fn open(
        args: &'a TreeArgs, id: HostId, node: TreeNode, is_source: bool,
    ) -> Result<TreeHost<'a>, AgentError> {
        let listener = tcp::listen(args.listen, &edge_options()).map_err(|e| {
            let cause = format!("cannot listen at {}: {}", args.listen, plain(&e));
            AgentError::new("listen", cause, "choose another --listen")
        })?;
        let mut drive = Drive::new(node)?;
        drive.watch(listener.as_fd(), HostPollKey::Listener)?;
        let port = listener.local_addr().map_or(0, |address| address.port());
        Ok(TreeHost {
            args,
            dialogue: Dialogue::new(args, id, is_source, port, drive.poller.now)?,
            drive,
            shared: None,
            edges: Edges::new(listener),
            probes: Probes::default(),
        })
    }

    /// Watches the input or output; false: it is always ready.
    pub fn watch(&mut self, data: BorrowedFd<'_>) -> Result<bool, AgentError> {
        self.drive.watch(data, HostPollKey::Data)
    }

    /// Does all work that needs no waiting.
    pub fn pump(&mut self) -> Result<(), AgentError> {
        let now = self.drive.poller.now;
        if !self.dialogue.ended {
            self.dialogue.link.keep(now, &mut self.drive.poller, HostPollKey::Dispatchers)?;
            self.hear()?;
        }
        self.drive.node.on_dispatchers(self.drive.nanos(), self.dialogue.is_connected());
        self.edges.keep(&mut self.drive);
        self.edges.read(&mut self.drive);
        // Actions come first: they say where the node's bytes go.
        self.act()?;
        self.edges.write(&mut self.drive);
        self.act()?;
        self.probes.keep(now, &mut self.drive.poller, HostPollKey::Probe);
        let measured = self.probes.take(now, &mut self.drive.poller);
        if let Some(measured) = measured.filter(|_| !self.drive.node.is_leaving()) {
            self.drive.node.conns.on_measured(&measured);
            self.dialogue.report(FromHost::Measured(measured));
        }
        self.dialogue.try_again(&self.drive);
        Ok(())
    }

    /// Waits until something happens, at most until `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Result<(), AgentError> {
        let others = [until, self.dialogue.deadline(), self.probes.deadline(), self.edges.deadline()];
        let next = others.into_iter().flatten().fold(self.drive.deadline(), Instant::min);
        for (target, ready) in self.drive.wait(next, self.edges.is_readable())? {
            match target {
                HostPollKey::Listener => {
                    while let Some(socket) = self.edges.accept() {
                        self.make_room();
                        let (shared, plain) = (self.shared.as_ref(), self.args.secure.plain);
                        self.edges.admit(&mut self.drive, socket, shared, plain)?;
                    }
                }
                HostPollKey::Dispatchers => self.dialogue.link.on_ready(ready),
                HostPollKey::Probe(host) => {
                    self.probes.on_ready(self.drive.poller.now, host, &mut self.drive.poller);
                }
                // Input or output is tried after every wait.
                HostPollKey::Data => {}
                HostPollKey::Link(conn) => self.edges.on_ready(&mut self.drive, conn, ready),
            }
        }
        let nanos = self.drive.nanos();
        if self.drive.node.deadline() <= nanos {
            self.edges.measure(&mut self.drive);
            self.drive.node.on_time(nanos);
        }
        Ok(())
    }

    /// Carries out the node's actions.
    fn act(&mut self) -> Result<(), AgentError> {
        while let Some(action) = self.drive.node.conns.poll() {
            match action {
                NodeAction::Connect { conn, to } => self.connect(conn, to)?,
                NodeAction::Close(conn) => self.edges.end(&mut self.drive, conn),
                NodeAction::Report(message) => self.dialogue.report(message),
                NodeAction::Measure(peers) => self.probes.begin(
                    self.drive.poller.now,
                    &peers,
                    &mut self.drive.poller,
                    HostPollKey::Probe,
                ),
                NodeAction::Join(cluster) => {
                    self.probes.end(&mut self.drive.poller);
                    self.dialogue.join(Some(cluster));
                }
                NodeAction::Refused { code, text } => {
                    self.probes.end(&mut self.drive.poller);
                    self.dialogue.on_refusal(&mut self.drive, code, &text)?
                }
            }
        }
        Ok(())
    }

    /// Takes the dispatchers' messages.
    fn hear(&mut self) -> Result<(), AgentError> {
        for event in self.dialogue.link.work(self.drive.poller.now, &mut self.drive.poller)? {
            let line = match event {
                LinkEvent::Connected => {
                    self.dialogue.greet();
                    self.dialogue.link.work(self.drive.poller.now, &mut self.drive.poller)?;
                    continue;
                }
                LinkEvent::Lost => continue,
                LinkEvent::Line(line) => line,
                LinkEvent::BadWelcome => {
                    let cure = "check that they are of this version";
                    return Err(AgentError::new(
                        "dispatchers",
                        "the dispatchers' welcome is malformed",
                        cure,
                    ));
                }
            };
            match self.dialogue.on_line(&mut self.drive, line, self.edges.dials())? {
                DispatcherWord::Nothing => {}
                DispatcherWord::Lost => break,
                DispatcherWord::Welcome(identity) => self.on_identity(identity.as_ref())?,
                DispatcherWord::Order(order) => {
                    self.drive.node.on_order(self.drive.nanos(), order);
                    self.act()?;
                }
            }
        }
        Ok(())
    }

    /// Takes the tree's certificate, by which children and parents know this host.
    fn on_identity(&mut self, identity: Option<&CertifiedKey>) -> Result<(), AgentError> {
        if !self.args.secure.plain {
            self.shared = Some(TreeIdentity::parse(identity)?);
        }
        Ok(())
    }

    /// Closes a stranger's connection if otherwise a newcomer would find no place.
    fn make_room(&mut self) {
        let crowd = self.drive.node.conns.crowd();
        // A connection that has no address any more is gone.
        let silent =
            crowd.map(|conn| (conn, self.edges.source(conn).unwrap_or(Ipv4Addr::UNSPECIFIED.into())));
        if let Some(conn) = gives_way(silent) {
            self.edges.close(&mut self.drive, conn);
        }
    }

    fn connect(&mut self, conn: ConnId, to: Peer) -> Result<(), AgentError> {
        let SocketAddr::V4(to) = to.address else {
            self.drive.on_closed(conn);
            return Ok(());
        };
        let tls = self.shared.as_ref().map(|shared| shared.connect(to)).transpose()?;
        self.edges.connect(&mut self.drive, conn, to, tls);
        Ok(())
    }
}

/// The options of an edge's connections, which accepted ones inherit.
pub(super) fn edge_options() -> TcpOptions {
    TcpOptions { unsent: Some(UNSENT), ..TcpOptions::default() }
}
