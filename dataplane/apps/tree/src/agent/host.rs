//! The loop around a node: its sockets, the dispatchers, and the clock.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::channel::Channel;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::poller::Poller;
use groupflow_host::process::system;
use groupflow_host::read_outcome::ReadOutcome;
use groupflow_host::tcp;
use nix::errno::Errno;

use super::args::TreeArgs;
use super::control::Control;
use super::edge::{self, Edge, BATCH};
use super::probes::Probes;
use super::quic::Quic;
use super::shared::Shared;
use super::stop::Stop;
use crate::machine::{Action, ClusterId, ConnId, FromHost, HostId, Node};

/// How long an edge lasts on which no sent byte is acknowledged.
const SILENCE: Duration = Duration::from_secs(3);
/// Numbers of ports that are tried where any will do: a host needs the TCP port and the UDP port of one
/// number.
const PORTS: usize = 16;
/// Reads of one connection before the others have their turn.
const TURNS: usize = 4;

mod dialling;
mod dialogue;
mod over_quic;
use dialling::Dialling;

#[derive(Debug, Clone, Copy)]
enum Target {
    Stop,
    Listener,
    Control,
    Edge(ConnId),
    Probe(HostId),
    Quic,
    Data,
}

/// A host, until it has no more to do.
pub struct Host<'a> {
    args: &'a TreeArgs,
    /// The host's node, which decides.
    pub node: Node,
    /// The host's name in the tree.
    pub id: HostId,
    key: u128,
    source: bool,
    listener: TcpListener,
    control: Control,
    shared: Option<Shared>,
    root: Option<ClusterId>,
    cluster: Option<ClusterId>,
    joins: u32,
    again: Option<Instant>,
    attempts: u32,
    order: u32,
    attached: bool,
    /// The number of hosts in the tree, as the dispatchers tell the source.
    pub hosts: usize,
    /// Whether the source has left: there are no dispatchers any more.
    pub ended: bool,
    /// Whether the host is to end early.
    pub stopped: bool,
    stop: Stop,
    edges: BTreeMap<ConnId, Edge>,
    dials: BTreeMap<ConnId, Dialling>,
    /// Edges over QUIC; `None`: nothing is encrypted, or another process has the port.
    pub quic: Option<Quic>,
    /// Parents that UDP did not reach, and when they may be tried over UDP again.
    blocked: BTreeMap<SocketAddrV4, Instant>,
    probes: Probes,
    poller: Poller<Target>,
    began: Instant,
    now: Instant,
    scratch: Box<[u8]>,
    /// Bytes that came over an edge over QUIC.
    came: Vec<u8>,
}

