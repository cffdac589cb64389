//! A host: the ends of flows behind one network interface.
//!
//! An end is asked for a packet when the interface can take it: a flow's data waits in the
//! flow, as under a kernel that limits its queues, and flows take turns.

pub mod bone_end;
mod end;
pub mod group_end;
mod messages;
mod shaper;
pub mod tcp_end;
pub mod udp;

use std::net::SocketAddrV4;

use groupflow_base::min_tree::MinTree;
use groupflow_base::{BitRate, Nanos};

pub use end::{EndKind, FlowEnd};
pub use messages::MessageSource;

use self::tcp_end::TcpEnd;
use crate::address_table::AddressTable;
use crate::drops::DropList;
use crate::ids::{FlowId, NodeId};
use crate::pacer::InterfacePacer;
use crate::pause;
use crate::sample::{CacheSample, FlowSample};
use crate::wire::{read, Received};
use crate::wiring::Exit;

/// A host, or one port of a split agent.
#[derive(Debug)]
pub struct HostInterface {
    port: u16,
    interface: InterfacePacer,
    /// The time until which the neighbour wants no frames.
    paused_until: Nanos,
    ends: Vec<FlowEnd>,
    /// The end of each protocol and local port.
    by_port: AddressTable,
    /// When each end has something to do.
    timers: MinTree,
    /// Since when, or from when on, each end has something to send.
    wants: MinTree,
    head: Vec<u8>,
    unexpected: u64,
}

impl HostInterface {
    /// A host whose interface is the node's `port` and has this rate.
    pub fn new(port: u16, rate: Option<BitRate>, ends: Vec<FlowEnd>) -> HostInterface {
        let keys: Vec<_> =
            (0..).zip(&ends).map(|(place, end)| (key(end.protocol, end.port), place)).collect();
        let mut host = HostInterface {
            port,
            interface: InterfacePacer::new(rate),
            paused_until: Nanos::ZERO,
            by_port: AddressTable::new(&keys),
            timers: MinTree::new(ends.len()),
            wants: MinTree::new(ends.len()),
            ends,
            head: Vec::new(),
            unexpected: 0,
        };
        for place in 0..host.ends.len() {
            host.update(place);
        }
        host
    }

    pub fn deadline(&self) -> Nanos {
        let wants = self.wants.time();
        let transmit = if wants == Nanos::MAX { wants } else { wants.max(self.ready()) };
        transmit.min(self.timers.time())
    }

    /// When the interface can take the next frame.
    fn ready(&self) -> Nanos {
        self.interface.free_at().max(self.paused_until)
    }

