//! The server's loop: connections, streams, rounds and tunings.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use groupflow_base::CodecError;
use groupflow_host::json::StdinLines;
use groupflow_host::link::ReadOutcome;
use groupflow_host::poller::{Poller, Ready};
use groupflow_host::report::Reporter;
use groupflow_host::tcp::Acceptor;
use rustls::ServerConfig;

use super::args::GatherServeArgs;
use super::clients::ClientList;
use super::flow::{GatherFlow, ServerStripe};
use super::tune::{Bounds, Setting};
use crate::machine::{ClientName, GatherFrame, Item, RefusalCode};

/// Bytes of one read.
const SCRATCH: usize = 64 << 10;
/// Bytes of the longest line on stdin.
const LINE: usize = 16 << 20;
/// Bytes that a connection may bring before other connections have their turn.
const TURN: usize = 128 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPollKey {
    /// Stdin, which brings tunings.
    Stdin,
    /// Stdout, to which events go.
    Stdout,
    Listener,
    Stripe(u64),
}

pub struct Server<'a> {
    pub(super) args: &'a GatherServeArgs,
    pub(super) bounds: Bounds,
    /// The TLS configuration; `None`: connections are not encrypted.
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) poller: Poller<ServerPollKey>,
    pub(super) listener: TcpListener,
    pub(super) acceptor: Acceptor,
    /// The clients that may send.
    pub(super) tokens: ClientList,
    /// How each of these clients is tuned.
    pub(super) settings: BTreeMap<ClientName, Setting>,
    /// Whether the server has been told its clients; until then no connection is accepted.
    pub(super) listed: bool,
    pub(super) flows: BTreeMap<ClientName, GatherFlow>,
    pub(super) stripes: HashMap<u64, ServerStripe>,
    /// Connections that have sent no HELLO yet, the oldest first.
    pub(super) pending: BTreeMap<u64, Instant>,
    /// Connections that are about to be closed.
    pub(super) farewells: BTreeMap<u64, Instant>,
    /// Stripes that are to have a turn.
    pub(super) ready: BTreeSet<u64>,
    /// Flows whose clients may have to be told how much is delivered.
    pub(super) touched: BTreeSet<ClientName>,
    pub(super) next: u64,
    pub(super) requests: StdinLines,
    pub(super) events: &'a mut Reporter,
    pub(super) rounds: u64,
    pub(super) round_began: Instant,
    scratch: Box<[u8]>,
}