impl<'a> Host<'a> {
    /// Listens for children; nothing else happens before [`Host::wait`].
    pub fn open(
        args: &'a TreeArgs,
        id: HostId,
        node: Node,
        source: bool,
        stop: Stop,
    ) -> Result<Host<'a>, AgentError> {
        let (listener, quic) = listen(args).map_err(|e| {
            let cause = format!("cannot listen at {}: {}", args.listen, plain(&e));
            AgentError::new("listen", cause, "choose another --listen")
        })?;
        let mut poller = Poller::new().map_err(|e| system(&e.into()))?;
        for (fd, target) in [(stop.as_fd(), Target::Stop), (listener.as_fd(), Target::Listener)] {
            poller.add(fd, target).map_err(|e| system(&e.into()))?;
        }
        if let Some(quic) = &quic {
            poller.add(quic, Target::Quic).map_err(|e| system(&e.into()))?;
        }
        let now = Instant::now();
        let trust = args.secure.trust(args.first()?)?;
        let control = Control::new(&args.to, trust, Duration::from_secs(args.patience), now);
        Ok(Host {
            args,
            node,
            id,
            key: rand::random(),
            source,
            listener,
            control,
            shared: None,
            root: None,
            cluster: None,
            joins: 0,
            again: None,
            attempts: 0,
            order: 0,
            attached: false,
            hosts: 0,
            ended: false,
            stopped: false,
            stop,
            edges: BTreeMap::new(),
            dials: BTreeMap::new(),
            quic,
            blocked: BTreeMap::new(),
            probes: Probes::default(),
            poller,
            began: now,
            now,
            scratch: vec![0; BATCH].into_boxed_slice(),
            came: Vec::with_capacity(BATCH),
        })
    }

    /// Watches the input or output; false: it is always ready.
    pub fn watch(&mut self, data: BorrowedFd<'_>) -> Result<bool, AgentError> {
        match self.poller.add(data, Target::Data) {
            Ok(_) => Ok(true),
            Err(Errno::EPERM) => Ok(false),
            Err(error) => Err(system(&error.into())),
        }
    }

    /// The time as the node counts it.
    pub fn nanos(&self) -> Nanos {
        nanos(self.began, self.now)
    }

    /// Whether the host has a parent, or is the source and was let in.
    pub fn is_in(&self) -> bool {
        if self.source {
            self.root.is_some()
        } else {
            self.attached
        }
    }

    /// Whether the host is to end early, by now.
    pub fn is_to_stop(&mut self) -> bool {
        self.stopped = self.stopped || self.stop.came();
        self.stopped
    }

    /// The error of a host that ended early.
    pub fn interrupted(&self) -> AgentError {
        self.stop.error()
    }

    /// Does all work that needs no waiting.
    pub fn pump(&mut self) -> Result<(), AgentError> {
        if !self.ended {
            self.control.keep(self.now, &mut self.poller, Target::Control)?;
            self.hear()?;
        }
        self.take_quic()?;
        self.keep_dials();
        self.each_edge(Host::take_in);
        // Actions come first: they say where the node's bytes go.
        self.act()?;
        self.each_edge(Host::give_out);
        self.act()?;
        self.send_quic();
        self.probes.keep(self.now, &mut self.poller, Target::Probe);
        if let Some(measured) = self.probes.take(self.now, &mut self.poller) {
            self.node.conns.on_measured(&measured);
            self.tell(&FromHost::Measured(measured));
        }
        if self.again.is_some_and(|again| again <= self.now) {
            self.again = None;
            self.join(self.root);
        }
        Ok(())
    }

    /// Waits until something happens, at most until `until`.
    pub fn wait(&mut self, until: Option<Instant>) -> Result<(), AgentError> {
        let due = self.began + Duration::from_nanos(self.node.deadline().0.min(u64::MAX / 4));
        let quic = self.quic.as_mut().and_then(Quic::deadline);
        let control = self.control.deadline().filter(|_| !self.ended);
        let others = [until, control, self.probes.deadline(), self.again, quic, self.dials_deadline()];
        let next = others.into_iter().flatten().fold(due, Instant::min);
        let busy = self.edges.values().any(|edge| edge.readable)
            || self.quic.as_ref().is_some_and(|quic| quic.readable);
        let timeout = if busy { Duration::ZERO } else { next.saturating_duration_since(Instant::now()) };
        let mut happened = Vec::new();
        self.poller.wait(Some(timeout), &mut happened).map_err(|e| system(&e.into()))?;
        self.now = Instant::now();
        for (target, ready) in happened {
            match target {
                Target::Stop => self.stopped |= self.stop.came(),
                Target::Listener => self.accept()?,
                Target::Control => self.control.on_ready(ready),
                Target::Probe(host) => self.probes.on_ready(self.now, host, &mut self.poller),
                // Input or output is tried after every wait.
                Target::Data => {}
                Target::Quic => self.quic.iter_mut().for_each(|quic| quic.readable |= ready.readable),
                Target::Edge(conn) => {
                    if let Some(edge) = self.edges.get_mut(&conn) {
                        edge.readable |= ready.readable;
                        edge.writable |= ready.writable;
                    } else {
                        self.on_dial(conn);
                    }
                }
            }
        }
        if self.node.deadline() <= self.nanos() {
            for (&conn, edge) in &self.edges {
                self.node.conns.on_round_trip(conn, edge::round_trip(edge.socket()));
            }
            for (conn, least) in self.quic.iter().flat_map(|quic| quic.links.round_trips()) {
                self.node.conns.on_round_trip(conn, nanos_of(least));
            }
            self.node.on_time(self.nanos());
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), AgentError> {
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => self.take(socket)?,
                Err(error) if tcp::is_later(&error) => return Ok(()),
                // The peer has gone again; or no descriptor is left, and another peer will come.
                Err(_) => return Ok(()),
            }
        }
    }

    fn take(&mut self, socket: TcpStream) -> Result<(), AgentError> {
        let tls = match &self.shared {
            Some(shared) => Some(shared.accept()?),
            // Before the dispatchers have sent the tree's certificate, this host cannot prove itself: it
            // accepts no child, and none expects it.
            None if !self.args.secure.plain => return Ok(()),
            None => None,
        };
        if tcp::prepare(&socket, SILENCE).is_err() {
            return Ok(());
        }
        let Some(conn) = self.node.conns.on_accepted(self.nanos()) else { return Ok(()) };
        match self.poller.add(&socket, Target::Edge(conn)) {
            Ok(token) => drop(self.edges.insert(conn, Edge::new(Channel::accepted(socket, tls), token))),
            Err(_) => self.node.on_closed(self.nanos(), conn),
        }
        Ok(())
    }

    fn each_edge(&mut self, work: fn(&mut Self, ConnId) -> io::Result<()>) {
        for conn in self.edges.keys().copied().collect::<Vec<_>>() {
            if work(self, conn).is_err() {
                self.close(conn);
            }
        }
    }

    /// Reads the bytes that a connection has now.
    fn take_in(&mut self, conn: ConnId) -> io::Result<()> {
        let now = self.nanos();
        let Some(edge) = self.edges.get_mut(&conn) else { return Ok(()) };
        edge.flush()?;
        for _ in 0..TURNS {
            let Some(edge) = self.edges.get_mut(&conn).filter(|edge| edge.readable) else {
                break;
            };
            match edge.read(&mut self.scratch)? {
                ReadOutcome::Bytes(count) => self.node.on_bytes(now, conn, &self.scratch[..count]),
                ReadOutcome::Nothing => break,
                ReadOutcome::End => return Err(io::ErrorKind::ConnectionAborted.into()),
            }
        }
        Ok(())
    }

    /// Writes as many bytes as a connection takes now.
    fn give_out(&mut self, conn: ConnId) -> io::Result<()> {
        let now = self.nanos();
        while let Some(edge) = self.edges.get_mut(&conn).filter(|edge| edge.takes()) {
            self.node.fill(now, conn, edge.batch(), BATCH);
            if edge.is_empty() {
                if edge.closing {
                    edge.end();
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
                break;
            }
            edge.flush()?;
        }
        Ok(())
    }

    fn close(&mut self, conn: ConnId) {
        let edge = self.edges.remove(&conn);
        let dial = self.dials.remove(&conn);
        let now = self.now;
        let link = self.quic.as_mut().is_some_and(|quic| quic.links.drop(now, conn));
        if edge.is_some() || dial.is_some() || link {
            edge.into_iter().for_each(|edge| self.poller.remove(edge.socket(), edge.token));
            dial.into_iter().for_each(|mut dial| dial.end(&mut self.poller));
            self.node.on_closed(self.nanos(), conn);
        }
    }

    /// Closes a connection when its last bytes are sent.
    fn end(&mut self, conn: ConnId) {
        match self.edges.get_mut(&conn) {
            Some(edge) => {
                edge.closing = true;
                if self.give_out(conn).is_err() {
                    self.close(conn);
                }
            }
            _ if self.dials.contains_key(&conn) => self.close(conn),
            _ => self.end_link(conn),
        }
    }

    /// Carries out the node's actions.
    fn act(&mut self) -> Result<(), AgentError> {
        while let Some(action) = self.node.conns.poll() {
            match action {
                Action::Connect { conn, to } => self.connect(conn, to)?,
                Action::Datagrams { conn, deadline } => self.serve_datagrams(conn, deadline),
                Action::Close(conn) => self.end(conn),
                Action::Tell(message) => self.tell(&message),
                Action::Measure(peers) => {
                    self.probes.begin(self.now, &peers, &mut self.poller, Target::Probe)
                }
                Action::Join(cluster) => self.join(Some(cluster)),
                Action::Refused { code, text } => self.on_refusal(code, &text)?,
            }
        }
        Ok(())
    }
}

fn nanos(began: Instant, now: Instant) -> Nanos {
    nanos_of(now.saturating_duration_since(began))
}

fn nanos_of(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Opens the socket for connections over TCP, and the one for connections over QUIC at the UDP port of the
/// same number; an edge that is not encrypted is never over QUIC.
fn listen(args: &TreeArgs) -> io::Result<(TcpListener, Option<Quic>)> {
    let mut tries = if args.listen.port() == 0 { PORTS } else { 1 };
    loop {
        let listener = tcp::listen(args.listen, &edge::options())?;
        let SocketAddr::V4(at) = listener.local_addr()? else { return Ok((listener, None)) };
        if args.secure.plain {
            return Ok((listener, None));
        }
        tries -= 1;
        match Quic::open(at) {
            Ok(quic) => return Ok((listener, Some(quic))),
            // Children come over TCP then.
            Err(_) if tries == 0 && !args.edges.is_over_udp() => return Ok((listener, None)),
            Err(error) if tries == 0 => return Err(error),
            Err(_) => {}
        }
    }
}