    /// Carries out everything due, and sends all that can be sent.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        while self.deadline() <= exit.now {
            self.step(exit);
        }
    }

    /// Carries out one action that is due. Returns whether the host sent a packet.
    pub fn step(&mut self, exit: &mut Exit<'_>) -> bool {
        let now = exit.now;
        if self.timers.time() <= now {
            let place = self.timers.first();
            self.ends[place].on_timer(now);
            self.update(place);
            return false;
        }
        self.wants.time() <= now && self.ready() <= now && self.transmit(exit)
    }

    /// Sends a packet of the end that has waited longest, if there is one after all.
    fn transmit(&mut self, exit: &mut Exit<'_>) -> bool {
        let place = self.wants.first();
        let tail = self.ends[place].poll(exit.now, &mut self.head);
        if let Some(tail) = tail {
            let (_, sent) = self.interface.send(exit.now, self.head.len() as u32 + tail);
            exit.send(self.port, sent, &self.head, tail);
        }
        self.update(place);
        tail.is_some()
    }

    /// Handles a frame that arrives, and sends the packets that it causes.
    pub fn receive(&mut self, head: &[u8], tail: u32, exit: &mut Exit<'_>) {
        self.take_in(exit.now, head, tail);
        self.advance(exit);
    }

    /// Handles a frame that arrives. Returns the place of the end that took it.
    pub fn take_in(&mut self, now: Nanos, head: &[u8], tail: u32) -> Option<usize> {
        match read(head, tail) {
            Received::Transport { protocol, ecn, source, source_port, destination_port, segment, length } => {
                let Some(place) = self.by_port.get(key(protocol, destination_port)) else {
                    self.unexpected += 1;
                    return None;
                };
                let place = place as usize;
                let from = SocketAddrV4::new(source, source_port);
                self.ends[place].receive(now, from, segment, length, ecn);
                self.update(place);
                return Some(place);
            }
            Received::Feedback(told) => self.reshape(told.flow, told.rate),
            Received::Pause { quanta } => {
                self.paused_until = now + pause::span(quanta, self.interface.rate());
            }
            Received::Other => self.unexpected += 1,
        }
        None
    }

    /// Calls a function on the TCP endpoint at this place, which may then have something to send.
    pub fn with_tcp<R>(&mut self, place: usize, act: impl FnOnce(&mut TcpEnd) -> R) -> Option<R> {
        let EndKind::Tcp(tcp) = &mut self.ends.get_mut(place)?.kind else { return None };
        let result = act(tcp);
        self.update(place);
        Some(result)
    }

    /// The place of the TCP endpoint that a flow has here.
    pub fn place_of(&self, flow: FlowId) -> Option<usize> {
        self.ends.iter().position(|end| end.flow == flow && matches!(end.kind, EndKind::Tcp(_)))
    }

    /// Handles a flow's rate that a node tells.
    fn reshape(&mut self, flow: u16, rate: i32) {
        let Some(place) = self.ends.iter().position(|end| end.shaped_as == Some(flow)) else {
            self.unexpected += 1;
            return;
        };
        self.ends[place].shaper.set_rate(rate.max(0) as u32);
        self.update(place);
    }

    fn update(&mut self, place: usize) {
        let end = &self.ends[place];
        self.timers.set(place, end.deadline());
        self.wants.set(place, end.wants());
    }

    pub fn sample(&self, flows: &mut [FlowSample]) {
        for end in &self.ends {
            end.sample(&mut flows[end.flow.index()]);
        }
    }

    /// Measures the cache of a cache agent that runs here.
    pub fn cache(&self, node: NodeId) -> Option<CacheSample> {
        self.ends.iter().find_map(|end| match &end.kind {
            EndKind::Group(group) => group.cache(node),
            _ => None,
        })
    }

    pub fn drops(&self, list: &mut DropList<'_>) {
        list.at_node("unexpected", self.unexpected);
        list.at_node("malformed", self.ends.iter().map(FlowEnd::malformed).sum());
        let full = self.ends.iter().map(FlowEnd::dropped).sum();
        list.at_queue(self.port, 0, full);
    }
}

fn key(protocol: u8, port: u16) -> u32 {
    u32::from(protocol) << 16 | u32::from(port)
}

#[cfg(test)]
mod tests {
    use super::udp::UdpSource;
    use super::*;
    use crate::frame_queue::{Batch, FrameQueue};
    use crate::loss::LossProcess;
    use crate::outlet::{LinkTarget, Outlet, OutletCounters};
    use crate::random::{Draws, Random};
    use crate::spec::{Arrivals, Sizes, UdpSpec};
    use crate::transit::Marks;
    use crate::wire::{Addresses, PROTOCOL_UDP};
    use crate::wiring::{Inlet, Wiring};
    use std::collections::VecDeque;
    use std::net::Ipv4Addr;

    /// A link to nowhere in particular.
    fn wiring() -> Wiring {
        let outlet = Outlet {
            delay: Nanos::ZERO,
            loss: LossProcess::None,
            random: Random::new(1, Draws::Link(0)),
            downs: Vec::new(),
            next_down: 0,
            destination: LinkTarget::Inlet(0),
            batch: Batch::new(),
            counters: OutletCounters::default(),
            entered: Marks::new(Nanos::MAX, Nanos::ZERO),
            transits: Vec::new(),
        };
        let inlet = Inlet { queue: FrameQueue::default(), leaf: 0, place: 0, port: 0 };
        let tree = MinTree::new(1);
        Wiring { outlets: vec![outlet], inlets: vec![inlet], tree, earliest: Nanos::MAX, tracer: None }
    }

