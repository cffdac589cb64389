//! Virtual time: hosts with protocol machines, links, switches and the controller.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::model::controller::{ControllerModel, Post, Rules};
use crate::model::switch::{LinkFrame, PortId, SwitchAction, SwitchModel};
use groupflow_base::{BitRate, CodecError, Datagram, Dest, Machine, Nanos, Transmit};
use groupflow_session::control::StartAt;
use groupflow_session::sending::Completion;
use groupflow_session::{
    Caching, Endpoint, MemberConfig, MemberError, MemberEvent, ReceiveConfig, ReceiveError, ReceiveEvent,
    Receiving, SendConfig, SendError, SendEvent, Sending,
};
use groupflow_transport::cache::CacheStats;
use groupflow_transport::ids::GROUP_PORT;
use groupflow_transport::source::Source;
use groupflow_transport::{MemberId, SessionId};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::link::{LinkConfig, WorldLink};

/// From a switch to the controller and back.
const CONTROL_DELAY: Nanos = Nanos::from_millis(2);
const EXPIRY: Nanos = Nanos::from_millis(200);

pub type HostNumber = usize;

pub enum GroupMember {
    Sending(Box<Endpoint<Sending>>),
    Receiving(Box<Endpoint<Receiving>>),
    Caching(Box<Endpoint<Caching>>),
}

impl GroupMember {
    fn machine(&mut self) -> &mut dyn Machine<Error = CodecError> {
        match self {
            GroupMember::Sending(m) => m.as_mut(),
            GroupMember::Receiving(m) => m.as_mut(),
            GroupMember::Caching(m) => m.as_mut(),
        }
    }
}

pub struct WorldHost {
    pub machine: Option<GroupMember>,
    pub address: SocketAddrV4,
    pub switch: usize,
    pub port: PortId,
    wake_at: Option<Nanos>,
    /// The bytes that a receiver delivered.
    pub output: Vec<u8>,
    /// A receiver whose application does not read.
    pub paused: bool,
    /// A host whose processes are stopped: it hears and sends nothing.
    frozen: bool,
    pub started: Option<Nanos>,
    pub completed: Option<Nanos>,
    pub summary: Option<Completion>,
    pub member_error: Option<MemberError>,
    pub send_error: Option<SendError>,
    pub receive_error: Option<ReceiveError>,
    pub first_data: Option<Nanos>,
}

#[derive(Debug)]
enum WorldEvent {
    AtSwitch(usize, PortId, LinkFrame),
    AtHost(HostNumber, LinkFrame),
    AtController(usize, PortId, LinkFrame),
    Wake(HostNumber),
    Expire,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkEnd {
    Host(HostNumber),
    Switch(usize, PortId),
}

pub struct World {
    pub now: Nanos,
    pub hosts: Vec<WorldHost>,
    pub switches: Vec<SwitchModel>,
    pub controller: ControllerModel,
    /// The far end and the outgoing direction of each switch port.
    ports: BTreeMap<(usize, PortId), (LinkEnd, WorldLink)>,
    uplinks: BTreeMap<HostNumber, WorldLink>,
    events: BTreeMap<(Nanos, u64), WorldEvent>,
    sequence: u64,
    rng: ChaCha8Rng,
    seed: u64,
}

impl World {
    /// Two switches, s0 and s1, with an agent each (hosts 0 and 1), joined by `trunk`.
    pub fn new(now: Nanos, seed: u64, rules: Rules, trunk: LinkConfig, cache_bytes: u64) -> World {
        let agents = rules.agents;
        let mut world = World {
            now,
            hosts: Vec::new(),
            switches: vec![SwitchModel::default(), SwitchModel::default()],
            controller: ControllerModel::new(rules),
            ports: BTreeMap::new(),
            uplinks: BTreeMap::new(),
            events: BTreeMap::new(),
            sequence: 0,
            rng: ChaCha8Rng::seed_from_u64(seed),
            seed,
        };
        world.connect_switches(trunk);
        for switch in 0..2 {
            let id = world.add_host(switch, LinkConfig::local(), LinkConfig::local());
            let port = world.hosts[id].port;
            world.controller.agents.push(Some(port));
            if agents {
                world.start_agent(id, cache_bytes);
            }
        }
        world.schedule(EXPIRY, WorldEvent::Expire);
        world
    }

