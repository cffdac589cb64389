//! The agent: sessions, their streams, and one loop around all descriptors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signalfd::SignalFd;
use serde_json::{json, Value};

use super::config::SessionSpec;
use super::control::{self, Client, Listener, Op, Refused};
use super::farewell::Farewells;
use super::frame::{Fault, Frame};
use super::live::{Abort, Live, Turn};
use super::outbox::Outbox;
use super::peers::{Drain, Greeting};
use super::poller::{Ready, Token};
use super::preamble::{Preamble, StreamId};
use super::session::Session;
use super::summary;
use super::tcp;
use super::upstream::Upstream;
use super::world::{Orphan, Target, World};
use crate::input::plain;

/// A peer says who it is, and takes last words, within so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that have not said which stream they carry.
const GREETINGS: usize = 1024;
/// Clients of the control socket.
const CLIENTS: usize = 64;
/// Sessions of one agent.
const SESSIONS: usize = 65_536;

/// The agent.
pub struct Agent {
    pub(super) world: World,
    pub(super) sessions: BTreeMap<u32, Session>,
    streams: HashMap<StreamId, Live>,
    /// Streams that are to have a turn.
    ready: HashSet<StreamId>,
    peers: Rc<TcpListener>,
    signals: SignalFd,
    control: Listener,
    clients: HashMap<u64, Client>,
    greetings: HashMap<u64, Greeting>,
    drains: HashMap<u64, Drain>,
    orphans: Vec<Orphan>,
    orphans_until: Instant,
    farewells: Farewells,
    next: u64,
    max_streams: usize,
    /// Given up to accept, and so refuse, when descriptors run out.
    spare: Option<File>,
    over: bool,
}

impl Agent {
    /// With its sockets, which are registered here.
    pub fn new(
        mut world: World,
        peers: TcpListener,
        control: Listener,
        signals: SignalFd,
        max_streams: usize,
        orphans: Vec<Orphan>,
    ) -> io::Result<Agent> {
        world.poller.add(&peers, Target::Peers)?;
        world.poller.add(&control, Target::Control)?;
        world.poller.add(&signals, Target::Signals)?;
        Ok(Agent {
            orphans,
            orphans_until: world.now + world.limits.resume,
            world,
            sessions: BTreeMap::new(),
            streams: HashMap::new(),
            ready: HashSet::new(),
            peers: Rc::new(peers),
            signals,
            control,
            clients: HashMap::new(),
            greetings: HashMap::new(),
            drains: HashMap::new(),
            farewells: Farewells::default(),
            next: 0,
            max_streams,
            spare: File::open("/dev/null").ok(),
            over: false,
        })
    }

