//! The agent: its sessions, their streams, and one loop around all descriptors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::{Duration, Instant};

use groupflow_base::StreamId;
use groupflow_host::poller::Ready;
use groupflow_host::tcp;
use neighbours::{Drain, Greeting};
use nix::sys::signalfd::SignalFd;
use serde_json::Value;

use super::control::{ControlClient, Listener};
use super::frame::{Fault, SplitFrame};
use super::link::sharing::LinkUses;
use super::live::{Abort, Live, Turn};
use super::session::{stream_stats, LostMembers, Resources, Session, SplitPollKey};

mod neighbours;
mod requests;

/// Time between two divisions of links' rates among the connections that share them: at 20 Mb/s, some 17
/// packets are sent meanwhile.
const SHARING: Duration = Duration::from_millis(10);
/// Time within which a peer must send its preamble, and take last frames.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Agent {
    pub(super) resources: Resources,
    pub(super) sessions: BTreeMap<u32, Session>,
    streams: HashMap<StreamId, Live>,
    /// Streams that are to have a turn.
    ready: HashSet<StreamId>,
    peers: Rc<TcpListener>,
    signals: SignalFd,
    control: Listener,
    clients: HashMap<u64, ControlClient>,
    greetings: HashMap<u64, Greeting>,
    drains: HashMap<u64, Drain>,
    lost: LostMembers,
    shared: Instant,
    next: u64,
    max_streams: usize,
    /// A spare descriptor, given up to accept, and so refuse, a connection when descriptors run out.
    spare: Option<File>,
    stopped: bool,
}

impl Agent {
    /// An agent with its sockets, which are registered here.
    pub fn new(
        mut resources: Resources, peers: TcpListener, control: Listener, signals: SignalFd,
        max_streams: usize,
    ) -> io::Result<Agent> {
        resources.poller.add(&peers, SplitPollKey::Peers)?;
        resources.poller.add(&control, SplitPollKey::Control)?;
        resources.poller.add(&signals, SplitPollKey::Signals)?;
        Ok(Agent {
            shared: resources.now,
            resources,
            sessions: BTreeMap::new(),
            streams: HashMap::new(),
            ready: HashSet::new(),
            peers: Rc::new(peers),
            signals,
            control,
            clients: HashMap::new(),
            greetings: HashMap::new(),
            drains: HashMap::new(),
            lost: LostMembers::default(),
            next: 0,
            max_streams,
            spare: File::open("/dev/null").ok(),
            stopped: false,
        })
    }