    fn connect_switches(&mut self, trunk: LinkConfig) {
        for (from, to) in [(0, 1), (1, 0)] {
            self.ports.insert((from, 0), (LinkEnd::Switch(to, 0), WorldLink::new(trunk)));
            self.controller.paths.insert((from, to), 0);
        }
    }

    pub fn add_host(&mut self, switch: usize, up: LinkConfig, down: LinkConfig) -> HostNumber {
        let id = self.hosts.len();
        let port = 1 + self.ports.keys().filter(|(s, _)| *s == switch).map(|&(_, p)| p).max().unwrap_or(0);
        let ip = Ipv4Addr::new(10, 0, 1 + id as u8, 1);
        self.ports.insert((switch, port), (LinkEnd::Host(id), WorldLink::new(down)));
        self.uplinks.insert(id, WorldLink::new(up));
        self.switches[switch].routes.insert(ip, port);
        self.switches[1 - switch].routes.insert(ip, 0);
        self.hosts.push(WorldHost {
            machine: None,
            address: SocketAddrV4::new(ip, GROUP_PORT),
            switch,
            port,
            wake_at: None,
            output: Vec::new(),
            paused: false,
            frozen: false,
            started: None,
            completed: None,
            summary: None,
            member_error: None,
            send_error: None,
            receive_error: None,
            first_data: None,
        });
        id
    }

    fn member(&self, host: HostNumber, name: &str, token: String) -> MemberConfig {
        MemberConfig {
            session: SessionId(0),
            name: format!("{name}{host}"),
            token,
            patience: Some(Nanos::from_secs(10)),
            seed: self.seed + host as u64,
        }
    }

    pub fn start_agent(&mut self, host: HostNumber, max_bytes: u64) {
        let member = self.member(host, "sa", String::new());
        self.start(host, GroupMember::Caching(Box::new(Endpoint::caching(self.now, member, max_bytes))));
    }

    pub fn start_sender(&mut self, host: HostNumber, session: u32, source: Source, receivers: u16) {
        let member = self.member(host, "h", self.controller.rules.token.clone());
        let member = MemberConfig { session: SessionId(session), ..member };
        let config = SendConfig { receivers, cap: BitRate(0) };
        let sending = Endpoint::sending(self.now, member, config, source);
        self.start(host, GroupMember::Sending(Box::new(sending)));
    }

    pub fn start_receiver(&mut self, host: HostNumber, session: u32, start: StartAt, datagrams: bool) {
        let token = self.controller.rules.token.clone();
        self.start_receiver_with(host, session, start, datagrams, token);
    }

    pub fn start_receiver_with(
        &mut self, host: HostNumber, session: u32, start: StartAt, datagrams: bool, token: String,
    ) {
        let member = MemberConfig { session: SessionId(session), ..self.member(host, "h", token) };
        let config = ReceiveConfig { source: MemberId::NONE, start, datagrams, target: BitRate(0) };
        let receiving = Endpoint::receiving(self.now, member, config);
        self.start(host, GroupMember::Receiving(Box::new(receiving)));
    }

    fn start(&mut self, host: HostNumber, machine: GroupMember) {
        self.hosts[host].machine = Some(machine);
        self.hosts[host].wake_at = None;
        self.pump(host);
    }

    /// The host stops without a word.
    pub fn kill(&mut self, host: HostNumber) {
        self.hosts[host].machine = None;
    }

    /// Stops the host's processes, or lets them go on.
    pub fn freeze(&mut self, host: HostNumber, frozen: bool) {
        self.hosts[host].frozen = frozen;
        self.pump(host);
    }

    /// The host's link, in both directions.
    pub fn set_link(&mut self, host: HostNumber, up: bool) {
        let key = (self.hosts[host].switch, self.hosts[host].port);
        let down = self.ports.get_mut(&key).map(|(_, link)| link);
        down.into_iter().chain(self.uplinks.get_mut(&host)).for_each(|link| link.up = up);
    }

