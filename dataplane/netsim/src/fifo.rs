//! A router without P4: looks up the address, queues first in first out, drops at the tail.
//!
//! When a frame arrives, the frames before it are known, and so is the time when it leaves. It is put on the
//! link at once, ahead of its time: a hop is one event.

use std::collections::VecDeque;
use std::sync::Arc;

use groupflow_base::{BitRate, Nanos};
use groupflow_switch::core::Pacer;

use crate::drops::DropList;
use crate::ecn::Marker;
use crate::ids::NodeId;
use crate::routes::Routes;
use crate::wiring::Exit;

#[derive(Debug, Clone, Copy)]
pub struct QueueLimit {
    /// The most packets that wait.
    pub packets: u32,
    /// The most bytes that wait.
    pub bytes: u64,
}

/// A port with its queue.
#[derive(Debug)]
struct FifoPort {
    rate: Option<BitRate>,
    pacer: Pacer,
    limit: QueueLimit,
    marker: Marker,
    /// When each waiting frame begins to be sent, and its bytes.
    waiting: VecDeque<(Nanos, u32)>,
    waiting_bytes: u64,
    full: u64,
}

impl FifoPort {
    fn new(rate: Option<BitRate>, limit: QueueLimit, marker: Marker) -> FifoPort {
        FifoPort {
            rate,
            pacer: Pacer::default(),
            limit,
            marker,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            full: 0,
        }
    }

    /// Packets and bytes that wait.
    fn waiting(&mut self, now: Nanos) -> (u32, u64) {
        self.settle(now);
        (self.waiting.len() as u32, self.waiting_bytes)
    }

    /// Frames that have begun to be sent no longer wait.
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

    /// When a frame's last bit leaves; `None`: there is no room. The frame may be marked.
    #[inline]
    fn queue(&mut self, now: Nanos, head: &mut [u8], tail: u32) -> Option<Nanos> {
        let bytes = head.len() as u32 + tail;
        self.settle(now);
        if self.pacer.free_at() > now {
            let too_many = self.waiting.len() >= self.limit.packets as usize;
            if too_many || self.waiting_bytes + u64::from(bytes) > self.limit.bytes {
                self.full += 1;
                return None;
            }
        }
        let (start, end) = self.pacer.send(self.rate, now, bytes as usize);
        if start > now {
            self.marker.join(self.waiting.len(), head);
            self.waiting.push_back((start, bytes));
            self.waiting_bytes += u64::from(bytes);
        }
        Some(end)
    }
}

#[derive(Debug)]
pub struct Fifo {
    node: NodeId,
    routes: Arc<Routes>,
    ports: Vec<Option<FifoPort>>,
    marker: Marker,
    no_route: u64,
}

impl Fifo {
    /// A router without ports, whose queues have this marker.
    pub fn new(node: NodeId, routes: Arc<Routes>, marker: Marker) -> Fifo {
        Fifo { node, routes, ports: Vec::new(), marker, no_route: 0 }
    }

    pub fn attach(&mut self, port: u16, rate: Option<BitRate>, limit: QueueLimit) {
        let place = usize::from(port);
        if self.ports.len() <= place {
            self.ports.resize_with(place + 1, || None);
        }
        self.ports[place] = Some(FifoPort::new(rate, limit, self.marker));
    }

    /// Handles a frame that arrives.
    pub fn receive(&mut self, head: &mut [u8], tail: u32, exit: &mut Exit<'_>) {
        let Some(port) = self.port_towards(head) else { return };
        if let Some(sent) = self.queue(port, exit.now, head, tail) {
            exit.send(port, sent, head, tail);
        }
    }

    /// The port towards a frame's destination; counts a frame for which there is none.
    #[inline]
    pub fn port_towards(&mut self, head: &[u8]) -> Option<u16> {
        let port = destination(head).and_then(|address| self.routes.port(self.node, address));
        let port = port.filter(|&port| matches!(self.ports.get(usize::from(port)), Some(Some(_))));
        self.no_route += u64::from(port.is_none());
        port
    }

    /// When the last bit of a frame leaves a port; `None`: the port has no room, or no link.
    #[inline]
    pub fn queue(&mut self, port: u16, now: Nanos, head: &mut [u8], tail: u32) -> Option<Nanos> {
        self.ports.get_mut(usize::from(port))?.as_mut()?.queue(now, head, tail)
    }

    /// Calls `each` with a port and the packets and bytes that wait there.
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