    /// A source of 1,000-byte frames, `rate` bit/s, until a microsecond has passed.
    fn source(port: u16, rate_bps: u64, shaped_as: Option<u16>) -> FlowEnd {
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let addresses = Addresses {
            source_mac: [2; 6],
            destination_mac: [4; 6],
            source: address,
            destination: address,
            source_port: port,
            destination_port: port,
        };
        let (sizes, arrivals) = (Sizes::Constant, Arrivals::Constant);
        let spec = UdpSpec { rate_bps, frame_bytes: 1000, sizes, arrivals };
        let random = Random::new(1, Draws::Flow(0));
        let source = Box::new(UdpSource::new(&addresses, spec, random, Nanos::ZERO, Nanos(1000)));
        let kind = EndKind::UdpSource { source, waiting: VecDeque::new(), limit: 1000, dropped: 0 };
        FlowEnd { shaped_as, ..FlowEnd::new(FlowId(0), PROTOCOL_UDP, port, kind) }
    }

    /// Lets a host act until `until`; returns the times at which frames had left, with their source ports.
    fn run(host: &mut HostInterface, wiring: &mut Wiring, until: u64) -> Vec<(u64, u16)> {
        while host.deadline() <= Nanos(until) {
            let now = host.deadline();
            host.advance(&mut Exit { wiring, outlets: &[0], now, node: NodeId(0), place: 0 });
        }
        let (queue, mut sent) = (&mut wiring.inlets[0].queue, Vec::new());
        while let (Nanos(time), Some(mut frame)) = (queue.next(), queue.lend()) {
            sent.push((time, u16::from_be_bytes([frame.head()[34], frame.head()[35]])));
            queue.give_back(frame);
        }
        sent
    }

    fn feedback(flow: u16, rate: i32) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x88, 0xB5]);
        frame.extend(flow.to_be_bytes());
        frame.extend([0; 2]);
        frame.extend(rate.to_be_bytes());
        frame.extend([0; 4]);
        frame
    }

    #[test]
    fn a_flow_keeps_to_the_rate_that_feedback_tells() {
        let mut host = HostInterface::new(0, None, vec![source(1, 800_000_000_000, Some(7))]);
        let mut wiring = wiring();
        let tell = |host: &mut HostInterface, wiring: &mut Wiring, now, rate| {
            let mut exit = Exit { wiring, outlets: &[0], now: Nanos(now), node: NodeId(0), place: 0 };
            host.receive(&feedback(7, rate), 0, &mut exit);
        };
        // 100 frames come into being within a microsecond; the first leaves before anything is told.
        assert_eq!(run(&mut host, &mut wiring, 0), [(0, 1)]);
        tell(&mut host, &mut wiring, 1, 64 * 1_000_000);
        assert_eq!(run(&mut host, &mut wiring, 2500), [(1000, 1), (2000, 1)]);
        tell(&mut host, &mut wiring, 2600, 64 * 10_000_000);
        assert_eq!(run(&mut host, &mut wiring, 2750), [(2600, 1), (2700, 1)], "at once for what waits");
        tell(&mut host, &mut wiring, 2800, -5);
        assert_eq!(run(&mut host, &mut wiring, 1_000_000), [], "below zero is a pause");
        assert_eq!(host.deadline(), Nanos::MAX);
        let mut exit = Exit { wiring: &mut wiring, outlets: &[0], now: Nanos(3), node: NodeId(0), place: 0 };
        host.receive(&feedback(8, 64), 0, &mut exit);
        assert_eq!(host.unexpected, 1, "of no flow here");
    }

    #[test]
    fn flows_take_turns_at_the_interface() {
        let ends = vec![source(1, 800_000_000_000, None), source(2, 800_000_000_000, None)];
        let mut host = HostInterface::new(0, Some(BitRate(8_000_000_000)), ends);
        let sent = run(&mut host, &mut wiring(), 8_500);
        let times: Vec<u64> = sent.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, (1..=9).map(|n| n * 1000).collect::<Vec<_>>());
        let of_one = sent.iter().filter(|(_, port)| *port == 1).count();
        assert!((4..=5).contains(&of_one), "{sent:?}");
    }
}
