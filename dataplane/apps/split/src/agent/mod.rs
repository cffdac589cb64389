//! `gfagent split`: the machine on sockets, in one thread with one loop around all descriptors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::rc::Rc;
use std::time::Duration;

use groupflow_base::{Nanos, StreamId};
use groupflow_host::poller::{Poller, Ready};
use groupflow_host::process::Clock;
use groupflow_host::sockopt::PrivateListener;
use groupflow_host::tcp::{self, Acceptor};
use groupflow_transport::fanout::BranchId;
use serde_json::Value;

use self::cache::BlockPool;
use self::control::ControlClient;
use self::links::Links;
use self::neighbours::{Drain, Greeting};
use self::ports::SessionPorts;
use crate::machine::frame::Fault;
use crate::machine::sharing::{LinkUses, Ways};
use crate::machine::{Abort, MachineConfig, SplitMachine};

pub mod args; // options, and the start
mod cache; // the bytes of streams
mod config; // sessions in JSON
mod control; // the control socket
mod links; // the connections of a stream
mod neighbours; // connections from senders and agents
mod ports; // the ports that senders connect to
mod requests; // requests of the controller

/// Time between two divisions of links' rates among the connections that share them: at 20 Mb/s, some 17
/// packets are sent meanwhile.
const SHARING: Nanos = Nanos::from_millis(10);
/// Bytes of one read that are not cached.
const SCRATCH: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SplitPollKey {
    Control,
    /// A client's connection to the control socket.
    Client(u64),
    Peers,
    /// A connection from another agent that has sent no preamble yet.
    Greeting(u64),
    Listener(u32, u16),
    Upstream(StreamId),
    Branch(StreamId, BranchId),
    /// A connection of an ended stream, whose last frames are still to arrive.
    Drain(u64),
}

/// The resources that the connections of all streams share.
struct Resources {
    poller: Poller<SplitPollKey>,
    pool: BlockPool,
    /// This agent's address, from which downstream connections come.
    address: Ipv4Addr,
    /// How long a peer may leave bytes unacknowledged.
    silence: Duration,
    /// A buffer for bytes that are handed on at once.
    scratch: Box<[u8]>,
    clock: Clock,
    now: Nanos,
}

impl Resources {
    fn new(pool: BlockPool, address: Ipv4Addr, silence: Duration) -> io::Result<Resources> {
        let (poller, scratch) = (Poller::with_signals()?, vec![0; SCRATCH].into_boxed_slice());
        let clock = Clock::start();
        Ok(Resources { poller, pool, address, silence, scratch, clock, now: clock.now() })
    }
}

struct Agent {
    machine: SplitMachine,
    resources: Resources,
    ports: BTreeMap<u32, SessionPorts>,
    links: HashMap<StreamId, Links>,
    /// Streams that are to have a turn.
    ready: HashSet<StreamId>,
    peers: Rc<TcpListener>,
    control: PrivateListener,
    clients: HashMap<u64, ControlClient>,
    greetings: BTreeMap<u64, Greeting>,
    drains: HashMap<u64, Drain>,
    shared: Nanos,
    next: u64,
    acceptor: Acceptor,
}

impl Agent {
    /// An agent with its sockets, which are registered here.
    fn new(
        mut resources: Resources, config: MachineConfig, peers: TcpListener, control: PrivateListener,
    ) -> io::Result<Agent> {
        resources.poller.add(&peers, SplitPollKey::Peers)?;
        resources.poller.add(&control, SplitPollKey::Control)?;
        Ok(Agent {
            machine: SplitMachine::new(config),
            shared: resources.now,
            resources,
            ports: BTreeMap::new(),
            links: HashMap::new(),
            ready: HashSet::new(),
            peers: Rc::new(peers),
            control,
            clients: HashMap::new(),
            greetings: BTreeMap::new(),
            drains: HashMap::new(),
            next: 0,
            acceptor: Acceptor::default(),
        })
    }

