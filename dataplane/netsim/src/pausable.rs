//! A router that obeys pause frames, and sends them: its frames stay in the queue until they may leave.
//!
//! A port without pauses sends to the nanosecond as [`Fifo`](crate::fifo::Fifo) does, with
//! twice as many events. Frames are counted by the port they came in by, as in IEEE 802.1Qbb.

use std::collections::VecDeque;
use std::sync::Arc;

use groupflow_base::min_tree::MinTree;
use groupflow_base::{BitRate, Nanos};
use groupflow_switch::core::Pacer;

use crate::drops::DropList;
use crate::ecn::Marker;
use crate::fifo::{destination, QueueLimit};
use crate::frame_queue::FrameQueue;
use crate::ids::NodeId;
use crate::pause::{self, Restraint, Thresholds};
use crate::routes::Routes;
use crate::wiring::Exit;

#[derive(Debug)]
struct PausablePort {
    rate: Option<BitRate>,
    pacer: Pacer,
    limit: QueueLimit,
    marker: Marker,
    frames: FrameQueue,
    /// The port that each waiting frame came in by.
    inputs: VecDeque<u16>,
    bytes: u64,
    full: u64,
    /// The time until which the neighbour wants no frames.
    paused_until: Nanos,
    /// The packets stored here that came in by this port.
    restraint: Restraint,
}

impl PausablePort {
    /// When the port has a frame to send, and may send it.
    fn due(&self) -> Nanos {
        let data = if self.inputs.is_empty() { Nanos::MAX } else { self.paused_until };
        let due = data.min(self.restraint.due());
        if due == Nanos::MAX {
            due
        } else {
            due.max(self.pacer.free_at())
        }
    }

    /// Whether a frame need not wait.
    fn is_idle(&self, now: Nanos) -> bool {
        self.inputs.is_empty()
            && self.pacer.free_at() <= now
            && self.paused_until <= now
            && self.restraint.due() > now
    }

    /// Queues a frame. False: there is no room.
    fn store(&mut self, now: Nanos, input: u16, head: &mut [u8], tail: u32) -> bool {
        let bytes = head.len() as u64 + u64::from(tail);
        let waiting = self.inputs.len();
        if waiting >= self.limit.packets as usize || self.bytes + bytes > self.limit.bytes {
            self.full += 1;
            return false;
        }
        self.marker.join(waiting, head);
        self.frames.push(now, head, tail);
        self.inputs.push_back(input);
        self.bytes += bytes;
        true
    }
}

#[derive(Debug)]
pub struct Pausable {
    node: NodeId,
    routes: Arc<Routes>,
    ports: Vec<Option<PausablePort>>,
    /// When each port has something to send.
    due: MinTree,
    thresholds: Option<Thresholds>,
    marker: Marker,
    no_route: u64,
}

impl Pausable {
    /// A router without ports. Without thresholds the router obeys pause frames, but sends none.
    pub fn new(
        node: NodeId, routes: Arc<Routes>, thresholds: Option<Thresholds>, marker: Marker,
    ) -> Pausable {
        let due = MinTree::new(0);
        Pausable { node, routes, ports: Vec::new(), due, thresholds, marker, no_route: 0 }
    }

    /// Attaches a link, before anything has happened.
    pub fn attach(&mut self, port: u16, rate: Option<BitRate>, limit: QueueLimit) {
        let place = usize::from(port);
        if self.ports.len() <= place {
            self.ports.resize_with(place + 1, || None);
            self.due = MinTree::new(place + 1);
        }
        self.ports[place] = Some(PausablePort {
            rate,
            pacer: Pacer::default(),
            limit,
            marker: self.marker,
            frames: FrameQueue::default(),
            inputs: VecDeque::new(),
            bytes: 0,
            full: 0,
            paused_until: Nanos::ZERO,
            restraint: Restraint::new(self.thresholds, rate),
        });
    }

    /// When the router has something to do.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        self.due.time()
    }

    /// Sends the frames that may leave now.
    pub fn advance(&mut self, exit: &mut Exit<'_>) {
        while self.due.time() <= exit.now {
            self.send(self.due.first() as u16, exit);
        }
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, input: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        if let Some(quanta) = pause::read(head) {
            if let Some(Some(port)) = self.ports.get_mut(usize::from(input)) {
                port.paused_until = exit.now + pause::span(quanta, port.rate);
            }
            self.update(input);
        } else {
            self.forward(input, head, tail, exit);
        }
        self.advance(exit);
    }

    fn forward(&mut self, input: u16, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let port = destination(head).and_then(|address| self.routes.port(self.node, address));
        let state = port.and_then(|port| self.ports.get_mut(usize::from(port))?.as_mut());
        let (Some(port), Some(state)) = (port, state) else {
            self.no_route += 1;
            return;
        };
        if state.is_idle(exit.now) {
            let (_, sent) = state.pacer.send(state.rate, exit.now, head.len() + tail as usize);
            exit.send(port, sent, head, tail);
        } else if state.store(exit.now, input, head, tail) {
            self.update(port);
            if let Some(Some(from)) = self.ports.get_mut(usize::from(input)) {
                from.restraint.enter();
            }
            self.update(input);
        }
    }

    /// Sends a frame: pause frames go before data.
    fn send(&mut self, number: u16, exit: &mut Exit<'_>) {
        let Some(Some(port)) = self.ports.get_mut(usize::from(number)) else { return };
        if port.restraint.due() <= exit.now {
            let (head, tail) = pause::frame(port.restraint.announce(exit.now));
            let (_, sent) = port.pacer.send(port.rate, exit.now, head.len() + tail as usize);
            exit.send(number, sent, &head, tail);
        } else if let (Some(mut frame), Some(input)) = (port.frames.lend(), port.inputs.pop_front()) {
            let bytes = frame.head().len() as u32 + frame.tail;
            port.bytes -= u64::from(bytes);
            let (_, sent) = port.pacer.send(port.rate, exit.now, bytes as usize);
            let tail = frame.tail;
            exit.send(number, sent, frame.head(), tail);
            port.frames.give_back(frame);
            if let Some(Some(from)) = self.ports.get_mut(usize::from(input)) {
                from.restraint.leave();
            }
            self.update(input);
        }
        self.update(number);
    }

    #[inline]
    fn update(&mut self, number: u16) {
        if let Some(Some(port)) = self.ports.get(usize::from(number)) {
            self.due.set(usize::from(number), port.due());
        }
    }

    /// Calls `each` with a port and the packets and bytes that wait there.
    pub fn queues(&self, mut each: impl FnMut(u16, u32, u64)) {
        for (number, port) in (0..).zip(&self.ports) {
            if let Some(port) = port {
                each(number, port.inputs.len() as u32, port.bytes);
            }
        }
    }

    /// Lists the frames that were marked, and how often a neighbour was told to stop.
    pub fn signals(&self, list: &mut DropList<'_>) {
        for (number, port) in (0..).zip(&self.ports) {
            if let Some(port) = port {
                list.at_port(number, "ecn_marked", port.marker.marked());
                list.at_port(number, "pauses", port.restraint.pauses());
            }
        }
    }

    pub fn drops(&self, list: &mut DropList<'_>) {
        list.at_node("no_route", self.no_route);
        for (number, port) in (0..).zip(&self.ports) {
            list.at_queue(number, 0, port.as_ref().map_or(0, |port| port.full));
        }
    }
}