impl<'a> Server<'a> {
    /// A server with its sockets, which are registered here. It accepts connections once stdin has brought a
    /// list of clients.
    pub fn new(
        args: &'a GatherServeArgs, listener: TcpListener, mut poller: Poller<ServerPollKey>,
        tls: Option<Arc<ServerConfig>>, events: &'a mut Reporter,
    ) -> io::Result<Server<'a>> {
        poller.add(&listener, ServerPollKey::Listener)?;
        let mut server = Server {
            listener,
            acceptor: Acceptor::default(),
            bounds: Bounds { connections: args.max_connections, buffer: args.buffer },
            args,
            tls,
            tokens: ClientList::new(),
            settings: BTreeMap::new(),
            listed: false,
            flows: BTreeMap::new(),
            stripes: HashMap::new(),
            pending: BTreeMap::new(),
            farewells: BTreeMap::new(),
            ready: BTreeSet::new(),
            touched: BTreeSet::new(),
            next: 0,
            requests: StdinLines::new(LINE),
            events,
            rounds: 0,
            round_began: poller.now,
            scratch: vec![0; SCRATCH].into_boxed_slice(),
            poller,
        };
        // A regular file or /dev/null is always ready and cannot be registered: it is read once, here.
        if !server.poller.watch(io::stdin(), ServerPollKey::Stdin)? {
            server.obey();
        }
        server.poller.watch(io::stdout(), ServerPollKey::Stdout)?;
        Ok(server)
    }

    pub fn run(&mut self) -> io::Result<()> {
        let mut happened = Vec::new();
        while !self.poller.stopped {
            self.events.flush();
            self.poller.wait(Some(self.timeout()), &mut happened)?;
            for (target, ready) in happened.drain(..) {
                self.dispatch(target, ready);
            }
            self.take_turns();
            self.report_delivered();
            self.expire();
        }
        Ok(())
    }

    fn timeout(&self) -> Duration {
        if !self.ready.is_empty() {
            return Duration::ZERO;
        }
        let round = self.round_began + Duration::from_millis(self.args.round_ms);
        let telling = self.touched.iter().filter_map(|client| self.flows.get(client)?.report_at).min();
        let pending = self.pending.values().next().map(|&since| since + self.handshake());
        let farewell = self.farewells.values().next().copied();
        let next = [telling, pending, farewell].into_iter().flatten().fold(round, Instant::min);
        next.saturating_duration_since(Instant::now())
    }

    fn handshake(&self) -> Duration {
        Duration::from_millis(self.args.handshake_ms)
    }

    fn dispatch(&mut self, target: ServerPollKey, ready: Ready) {
        match target {
            ServerPollKey::Stdin => self.obey(),
            ServerPollKey::Stdout => {}
            ServerPollKey::Listener => self.accept(),
            ServerPollKey::Stripe(number) => {
                let Some(stripe) = self.stripes.get_mut(&number) else { return };
                stripe.link.on_ready(ready);
                if ready.readable {
                    self.ready.insert(number);
                }
                if ready.writable && stripe.flush().is_err() {
                    self.lose(number);
                }
            }
        }
    }

    fn take_turns(&mut self) {
        for number in std::mem::take(&mut self.ready) {
            self.turn(number);
        }
    }

    /// Reads from a connection as much as one turn allows.
    fn turn(&mut self, number: u64) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut brought = 0;
        while brought < TURN {
            let Some(stripe) = self.stripes.get_mut(&number).filter(|stripe| stripe.link.readable) else {
                break;
            };
            match stripe.link.read(&mut scratch) {
                Ok(ReadOutcome::Bytes(count)) if stripe.farewell.is_some() => {
                    brought += count;
                    if !self.discard(number, count) {
                        break;
                    }
                }
                Ok(ReadOutcome::Bytes(count)) => {
                    brought += count;
                    if let Err(error) = self.take(number, &scratch[..count]) {
                        self.refuse(number, RefusalCode::BadFrame, &error.to_string());
                    }
                }
                Ok(ReadOutcome::Nothing) => break,
                Ok(ReadOutcome::End) => self.lose(number),
                Err(error) => self.on_broken(number, &error),
            }
        }
        if brought >= TURN {
            self.ready.insert(number);
        }
        self.scratch = scratch;
    }

    /// Handles bytes that arrived over a connection.
    fn take(&mut self, number: u64, bytes: &[u8]) -> Result<(), CodecError> {
        let mut input = bytes;
        loop {
            let Some(stripe) = self.stripes.get_mut(&number).filter(|s| s.farewell.is_none()) else {
                return Ok(());
            };
            let client = stripe.client.clone();
            let Some(item) = stripe.decoder.next_item(&mut input)? else { break };
            if stripe.has_left {
                return Err(CodecError::new("frame.kind", "comes after LEAVE"));
            }
            let Some(client) = client else {
                match item {
                    Item::Frame(GatherFrame::Hello(hello)) => self.admit(number, &hello),
                    _ => return Err(CodecError::new("frame.kind", "comes before HELLO")),
                }
                continue;
            };
            let Some(flow) = self.flows.get_mut(&client) else { return Ok(()) };
            flow.last = number;
            match item {
                Item::Data { offset, bytes } => flow.receive(offset, bytes)?,
                Item::Frame(GatherFrame::End { length }) => flow.core.end(length)?,
                Item::Frame(GatherFrame::Report(report)) => {
                    stripe.report = report;
                    flow.segments.0 += u64::from(report.sent);
                    flow.segments.1 += u64::from(report.resent);
                }
                Item::Frame(GatherFrame::Leave) => stripe.has_left = true,
                Item::Frame(_) => return Err(CodecError::new("hello", "comes twice")),
            }
            self.touched.insert(client);
        }
        Ok(())
    }

    /// Handles the timeouts that are due.
    fn expire(&mut self) {
        let late = self.poller.now.checked_sub(self.handshake());
        while let Some((&number, _)) =
            self.pending.first_key_value().filter(|(_, &since)| late >= Some(since))
        {
            self.refuse(number, RefusalCode::Late, "no HELLO came in time");
        }
        while let Some((&number, _)) =
            self.farewells.first_key_value().filter(|(_, &until)| until <= self.poller.now)
        {
            self.lose(number);
        }
        if self.poller.now < self.round_began + Duration::from_millis(self.args.round_ms) {
            return;
        }
        let silence = Duration::from_secs(self.args.silence);
        let gone = |flow: &GatherFlow| flow.alone.is_some_and(|since| since + silence <= self.poller.now);
        let lost = self.flows.iter().filter(|(_, flow)| gone(flow)).map(|(client, _)| client.clone());
        for client in lost.collect::<Vec<_>>() {
            self.end_flow(&client, "lost", None);
        }
        self.round();
    }
}