    /// Whether a host's member has ended, or a receiver has not begun to follow a stream.
    pub fn is_free(&self, host: HostNumber) -> bool {
        match &self.hosts[host].machine {
            Some(GroupMember::Sending(sender)) => sender.has_ended(),
            Some(GroupMember::Receiving(receiver)) => {
                receiver.has_ended() || self.hosts[host].first_data.is_none()
            }
            Some(GroupMember::Caching(_)) | None => true,
        }
    }

    fn schedule(&mut self, after: Nanos, event: WorldEvent) {
        self.sequence += 1;
        self.events.insert((self.now + after, self.sequence), event);
    }

    /// Runs until `done`, or until `limit` has passed. True when done.
    pub fn run_until(&mut self, limit: Nanos, mut done: impl FnMut(&World) -> bool) -> bool {
        let end = self.now + limit;
        while !done(self) {
            let Some((&(at, sequence), _)) = self.events.iter().next() else { return false };
            if at > end {
                self.now = end;
                return done(self);
            }
            let Some(event) = self.events.remove(&(at, sequence)) else { return false };
            self.now = at;
            self.act(event);
        }
        true
    }

    pub fn run_for(&mut self, span: Nanos) {
        self.run_until(span, |_| false);
    }

    fn act(&mut self, event: WorldEvent) {
        match event {
            WorldEvent::AtSwitch(switch, port, frame) => {
                for action in self.switches[switch].receive(port, frame) {
                    match action {
                        SwitchAction::Send(out, frame) => self.send_from_switch(switch, out, frame),
                        SwitchAction::Punt(port, frame) => {
                            self.schedule(CONTROL_DELAY, WorldEvent::AtController(switch, port, frame));
                        }
                    }
                }
            }
            WorldEvent::AtHost(host, frame) => self.deliver(host, &frame),
            WorldEvent::AtController(switch, port, frame) if self.controller.alive => {
                let posts = self.controller.receive(self.now, &mut self.switches, (switch, port), &frame);
                self.post(posts);
            }
            WorldEvent::AtController(..) => {}
            WorldEvent::Wake(host) => {
                if self.hosts[host].wake_at.is_some_and(|at| at <= self.now) {
                    self.hosts[host].wake_at = None;
                    self.pump(host);
                }
            }
            WorldEvent::Expire => {
                if self.controller.alive {
                    let posts = self.controller.expire(self.now, &mut self.switches);
                    self.post(posts);
                }
                self.schedule(EXPIRY, WorldEvent::Expire);
            }
        }
    }