    /// Runs until a signal ends it; `tell` gets each event.
    pub fn run(&mut self, mut tell: impl FnMut(&Value)) -> io::Result<()> {
        let mut events = Vec::new();
        while !self.over {
            self.world.poller.wait(self.timeout(), &mut events)?;
            self.world.now = Instant::now();
            for (target, ready) in events.drain(..) {
                self.dispatch(target, ready);
            }
            self.expire();
            self.take_turns();
            self.publish(&mut tell);
        }
        let all: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in all {
            // What is kept goes on with the agent that is started next.
            if self.world.keeper.is_some() && self.streams.get(&id).is_some_and(Live::can_resume) {
                continue;
            }
            self.end(id, Turn::Aborted(Abort::new(Fault::Reset, "the agent was stopped")));
        }
        self.publish(&mut tell);
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let streams = self.streams.values().filter_map(|live| live.due);
        let greetings = self.greetings.values().map(|greeting| greeting.until);
        let drains = self.drains.values().map(|drain| drain.until);
        let orphans = (!self.orphans.is_empty()).then_some(self.orphans_until);
        let next = streams.chain(greetings).chain(drains).chain(orphans).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn dispatch(&mut self, target: Target, ready: Ready) {
        match target {
            Target::Signals => self.over |= matches!(self.signals.read_signal(), Ok(Some(_))),
            Target::Control => self.accept_clients(),
            Target::Client(number) => self.serve(number),
            Target::Peers => self.accept_peers(),
            Target::Greeting(number) => self.greet(number),
            Target::Listener(session, port) => self.accept_senders(session, port),
            Target::Upstream(id) => {
                if let Some(live) = self.streams.get_mut(&id) {
                    live.upstream.note(ready);
                    self.ready.insert(id);
                }
            }
            Target::Branch(id, key) => {
                let link = self.streams.get_mut(&id).and_then(|l| l.links.iter_mut().find(|l| l.key == key));
                if let Some(link) = link {
                    link.note(ready);
                    self.ready.insert(id);
                }
            }
            Target::Drain(number) => self.drain(number),
        }
    }

    /// What is due by the clock.
    fn expire(&mut self) {
        let now = self.world.now;
        let due = self.streams.iter().filter(|(_, live)| live.due.is_some_and(|at| at <= now));
        self.ready.extend(due.map(|(&id, _)| id));
        let late: Vec<u64> = self.greetings.iter().filter(|(_, g)| g.until <= now).map(|(&n, _)| n).collect();
        for number in late {
            if let Some(greeting) = self.greetings.remove(&number) {
                self.refuse_peer(greeting, 0, "no preamble came in time");
            }
        }
        if self.orphans_until <= now {
            for orphan in std::mem::take(&mut self.orphans) {
                self.world.drop_kept(orphan.key);
            }
        }
        let late: Vec<u64> = self.drains.iter().filter(|(_, d)| d.until <= now).map(|(&n, _)| n).collect();
        for number in late {
            self.close_drain(number);
        }
    }

    fn take_turns(&mut self) {
        let ids: Vec<StreamId> = self.ready.drain().collect();
        let mut starved = false;
        for id in ids {
            let Some(live) = self.streams.get_mut(&id) else {
                continue;
            };
            live.due = None;
            match live.turn(&mut self.world) {
                Turn::Again => drop(self.ready.insert(id)),
                Turn::Later(after) => live.due = after.map(|after| self.world.now + after),
                over => {
                    self.end(id, over);
                    continue;
                }
            }
            starved |= live.starved;
        }
        if starved {
            // History of any stream gives way to what streams need now.
            for live in self.streams.values_mut() {
                live.core.forget_history();
                live.cache.discard(&mut self.world.pool, live.core.base());
            }
        }
    }

    /// A stream is over: closes what it has, tells what became of it.
    fn end(&mut self, id: StreamId, how: Turn) {
        let Some(mut live) = self.streams.remove(&id) else {
            return;
        };
        let mut fields = summary::stream(&live);
        let world = &mut self.world;
        if live.spec.resume && live.upstream.is_agent {
            let abort = if let Turn::Aborted(abort) = &how { Some(abort) } else { None };
            self.farewells.remember(id, &live.farewell(abort));
        }
        match how {
            Turn::Aborted(abort) => {
                fields["outcome"] = "aborted".into();
                fields["fault"] = abort.fault.word().into();
                fields["text"] = abort.text.clone().into();
                let (fault, text, offset) = (abort.fault, abort.text, live.core.floor());
                live.upstream.say(&Frame::Failure { fault, member: 0, offset, text });
                let out = std::mem::replace(&mut live.upstream.out, Outbox::new(0));
                if live.upstream.is_agent && live.upstream.failure().is_none() {
                    if let Some((socket, token)) = live.upstream.take() {
                        tcp::set_graceful(&socket);
                        drain(world, &mut self.drains, &mut self.next, (socket, token), out);
                    }
                }
                live.close(world, false);
            }
            _ => {
                fields["outcome"] = "complete".into();
                live.close(world, true);
            }
        }
        world.event("stream_closed", live.spec.id, Some(id), fields.clone());
        if let Some(session) = self.sessions.get_mut(&live.spec.id) {
            session.closed(&live, fields);
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Accepts a connection; `None`: no more now. One for which there is no descriptor is refused.
    fn accept(&mut self, listener: &TcpListener, session: u32) -> Option<(TcpStream, SocketAddrV4)> {
        loop {
            match listener.accept() {
                Ok((socket, SocketAddr::V4(peer))) => {
                    match tcp::prepare_accepted(&socket, self.world.limits.silence) {
                        Ok(()) => return Some((socket, peer)),
                        Err(_) => continue,
                    }
                }
                Ok(_) => continue,
                Err(error) if tcp::is_exhausted(&error) => {
                    // The spare descriptor takes the connection, to reset it.
                    self.spare.take()?;
                    let refused = listener.accept();
                    if let Ok((socket, _)) = &refused {
                        let _ = tcp::prepare_accepted(socket, self.world.limits.silence);
                        self.refused(session, Fault::Refused.word(), tcp::EXHAUSTED);
                    }
                    let none = refused.is_err();
                    drop(refused);
                    self.spare = File::open("/dev/null").ok();
                    if none {
                        return None;
                    }
                }
                // What the client gave up while it waited is not ours to report.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
        }
    }

    fn refused(&mut self, session: u32, code: &str, text: &str) {
        self.world.event("refused", session, None, json!({"code": code, "text": text}));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.refused += 1;
        }
    }

    fn accept_senders(&mut self, session: u32, port: u16) {
        let Some(found) = self.sessions.get(&session) else {
            return;
        };
        let Some(listener) = found.listener(port) else {
            return;
        };
        let spec = Arc::clone(&found.spec);
        while let Some((socket, peer)) = self.accept(&listener, session) {
            if let Err((code, text)) = self.room() {
                self.refused(session, code, text);
                continue;
            }
            let id = StreamId(rand::random());
            let Ok(token) = self.world.poller.add(&socket, Target::Upstream(id)) else {
                self.refused(session, "descriptors", "the connection cannot be watched");
                continue;
            };
            self.open(id, Arc::clone(&spec), Upstream::new(socket, token, peer, false), 0, None);
        }
    }

    /// Whether another stream can be taken.
    fn room(&self) -> Result<(), (&'static str, &'static str)> {
        if self.streams.len() >= self.max_streams {
            Err(("streams", "the agent has as many streams as it may have (--max-streams)"))
        } else if self.world.pool.is_exhausted() {
            Err(("cache", "the agent has no cache memory left (--max-cache)"))
        } else {
            Ok(())
        }
    }

    fn open(
        &mut self,
        id: StreamId,
        spec: Arc<SessionSpec>,
        upstream: Upstream,
        offset: u64,
        orphans: Option<Vec<Orphan>>,
    ) {
        let (session, peer, is_agent) = (spec.id, upstream.peer, upstream.is_agent);
        let fields = json!({
            "peer": peer.to_string(),
            "from": if is_agent { "agent" } else { "sender" },
            "offset": offset,
            "resumed": orphans.is_some(),
        });
        match Live::open(&mut self.world, id, spec, upstream, offset, orphans) {
            Ok(mut live) => {
                live.upstream.say(&Frame::Welcome { offset });
                self.world.event("stream_opened", session, Some(id), fields);
                self.streams.insert(id, live);
                self.ready.insert(id);
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.opened += 1;
                }
            }
            Err((mut upstream, abort)) => {
                self.refused(session, abort.fault.word(), &abort.text);
                let Some((socket, token)) = upstream.take() else {
                    return;
                };
                if !is_agent {
                    self.world.poller.remove(&socket, token);
                    return;
                }
                self.say_no((socket, token), abort.fault, &abort.text);
            }
        }
    }

    fn accept_peers(&mut self) {
        let listener = Rc::clone(&self.peers);
        while let Some((socket, peer)) = self.accept(&listener, 0) {
            if self.greetings.len() >= GREETINGS {
                self.refused(0, "greetings", "too many agents connect at once");
                continue;
            }
            let number = self.number();
            if let Ok(token) = self.world.poller.add(&socket, Target::Greeting(number)) {
                let until = self.world.now + PATIENCE;
                self.greetings.insert(number, Greeting::new(socket, token, peer, until));
            }
        }
    }

    /// An agent says which stream its connection carries.
    fn greet(&mut self, number: u64) {
        let Some(greeting) = self.greetings.get_mut(&number) else {
            return;
        };
        let read = greeting.read();
        let Some(greeting) = (match read {
            Ok(None) => return,
            _ => self.greetings.remove(&number),
        }) else {
            return;
        };
        match read {
            Ok(Some(Ok(preamble))) => match self.admit(&greeting, &preamble) {
                Ok(()) => self.take_over(greeting, &preamble),
                Err(text) => self.refuse_peer(greeting, preamble.session, &text),
            },
            Ok(Some(Err(error))) => self.refuse_peer(greeting, 0, &format!("wrong preamble: {error}")),
            _ => self.world.poller.remove(&greeting.socket, greeting.token),
        }
    }

    fn admit(&self, greeting: &Greeting, preamble: &Preamble) -> Result<(), String> {
        let Some(session) = self.sessions.get(&preamble.session) else {
            return Err(format!("session {} is unknown here", preamble.session));
        };
        if !session.spec.takes_from(*greeting.peer.ip()) {
            return Err(format!("{} is no neighbour in session {}", greeting.peer.ip(), preamble.session));
        }
        if session.spec.mode != preamble.mode {
            return Err(format!("session {} has another mode here", preamble.session));
        }
        match self.streams.get(&preamble.stream) {
            Some(live) if live.spec.id != preamble.session => {
                Err("the stream is another session's".to_owned())
            }
            Some(_) if !preamble.resume => Err(format!("stream {} is here already", preamble.stream)),
            Some(_) => Ok(()),
            None => self.room().map_err(|(_, text)| text.to_owned()),
        }
    }

    fn take_over(&mut self, greeting: Greeting, preamble: &Preamble) {
        let Greeting { socket, token, peer, .. } = greeting;
        let id = preamble.stream;
        self.world.poller.rename(token, Target::Upstream(id));
        let upstream = Upstream::new(socket, token, peer, true);
        if let Some(live) = self.streams.get_mut(&id) {
            // The connection before this one is lost, and the agent before noticed it first.
            live.upstream.close(&mut self.world);
            live.replace_upstream(upstream);
            self.ready.insert(id);
            return;
        }
        let Some(spec) = self.sessions.get(&preamble.session).map(|session| Arc::clone(&session.spec)) else {
            return;
        };
        let (ours, others) = std::mem::take(&mut self.orphans).into_iter().partition(|o| o.stream == id);
        let orphans: Vec<Orphan> = ours;
        self.orphans = others;
        if preamble.resume && orphans.is_empty() {
            let mut upstream = upstream;
            if let Some(connection) = upstream.take() {
                self.part(connection, id);
            }
            return;
        }
        // The agent before may not have heard that the stream was taken by the one that was killed.
        let resumed = (!orphans.is_empty()).then_some(orphans);
        self.open(id, spec, upstream, preamble.offset, resumed);
    }

    fn refuse_peer(&mut self, greeting: Greeting, session: u32, text: &str) {
        let fields = json!({"code": "peer", "peer": greeting.peer.to_string(), "text": text});
        self.world.event("refused", session, None, fields);
        self.say_no((greeting.socket, greeting.token), Fault::Refused, text);
    }

    /// Tells another agent why its stream is not taken.
    fn say_no(&mut self, connection: (TcpStream, Token), fault: Fault, text: &str) {
        let mut out = Outbox::new(0);
        Frame::Failure { fault, member: 0, offset: 0, text: text.to_owned() }.encode(out.bytes());
        tcp::set_graceful(&connection.0);
        drain(&mut self.world, &mut self.drains, &mut self.next, connection, out);
    }

    /// Tells another agent what became of its stream, which is not here any more.
    fn part(&mut self, connection: (TcpStream, Token), id: StreamId) {
        let Some(words) = self.farewells.of(id) else {
            let text = "the agent was started again and its members' connections were lost with it";
            return self.say_no(connection, Fault::AgentLost, text);
        };
        let mut out = Outbox::new(0);
        out.bytes().extend(words);
        tcp::set_graceful(&connection.0);
        drain(&mut self.world, &mut self.drains, &mut self.next, connection, out);
    }

    fn drain(&mut self, number: u64) {
        let scratch = &mut self.world.scratch;
        if self.drains.get_mut(&number).is_some_and(|drain| drain.turn(scratch)) {
            self.close_drain(number);
        }
    }

    fn close_drain(&mut self, number: u64) {
        if let Some(drain) = self.drains.remove(&number) {
            self.world.poller.remove(&drain.socket, drain.token);
        }
    }

    fn accept_clients(&mut self) {
        while let Ok(connection) = self.control.accept() {
            if self.clients.len() >= CLIENTS {
                continue;
            }
            let number = self.number();
            if let Ok(token) = self.world.poller.add(&connection, Target::Client(number)) {
                self.clients.insert(number, Client::new(connection, token));
            }
        }
    }

    fn serve(&mut self, number: u64) {
        let Some(client) = self.clients.get_mut(&number) else {
            return;
        };
        let lines = client.lines(&mut self.world.scratch);
        for line in lines {
            let (id, op) = control::parse(&line);
            let watch = op == Ok(Op::Watch);
            let result = op.and_then(|op| self.perform(op));
            if let Some(client) = self.clients.get_mut(&number) {
                client.watching |= watch;
                client.tell(&control::answer(&id, result));
            }
        }
    }

    fn perform(&mut self, op: Op) -> Result<Value, Refused> {
        match op {
            Op::SetSession(value) => self.set_session(value),
            Op::RemoveSession(id) => self.remove_session(id),
            Op::List => Ok(json!({"sessions": self.sessions.values().map(|s| &s.value).collect::<Vec<_>>()})),
            Op::Stats => Ok(self.stats()),
            Op::Watch => Ok(json!({})),
        }
    }

    fn set_session(&mut self, value: Value) -> Result<Value, Refused> {
        let spec = SessionSpec::parse(&value)?;
        let limit = self.world.pool.limit();
        if spec.cache_bytes > limit {
            let text = format!("must be at most {limit}, the agent's --max-cache");
            return Err(Refused::field("too_much", "session.cache_bytes", text));
        }
        if !self.sessions.contains_key(&spec.id) && self.sessions.len() >= SESSIONS {
            return Err(Refused::new("too_many", format!("an agent has at most {SESSIONS} sessions")));
        }
        let taken = |s: &&Session| {
            s.spec.id != spec.id
                && s.spec.address == spec.address
                && s.spec.ports.iter().any(|p| spec.ports.contains(p))
        };
        if let Some(other) = self.sessions.values().find(taken) {
            let text = format!("are those of session {}", other.spec.id);
            return Err(Refused::field("in_use", "session.ports", text));
        }
        if let Err(error) = tcp::check_congestion(&spec) {
            let text = format!("cannot be used: {}", plain(&error));
            return Err(Refused::field("unavailable", "session.congestion", text));
        }
        let (id, spec) = (spec.id, Arc::new(spec));
        match self.sessions.get_mut(&id) {
            Some(session) => session.update(&mut self.world, Arc::clone(&spec), value)?,
            None => {
                let session = Session::open(&mut self.world, Arc::clone(&spec), value)?;
                self.sessions.insert(id, session);
            }
        }
        let streams: Vec<StreamId> =
            self.streams.iter().filter(|(_, live)| live.spec.id == id).map(|(&id, _)| id).collect();
        for stream in &streams {
            if let Some(live) = self.streams.get_mut(stream) {
                match live.update(&mut self.world, Arc::clone(&spec)) {
                    Ok(()) => drop(self.ready.insert(*stream)),
                    Err(abort) => self.end(*stream, Turn::Aborted(abort)),
                }
            }
        }
        Ok(json!({"streams": streams.len()}))
    }

    fn remove_session(&mut self, id: u32) -> Result<Value, Refused> {
        let Some(mut session) = self.sessions.remove(&id) else {
            return Err(Refused::field("unknown", "request.session", format!("{id} is not here")));
        };
        session.close(&mut self.world);
        let streams: Vec<StreamId> =
            self.streams.iter().filter(|(_, live)| live.spec.id == id).map(|(&id, _)| id).collect();
        for &stream in &streams {
            self.end(stream, Turn::Aborted(Abort::new(Fault::Reset, "the session was removed")));
        }
        Ok(json!({"streams": streams.len()}))
    }

    fn stats(&self) -> Value {
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|(&id, session)| session.stats(self.streams.values().filter(|live| live.spec.id == id)))
            .collect();
        json!({
            "sessions": sessions,
            "streams": self.streams.len(),
            "max_streams": self.max_streams,
            "cache_used": self.world.pool.used(),
            "cache_limit": self.world.pool.limit(),
        })
    }

    /// Gives out what happened, and what clients are to read.
    fn publish(&mut self, tell: &mut impl FnMut(&Value)) {
        for event in std::mem::take(&mut self.world.events) {
            tell(&event);
            let line = format!("{event}\n");
            self.clients.values_mut().filter(|client| client.watching).for_each(|c| c.event(&line));
        }
        let mut over = Vec::new();
        for (&number, client) in &mut self.clients {
            client.flush();
            if client.over {
                over.push(number);
            }
        }
        for number in over {
            if let Some(client) = self.clients.remove(&number) {
                let (fd, token) = client.registration();
                self.world.poller.remove(fd, token);
            }
        }
    }
}

/// Keeps a connection until its last words have arrived.
fn drain(
    world: &mut World,
    drains: &mut HashMap<u64, Drain>,
    next: &mut u64,
    (socket, token): (TcpStream, Token),
    out: Outbox,
) {
    *next += 1;
    world.poller.rename(token, Target::Drain(*next));
    let mut drain = Drain::new(socket, token, out, world.now + PATIENCE);
    if drain.turn(&mut world.scratch) {
        world.poller.remove(&drain.socket, drain.token);
    } else {
        drains.insert(*next, drain);
    }
}
