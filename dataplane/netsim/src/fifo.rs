//! A router without P4: looks up the address, queues first in first out, drops at the tail.
//!
//! When a frame arrives, what waits before it is known, and so is when it leaves. It is put on the link
//! at once, ahead of its time: a hop is one event.

use std::collections::VecDeque;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_switch::core::Rate;

use crate::drops::DropList;
use crate::ecn::Marker;
use crate::ids::NodeId;
use crate::routes::Routes;
use crate::transmitter::Transmitter;
use crate::wiring::Exit;

/// The limits of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimit {
    /// The most packets that wait.
    pub packets: u32,
    /// The most bytes that wait.
    pub bytes: u64,
}

/// A port with its queue.
#[derive(Debug)]
pub(crate) struct Port {
    transmitter: Transmitter,
    limit: QueueLimit,
    marker: Marker,
    /// When each waiting frame begins to be sent, and its bytes.
    waiting: VecDeque<(Nanos, u32)>,
    waiting_bytes: u64,
    full: u64,
}

impl Port {
    /// An empty one.
    pub(crate) fn new(rate: Option<Rate>, limit: QueueLimit, marker: Marker) -> Port {
        Port {
            transmitter: Transmitter::new(rate),
            limit,
            marker,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            full: 0,
        }
    }

    /// Packets and bytes that wait.
    pub(crate) fn waiting(&mut self, now: Nanos) -> (u32, u64) {
        self.settle(now);
        (self.waiting.len() as u32, self.waiting_bytes)
    }

    /// Frames that found no room.
    pub(crate) fn full(&self) -> u64 {
        self.full
    }

    /// Frames that have begun to be sent wait no more.
    #[inline]
    fn settle(&mut self, now: Nanos) {
        while let Some(&(start, bytes)) = self.waiting.front() {
            if start > now {
                return;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
    }

    /// When a frame's last bit leaves; `None`: there is no room. It may be marked.
    #[inline]
    pub(crate) fn queue(&mut self, now: Nanos, head: &mut [u8], tail: u32) -> Option<Nanos> {
        let bytes = head.len() as u32 + tail;
        self.settle(now);
        if self.transmitter.free_at() > now {
            let too_many = self.waiting.len() >= self.limit.packets as usize;
            if too_many || self.waiting_bytes + u64::from(bytes) > self.limit.bytes {
                self.full += 1;
                return None;
            }
        }
        let (start, end) = self.transmitter.send(now, bytes);
        if start > now {
            self.marker.join(self.waiting.len(), head);
            self.waiting.push_back((start, bytes));
            self.waiting_bytes += u64::from(bytes);
        }
        Some(end)
    }
}

/// A router.
#[derive(Debug)]
pub struct Fifo {
    node: NodeId,
    routes: Arc<Routes>,
    ports: Vec<Option<Port>>,
    marker: Marker,
    no_route: u64,
}

impl Fifo {
    /// A router without ports, whose queues have this marker.
    pub fn new(node: NodeId, routes: Arc<Routes>, marker: Marker) -> Fifo {
        Fifo { node, routes, ports: Vec::new(), marker, no_route: 0 }
    }

    /// Attaches a link.
    pub fn attach(&mut self, port: u16, rate: Option<Rate>, limit: QueueLimit) {
        let place = usize::from(port);
        if self.ports.len() <= place {
            self.ports.resize_with(place + 1, || None);
        }
        self.ports[place] = Some(Port::new(rate, limit, self.marker));
    }

    /// A frame arrives.
    pub fn receive(&mut self, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let port = destination(head).and_then(|address| self.routes.port(self.node, address));
        let state = port.and_then(|port| self.ports.get_mut(usize::from(port))?.as_mut());
        let (Some(port), Some(state)) = (port, state) else {
            self.no_route += 1;
            return;
        };
        if let Some(sent) = state.queue(exit.now, head, tail) {
            exit.send(port, sent, head, tail);
        }
    }

    /// Calls `each` with port, packets and bytes of what waits.
    pub fn queues(&mut self, now: Nanos, mut each: impl FnMut(u16, u32, u64)) {
        for (number, port) in (0..).zip(&mut self.ports) {
            if let Some(port) = port {
                let (packets, bytes) = port.waiting(now);
                each(number, packets, bytes);
            }
        }
    }

    /// Lists the frames that were marked.
    pub fn signals(&self, list: &mut DropList<'_>) {
        for (number, port) in (0..).zip(&self.ports) {
            list.at_port(number, "ecn_marked", port.as_ref().map_or(0, |port| port.marker.marked()));
        }
    }

    /// Lists what was dropped.
    pub fn drops(&self, list: &mut DropList<'_>) {
        list.at_node("no_route", self.no_route);
        for (number, port) in (0..).zip(&self.ports) {
            list.at_queue(number, 0, port.as_ref().map_or(0, |port| port.full));
        }
    }
}

/// The destination of an IPv4 frame.
#[inline]
pub fn destination(head: &[u8]) -> Option<u32> {
    let ethertype = head.get(12..14)?;
    let mut address = [0; 4];
    address.copy_from_slice(head.get(30..34)?);
    (ethertype == [0x08, 0x00]).then_some(u32::from_be_bytes(address))
}