    /// Runs until a signal ends it; `tell` is called with each event.
    pub fn run(&mut self, mut tell: impl FnMut(&Value)) -> io::Result<()> {
        let mut events = Vec::new();
        while !self.stopped {
            self.resources.poller.wait(self.timeout(), &mut events)?;
            self.resources.now = Instant::now();
            for (target, ready) in events.drain(..) {
                self.dispatch(target, ready);
            }
            self.expire();
            self.take_turns();
            self.share_links();
            self.publish(&mut tell);
        }
        let all: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in all {
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
        let next = streams.chain(greetings).chain(drains).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn dispatch(&mut self, target: SplitPollKey, ready: Ready) {
        match target {
            SplitPollKey::Signals => self.stopped |= matches!(self.signals.read_signal(), Ok(Some(_))),
            SplitPollKey::Control => self.accept_clients(),
            SplitPollKey::Client(number) => self.serve(number),
            SplitPollKey::Peers => self.accept_peers(),
            SplitPollKey::Greeting(number) => self.greet(number, ready),
            SplitPollKey::Listener(session, port) => self.accept_senders(session, port),
            SplitPollKey::Upstream(id) => {
                if let Some(live) = self.streams.get_mut(&id) {
                    live.upstream.link.on_ready(ready);
                    self.ready.insert(id);
                }
            }
            SplitPollKey::Branch(id, key) => {
                let link = self.streams.get_mut(&id).and_then(|l| l.links.iter_mut().find(|l| l.key == key));
                if let Some(link) = link {
                    link.on_ready(ready);
                    self.ready.insert(id);
                }
            }
            SplitPollKey::Drain(number) => {
                self.drains.entry(number).and_modify(|drain| drain.link.on_ready(ready));
                self.drain(number);
            }
        }
    }

    /// Handles the timeouts that are due.
    fn expire(&mut self) {
        let now = self.resources.now;
        let due = self.streams.iter().filter(|(_, live)| live.due.is_some_and(|at| at <= now));
        self.ready.extend(due.map(|(&id, _)| id));
        let late: Vec<u64> = self.greetings.iter().filter(|(_, g)| g.until <= now).map(|(&n, _)| n).collect();
        for number in late {
            if let Some(greeting) = self.greetings.remove(&number) {
                self.refuse_peer(greeting, 0, "no preamble came in time");
            }
        }
        let late: Vec<u64> = self.drains.iter().filter(|(_, d)| d.until <= now).map(|(&n, _)| n).collect();
        late.into_iter().for_each(|number| self.close_drain(number));
    }

    fn take_turns(&mut self) {
        let ids: Vec<StreamId> = self.ready.drain().collect();
        let mut starved = false;
        for id in ids {
            let Some(live) = self.streams.get_mut(&id) else { continue };
            live.due = None;
            match live.turn(&mut self.resources) {
                Turn::Again => drop(self.ready.insert(id)),
                Turn::Later(after) => live.due = after.map(|after| self.resources.now + after),
                over => {
                    self.end(id, over);
                    continue;
                }
            }
            starved |= live.starved;
        }
        if starved {
            // History of any stream gives way to the bytes that other streams need now.
            for live in self.streams.values_mut() {
                live.core.forget_history();
                live.cache.discard(&mut self.resources.pool, live.core.base());
            }
        }
    }

    /// Divides each link's rate among the connections that use it.
    fn share_links(&mut self) {
        let now = self.resources.now;
        if now - self.shared < SHARING {
            return;
        }
        self.shared = now;
        let mut uses = LinkUses::new();
        for live in self.streams.values_mut() {
            live.links.iter_mut().for_each(|link| link.add_use(&live.core, now, &mut uses));
        }
        for link in self.streams.values_mut().flat_map(|live| &mut live.links) {
            link.take_share(&uses);
        }
    }

    /// Ends a stream: closes its connections, and reports its outcome.
    fn end(&mut self, id: StreamId, how: Turn) {
        let Some(live) = self.streams.remove(&id) else { return };
        let mut fields = stream_stats(&live);
        let is_left_by_all = matches!(&how, Turn::Aborted(abort) if abort.fault == Fault::NoMembers);
        if live.upstream.is_agent && is_left_by_all {
            self.lost.remember(id, &live.tally);
        }
        match &how {
            Turn::Aborted(abort) => {
                fields["outcome"] = "aborted".into();
                fields["fault"] = abort.fault.word().into();
                fields["text"] = abort.text.clone().into();
            }
            _ => fields["outcome"] = "complete".into(),
        }
        self.resources.event("stream_closed", live.spec.id, Some(id), fields.clone());
        if let Some(session) = self.sessions.get_mut(&live.spec.id) {
            session.closed(&live, fields);
        }
        let offset = live.core.floor();
        let mut upstream = live.close(&mut self.resources, !matches!(how, Turn::Aborted(_)));
        match how {
            Turn::Aborted(Abort { fault, text }) => {
                upstream.say(&SplitFrame::Failure { fault, member: 0, offset, text });
                if upstream.is_agent && upstream.failure().is_none() {
                    return self.drain_out(upstream.link);
                }
                // Members' replies are sent before the reset; a sender that does not take them now loses
                // them.
                let _ = upstream.flush();
            }
            _ => {
                upstream.end();
                tcp::set_graceful(upstream.link.socket());
            }
        }
        upstream.link.close(&mut self.resources.poller);
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
