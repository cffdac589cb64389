//! One end of a flow.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use groupflow_base::Nanos;

use super::machine_end::MachineEnd;
use super::shaper::FlowShaper;
use super::tcp_end::TcpEnd;
use super::udp::{UdpSink, UdpSource};
use crate::ids::FlowId;
use crate::sample::FlowSample;

#[derive(Debug)]
pub enum EndKind {
    UdpSource {
        source: Box<UdpSource>,
        /// Sizes of the frames that wait for the interface, and since when.
        waiting: VecDeque<(Nanos, u32)>,
        /// The most frames that wait.
        limit: u32,
        /// Frames that found no room.
        dropped: u64,
    },
    UdpSink(UdpSink),
    /// Either end of a TCP connection.
    Tcp(Box<TcpEnd>),
    /// A member of a group session, a cache agent, or a hub or a rim of round multicast.
    Machine(Box<MachineEnd>),
}

#[derive(Debug)]
pub struct FlowEnd {
    pub flow: FlowId,
    /// IPv4's protocol number.
    pub protocol: u8,
    pub port: u16,
    pub kind: EndKind,
    /// The number by which feedback names the flow.
    pub shaped_as: Option<u16>,
    /// The limit of its sending rate.
    pub shaper: FlowShaper,
}

impl FlowEnd {
    /// An end at a local port that sends without a limit.
    pub fn new(flow: FlowId, protocol: u8, port: u16, kind: EndKind) -> FlowEnd {
        FlowEnd { flow, protocol, port, kind, shaped_as: None, shaper: FlowShaper::new() }
    }

    /// When the end has something to do.
    pub fn deadline(&self) -> Nanos {
        match &self.kind {
            EndKind::UdpSource { source, .. } => source.due(),
            EndKind::Tcp(tcp) => tcp.deadline(),
            EndKind::Machine(end) => end.deadline(),
            EndKind::UdpSink(_) => Nanos::MAX,
        }
    }

    /// Since when, or from when on, the end has something to send.
    pub fn wants(&self) -> Nanos {
        let wants = match &self.kind {
            EndKind::UdpSource { waiting, .. } => waiting.front().map_or(Nanos::MAX, |&(since, _)| since),
            EndKind::Tcp(tcp) => tcp.wants(),
            EndKind::Machine(end) => end.wants(),
            EndKind::UdpSink(_) => Nanos::MAX,
        };
        wants.max(self.shaper.next())
    }

    /// Carries out everything due.
    pub fn on_timer(&mut self, now: Nanos) {
        match &mut self.kind {
            EndKind::UdpSource { source, waiting, limit, dropped } => {
                let bytes = source.generate();
                if waiting.len() < *limit as usize {
                    waiting.push_back((now, bytes));
                } else {
                    *dropped += 1;
                }
            }
            EndKind::Tcp(tcp) => tcp.on_timer(now),
            EndKind::Machine(end) => end.on_timer(now),
            EndKind::UdpSink(_) => {}
        }
    }

    /// Handles a packet that arrives; `length` counts from the transport header on.
    pub fn receive(&mut self, now: Nanos, from: SocketAddrV4, segment: &[u8], length: u32, ecn: u8) {
        match &mut self.kind {
            EndKind::UdpSource { .. } => {}
            EndKind::UdpSink(sink) => sink.receive(now, segment, length),
            EndKind::Tcp(tcp) => tcp.receive(now, segment, length, ecn),
            EndKind::Machine(end) => end.receive(now, from, segment),
        }
    }

    /// Writes the packet to send now, if there is one; returns the length of its tail.
    pub fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        let tail = match &mut self.kind {
            EndKind::UdpSource { source, waiting, .. } => {
                let (_, bytes) = waiting.pop_front()?;
                Some(source.write(now, bytes, head))
            }
            EndKind::Tcp(tcp) => tcp.poll(now, head),
            EndKind::Machine(end) => end.poll(now, head),
            EndKind::UdpSink(_) => None,
        };
        if tail.is_some() {
            self.shaper.send(now);
        }
        tail
    }

    /// Frames that found no room before the interface.
    pub fn dropped(&self) -> u64 {
        match &self.kind {
            EndKind::UdpSource { dropped, .. } => *dropped,
            _ => 0,
        }
    }

    /// Packets that could not be read.
    pub fn malformed(&self) -> u64 {
        match &self.kind {
            EndKind::Tcp(tcp) => tcp.malformed(),
            EndKind::Machine(end) => end.malformed(),
            _ => 0,
        }
    }

    pub fn sample(&self, sample: &mut FlowSample) {
        match &self.kind {
            EndKind::UdpSource { source, .. } => sample.sent_packets = source.sent(),
            EndKind::Tcp(tcp) => tcp.sample(sample),
            EndKind::Machine(end) => end.sample(sample),
            EndKind::UdpSink(sink) => {
                sample.delivered_packets = sink.packets;
                sample.delivered_bytes = sink.bytes;
                sample.delay_ns = sink.delay_ns;
                sample.reordered = sink.reordered;
            }
        }
        if self.shaped_as.is_some() {
            sample.shaped_rate = Some(self.shaper.rate());
        }
    }
}
