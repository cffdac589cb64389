//! The parts that all routers without P4 share: the way to every host, and ports with bounded queues, which
//! may mark frames instead of losing them (explicit congestion notification, RFC 3168).

use std::sync::Arc;

use groupflow_base::{BitRate, Nanos};
use groupflow_switch::core::Pacer;

use crate::ids::NodeId;
use crate::routes::Routes;
use crate::sample::NodeSample;
use crate::wire::{ETHERNET, TRANSPORT};

#[derive(Debug, Clone, Copy)]
pub struct QueueLimit {
    /// The most packets that wait.
    pub packets: u32,
    /// The most bytes that wait.
    pub bytes: u64,
}

/// The link behind a port, and the bounds of the queue before it.
#[derive(Debug)]
pub struct PortQueue {
    pub rate: Option<BitRate>,
    pacer: Pacer,
    limit: QueueLimit,
    marker: Marker,
    packets: u32,
    /// Bytes of these frames.
    bytes: u64,
    full: u64,
}

impl PortQueue {
    pub fn new(rate: Option<BitRate>, limit: QueueLimit, marker: Marker) -> PortQueue {
        PortQueue { rate, pacer: Pacer::default(), limit, marker, packets: 0, bytes: 0, full: 0 }
    }

    /// When the link can take the next frame.
    #[inline]
    pub fn free_at(&self) -> Nanos {
        self.pacer.free_at()
    }

    /// Sends a frame as soon as the link can take it; returns when it begins, and when its last bit has left.
    #[inline]
    pub fn send(&mut self, now: Nanos, bytes: u64) -> (Nanos, Nanos) {
        self.pacer.send(self.rate, now, bytes as usize)
    }

    /// Counts a frame that begins to wait, and marks it if it must be marked. False: there is no room.
    #[inline]
    pub fn join(&mut self, head: &mut [u8], tail: u32) -> bool {
        let bytes = self.bytes + head.len() as u64 + u64::from(tail);
        if self.packets >= self.limit.packets || bytes > self.limit.bytes {
            self.full += 1;
            return false;
        }
        self.marker.join(self.packets, head);
        self.packets += 1;
        self.bytes = bytes;
        true
    }

    /// Counts a frame that no longer waits.
    #[inline]
    pub fn leave(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }

    pub fn sample(&self, port: u16, sample: &mut NodeSample<'_>) {
        sample.queue(port, 0, self.packets, self.bytes);
        sample.dropped_by_queue(port, 0, self.full);
        sample.signalled(Some(port), "ecn_marked", self.marker.marked());
    }
}

#[derive(Debug)]
pub struct Ports<P> {
    node: NodeId,
    routes: Arc<Routes>,
    ports: Vec<Option<P>>,
    /// Frames for which there was no way.
    pub no_route: u64,
}

impl<P> Ports<P> {
    pub fn new(node: NodeId, routes: Arc<Routes>) -> Ports<P> {
        Ports { node, routes, ports: Vec::new(), no_route: 0 }
    }

    pub fn attach(&mut self, number: u16, port: P) {
        let place = usize::from(number);
        self.ports.resize_with(self.ports.len().max(place + 1), || None);
        self.ports[place] = Some(port);
    }

    #[inline]
    pub fn get(&mut self, number: u16) -> Option<&mut P> {
        self.ports.get_mut(usize::from(number))?.as_mut()
    }

    /// The port towards a frame's destination; counts a frame for which there is none.
    #[inline]
    pub fn towards(&mut self, head: &[u8]) -> Option<u16> {
        let port = destination(head).and_then(|address| self.routes.port(self.node, address));
        let port = port.filter(|&port| matches!(self.ports.get(usize::from(port)), Some(Some(_))));
        self.no_route += u64::from(port.is_none());
        port
    }

    pub fn iter(&mut self) -> impl Iterator<Item = (u16, &mut P)> {
        (0..).zip(&mut self.ports).filter_map(|(number, port)| Some((number, port.as_mut()?)))
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

/// Offsets in a frame: the IPv4 header's version, its DSCP and ECN fields, and its checksum.
const VERSION_AND_ECN: usize = ETHERNET;
const CHECKSUM: usize = ETHERNET + 10;
const ECN: u16 = 3;

/// Marks the frames that join a queue in which `threshold` frames wait already.
#[derive(Debug, Clone, Copy)]
pub struct Marker {
    threshold: u32,
    marked: u64,
}

impl Marker {
    /// The threshold; `None` marks no frame.
    pub fn new(threshold: Option<u32>) -> Marker {
        Marker { threshold: threshold.unwrap_or(u32::MAX), marked: 0 }
    }

    /// Marks a frame, if it must be marked, that joins a queue in which `waiting` frames wait.
    #[inline]
    pub fn join(&mut self, waiting: u32, head: &mut [u8]) {
        if waiting >= self.threshold && mark(head) {
            self.marked += 1;
        }
    }

    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Marks an IPv4 frame whose sender understands marks. False: the frame is no such frame, or was marked
/// before.
fn mark(head: &mut [u8]) -> bool {
    let Some(ip) = head.get_mut(..TRANSPORT).filter(|head| head[12..14] == [0x08, 0x00]) else {
        return false;
    };
    let old = word(ip, VERSION_AND_ECN);
    let capable = old & ECN == 1 || old & ECN == 2;
    if !capable || old >> 12 != 4 {
        return false;
    }
    let new = old | ECN;
    // RFC 1624, eqn. 3.
    let sum = u32::from(!word(ip, CHECKSUM)) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ip[VERSION_AND_ECN..VERSION_AND_ECN + 2].copy_from_slice(&new.to_be_bytes());
    ip[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    true
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
#[path = "tests/ecn.rs"]
mod tests;