    /// Runs until a signal ends it; `tell` is called with each event.
    fn run(&mut self, mut tell: impl FnMut(&Value)) -> io::Result<()> {
        let mut events = Vec::new();
        while !self.resources.poller.stopped {
            self.resources.poller.wait(self.timeout(), &mut events)?;
            self.resources.now = self.resources.clock.now();
            for (target, ready) in events.drain(..) {
                self.dispatch(target, ready);
            }
            self.expire();
            self.take_turns();
            self.share_links();
            self.publish(&mut tell);
        }
        for id in self.links.keys().copied().collect::<Vec<_>>() {
            self.abort(id, Fault::Reset, "the agent was stopped");
        }
        self.publish(&mut tell);
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let streams = self.links.values().filter_map(|links| links.due);
        let greetings = self.greetings.values().map(|greeting| greeting.until);
        let drains = self.drains.values().map(|drain| drain.until);
        let next = streams.chain(greetings).chain(drains).min()?;
        Some(Duration::from_nanos((next - self.resources.clock.now()).0))
    }

    fn dispatch(&mut self, target: SplitPollKey, ready: Ready) {
        match target {
            SplitPollKey::Control => self.accept_clients(),
            SplitPollKey::Client(number) => self.serve(number),
            SplitPollKey::Peers => self.accept_peers(),
            SplitPollKey::Greeting(number) => self.greet(number, ready),
            SplitPollKey::Listener(session, port) => self.accept_senders(session, port),
            SplitPollKey::Upstream(id) => {
                if let Some(links) = self.links.get_mut(&id) {
                    links.upstream.on_ready(ready);
                    self.ready.insert(id);
                }
            }
            SplitPollKey::Branch(id, branch) => {
                if let Some(links) = self.links.get_mut(&id) {
                    links.on_branch_ready(branch, ready);
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
        let due = self.links.iter().filter(|(_, links)| links.due.is_some_and(|at| at <= now));
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
        let mut starved = false;
        for id in std::mem::take(&mut self.ready) {
            let (Some(stream), Some(links)) = (self.machine.stream(id), self.links.get_mut(&id)) else {
                continue;
            };
            let again = links.turn(stream, &mut self.resources);
            starved |= stream.starved;
            if let Some(outcome) = stream.outcome(self.resources.now) {
                self.end(id, &outcome);
            } else if again {
                self.ready.insert(id);
            }
        }
        if starved {
            // History of any stream gives way to the bytes that other streams need now.
            for stream in self.machine.streams() {
                stream.forget_history();
                let Some(links) = self.links.get_mut(&stream.id) else { continue };
                links.cache.discard(&mut self.resources.pool, stream.core.base);
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
        let (mut uses, mut ways) = (LinkUses::new(), Ways::new());
        self.machine.streams().for_each(|stream| stream.add_ways(&mut ways));
        for stream in self.machine.streams() {
            let Some(links) = self.links.get(&stream.id) else { continue };
            stream.add_uses(now, &ways, |branch| links.tcp_state(branch), &mut uses);
        }
        for stream in self.machine.streams() {
            let Some(links) = self.links.get(&stream.id) else { continue };
            stream.take_shares(&uses, |branch, rate| links.set_pace(branch, rate));
        }
    }

    fn abort(&mut self, id: StreamId, fault: Fault, text: &str) {
        let Some(stream) = self.machine.stream(id) else { return };
        stream.abort(fault, text);
        if let Some(outcome) = stream.outcome(self.resources.now) {
            self.end(id, &outcome);
        }
    }

    /// Ends a stream: closes its connections. The last frames to an agent still arrive; members' replies are
    /// sent before the reset, and a sender that does not take them now loses them.
    fn end(&mut self, id: StreamId, outcome: &Result<(), Abort>) {
        let Some(mut stream) = self.machine.close(id, outcome) else { return };
        let Some(links) = self.links.remove(&id) else { return };
        let complete = outcome.is_ok();
        let mut upstream = links.close(&mut self.resources, complete);
        upstream.out.bytes().append(&mut stream.outgoing);
        if complete {
            let _ = upstream.flush(true);
            tcp::set_graceful(upstream.socket());
        } else if stream.source.is_agent && tcp::failure(upstream.socket()).is_none() {
            return self.drain_out(upstream);
        } else {
            let _ = upstream.flush(false);
        }
        upstream.close(&mut self.resources.poller);
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
