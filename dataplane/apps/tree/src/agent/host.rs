//! The loop around a node: its sockets, the dispatchers, and the clock.

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use groupflow_base::gives_way;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::process::{raise_descriptors, system};
use groupflow_host::tcp;

use super::dial::{edge_options, HostPollKey, Probes};
use super::dialogue::Dialogue;
use super::dispatcher_link::LinkEvent;
use super::edges::{Drive, Edges};
use super::TreeArgs;
use crate::machine::messages::ServiceLine;
use crate::machine::{FromHost, HostId, NodeAction, TreeNode};

/// A host, until it has no more to do.
pub struct TreeHost {
    pub drive: Drive,
    pub dialogue: Dialogue,
    edges: Edges,
    probes: Probes,
}

impl TreeHost {
    /// Listens for children; nothing else happens before [`TreeHost::wait`].
    pub fn open(
        args: &TreeArgs, id: HostId, node: TreeNode, is_source: bool,
    ) -> Result<TreeHost, AgentError> {
        raise_descriptors();
        let listener = tcp::listen(args.listen, &edge_options()).map_err(|e| {
            let cause = format!("cannot listen at {}: {}", args.listen, plain(&e));
            AgentError::new("listen", cause, "choose another --listen")
        })?;
        let mut drive = Drive::new(node)?;
        drive.poller.watch(listener.as_fd(), HostPollKey::Listener).map_err(|e| system(&e))?;
        let port = listener.local_addr().map_or(0, |address| address.port());
        Ok(TreeHost {
            dialogue: Dialogue::new(args, id, is_source, port, drive.poller.now)?,
            drive,
            edges: Edges::new(listener, args.secure.plain),
            probes: Probes::default(),
        })
    }

    /// Watches the input or output; false: it is always ready.
    pub fn watch(&mut self, data: BorrowedFd<'_>) -> Result<bool, AgentError> {
        self.drive.poller.watch(data, HostPollKey::Data).map_err(|e| system(&e))
    }

    /// Does all work that needs no waiting.
    pub fn pump(&mut self) -> Result<(), AgentError> {
        let now = self.drive.poller.now;
        if !self.dialogue.ended {
            self.dialogue.link.keep(now, &mut self.drive.poller)?;
            self.hear()?;
        }
        self.drive.node.on_dispatchers(self.drive.nanos(), self.dialogue.is_connected());
        self.edges.keep(&mut self.drive);
        self.edges.read(&mut self.drive);
        // Actions come first: they say where the node's bytes go.
        self.act()?;
        self.edges.write(&mut self.drive);
        self.act()?;
        self.probes.keep(&mut self.drive.poller);
        let measured = self.probes.take(&mut self.drive.poller);
        if let Some(measured) = measured.filter(|_| !self.drive.node.is_leaving()) {
            self.drive.node.on_measured(&measured);
            self.dialogue.report(FromHost::Measured(measured));
        }
        self.dialogue.try_again(now, self.drive.node.is_leaving());
        Ok(())
    }

    /// Waits until something happens, at most until `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Result<(), AgentError> {
        let others = [until, self.dialogue.deadline(), self.probes.deadline(), self.edges.deadline()];
        let next = others.into_iter().flatten().fold(self.drive.deadline(), Instant::min);
        let is_busy = self.edges.is_readable();
        let pause = if is_busy { Duration::ZERO } else { next.saturating_duration_since(Instant::now()) };
        let mut happened = Vec::new();
        self.drive.poller.wait(Some(pause), &mut happened).map_err(|e| system(&e))?;
        for (target, ready) in happened {
            match target {
                HostPollKey::Listener => {
                    while let Some(socket) = self.edges.accept() {
                        self.make_room();
                        self.edges.admit(&mut self.drive, socket)?;
                    }
                }
                HostPollKey::Dispatchers => self.dialogue.link.on_ready(ready),
                HostPollKey::Probe(host) => self.probes.on_ready(host, &mut self.drive.poller),
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

    /// Carries out what the node asks for.
    fn act(&mut self) -> Result<(), AgentError> {
        while let Some(action) = self.drive.node.poll() {
            match action {
                NodeAction::Connect { conn, to } => self.edges.connect(&mut self.drive, conn, to)?,
                NodeAction::Close(conn) => self.edges.end(&mut self.drive, conn),
                NodeAction::Report(message) => self.dialogue.report(message),
                NodeAction::Measure(peers) => self.probes.begin(&peers, &mut self.drive.poller),
                NodeAction::Join(cluster) => {
                    self.probes.end(&mut self.drive.poller);
                    self.dialogue.join(Some(cluster));
                }
                NodeAction::Refused { code, text } => {
                    self.probes.end(&mut self.drive.poller);
                    self.dialogue.on_refusal(code, &text, self.drive.poller.now)?;
                    self.drive.node.begin_again(self.drive.nanos());
                }
            }
        }
        Ok(())
    }

    /// Takes what the dispatchers say, and introduces the host to dispatchers that it has just connected to.
    fn hear(&mut self) -> Result<(), AgentError> {
        let drive = &mut self.drive;
        let mut events = self.dialogue.link.work(drive.poller.now, &mut drive.poller)?;
        if events.first() == Some(&LinkEvent::Connected) {
            self.dialogue.greet();
            events.extend(self.dialogue.link.work(drive.poller.now, &mut drive.poller)?);
        }
        for event in events {
            let LinkEvent::Line(line) = event else { continue };
            let drive = &mut self.drive;
            match line {
                ServiceLine::Welcome { root, identity, alive_ms } => {
                    self.edges.identify(identity.as_ref())?;
                    drive.node.on_dispatchers_measured(self.dialogue.link.round_trip());
                    self.dialogue.on_welcome(root, alive_ms, &drive.node, self.edges.dials())?;
                }
                ServiceLine::Message(line) => {
                    if let Some(order) = self.dialogue.order(line) {
                        drive.node.on_order(drive.nanos(), order);
                    }
                }
                ServiceLine::Members(members) => self.dialogue.on_members(members),
                ServiceLine::Alive(_) | ServiceLine::Other(_) => {}
                ServiceLine::BadWelcome { .. } => {
                    let cause = "the dispatchers' welcome is malformed";
                    return Err(AgentError::new("dispatchers", cause, "check that they are of this version"));
                }
                // Lines behind a refusal are not for this host.
                ServiceLine::Refused { code, text } => {
                    return self.dialogue.on_refused(code, &text, &mut drive.poller)
                }
            }
            self.act()?;
        }
        Ok(())
    }

    /// Closes a stranger's connection if otherwise a newcomer would find no place.
    fn make_room(&mut self) {
        let crowd = self.drive.node.crowd();
        // A connection that has no address any more is gone.
        let silent =
            crowd.map(|conn| (conn, self.edges.source(conn).unwrap_or(Ipv4Addr::UNSPECIFIED.into())));
        if let Some(conn) = gives_way(silent) {
            self.edges.close(&mut self.drive, conn);
        }
    }
}