    /// Packet-outs of the controller: they cross the host's link like everything else.
    fn post(&mut self, posts: Vec<Post>) {
        for Post { to, bytes } in posts {
            let Some(host) = self.hosts.iter().find(|h| h.address == to) else { continue };
            let (switch, port) = (host.switch, host.port);
            let gateway = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 254), GROUP_PORT);
            let frame = LinkFrame { from: gateway, to: Dest::Host(to), bytes };
            self.send_from_switch(switch, port, frame);
        }
    }

    fn send_from_switch(&mut self, switch: usize, port: PortId, frame: LinkFrame) {
        let Some((end, link)) = self.ports.get_mut(&(switch, port)) else { return };
        let end = *end;
        for arrival in link.send(self.now, frame.bytes.len(), &mut self.rng) {
            let event = match end {
                LinkEnd::Host(host) => WorldEvent::AtHost(host, frame.clone()),
                LinkEnd::Switch(next, at) => WorldEvent::AtSwitch(next, at, frame.clone()),
            };
            self.schedule(arrival - self.now, event);
        }
    }

    fn send_from_host(&mut self, host: HostNumber, transmit: Transmit) {
        let (switch, port, from) = {
            let h = &self.hosts[host];
            (h.switch, h.port, h.address)
        };
        let frame = LinkFrame { from, to: transmit.dest, bytes: transmit.bytes };
        let Some(link) = self.uplinks.get_mut(&host) else { return };
        for arrival in link.send(self.now, frame.bytes.len(), &mut self.rng) {
            self.schedule(arrival - self.now, WorldEvent::AtSwitch(switch, port, frame.clone()));
        }
    }

    fn deliver(&mut self, host: HostNumber, frame: &LinkFrame) {
        let datagram = Datagram { from: frame.from, bytes: &frame.bytes };
        let frozen = self.hosts[host].frozen;
        let machine = self.hosts[host].machine.as_mut().filter(|_| !frozen);
        let result = machine.map_or(Ok(()), |m| m.machine().handle(self.now, datagram));
        assert_eq!(result, Ok(()), "host {host} refuses a packet");
        self.pump(host);
    }

    /// Lets a host send what it has, takes what it delivers, and asks when it wants to wake.
    pub fn pump(&mut self, host: HostNumber) {
        let now = self.now;
        let mut out: Vec<Transmit> = Vec::new();
        let h = &mut self.hosts[host];
        let Some(machine) = h.machine.as_mut().filter(|_| !h.frozen) else { return };
        if let (GroupMember::Receiving(m), false) = (&mut *machine, h.paused) {
            m.take(now, &mut h.output);
        }
        out.extend(std::iter::from_fn(|| machine.machine().poll_transmit(now)));
        let mut member_event = |event| {
            if let MemberEvent::Failed(error) = event {
                h.member_error = Some(error);
            }
        };
        match &mut *machine {
            GroupMember::Sending(m) => std::iter::from_fn(|| m.poll_event()).for_each(|event| match event {
                SendEvent::Member(event) => member_event(event),
                SendEvent::Started { .. } => h.started = Some(now),
                SendEvent::Complete(summary) => {
                    h.completed = Some(now);
                    h.summary = Some(summary);
                }
                SendEvent::Failed(error) => h.send_error = Some(error),
                SendEvent::Stalled(_) => {}
            }),
            GroupMember::Receiving(m) => {
                std::iter::from_fn(|| m.poll_event()).for_each(|event| match event {
                    ReceiveEvent::Member(event) => member_event(event),
                    ReceiveEvent::Started { .. } => h.first_data = Some(now),
                    ReceiveEvent::Complete => h.completed = Some(now),
                    ReceiveEvent::Failed(error) => h.receive_error = Some(error),
                })
            }
            GroupMember::Caching(m) => std::iter::from_fn(|| m.poll_event()).for_each(member_event),
        }
        let deadline = machine.machine().next_deadline();
        for transmit in out {
            self.send_from_host(host, transmit);
        }
        self.wake(host, deadline);
    }

    fn wake(&mut self, host: HostNumber, deadline: Option<Nanos>) {
        let Some(at) = deadline else { return };
        let at = at.max(self.now + Nanos(1));
        if self.hosts[host].wake_at.map_or(true, |old| at < old) {
            self.hosts[host].wake_at = Some(at);
            self.schedule(at - self.now, WorldEvent::Wake(host));
        }
    }

    pub fn sender(&mut self, host: HostNumber) -> &mut Endpoint<Sending> {
        match &mut self.hosts[host].machine {
            Some(GroupMember::Sending(sender)) => sender,
            _ => panic!("host {host} is no sender"),
        }
    }

    pub fn receiver(&mut self, host: HostNumber) -> &mut Endpoint<Receiving> {
        match &mut self.hosts[host].machine {
            Some(GroupMember::Receiving(receiver)) => receiver,
            _ => panic!("host {host} is no receiver"),
        }
    }

    pub fn cache_stats(&self, host: HostNumber) -> CacheStats {
        match &self.hosts[host].machine {
            Some(GroupMember::Caching(agent)) => agent.stats(),
            _ => CacheStats::default(),
        }
    }

    /// Bytes that crossed the host's link towards the switch.
    pub fn uplink_bytes(&self, host: HostNumber) -> u64 {
        self.uplinks[&host].bytes
    }

    /// Bytes and overflows of a switch port's outgoing direction.
    pub fn port_bytes(&self, switch: usize, port: PortId) -> (u64, u64) {
        let link = &self.ports[&(switch, port)].1;
        (link.bytes, link.overflows)
    }

    pub fn set_trunk(&mut self, up: bool) {
        for key in [(0, 0), (1, 0)] {
            if let Some((_, link)) = self.ports.get_mut(&key) {
                link.up = up;
            }
        }
    }

    pub fn set_downlink(&mut self, host: HostNumber, config: LinkConfig) {
        let key = (self.hosts[host].switch, self.hosts[host].port);
        if let Some((_, link)) = self.ports.get_mut(&key) {
            link.config = config;
        }
    }
}
