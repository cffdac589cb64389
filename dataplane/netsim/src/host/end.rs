//! One end of a flow.

use std::fmt::Debug;
use std::net::SocketAddrV4;

use groupflow_base::Nanos;

use super::shaper::{Backlog, FlowShaper};
use super::tcp_end::TcpEnd;
use crate::ids::FlowId;
use crate::sample::FlowSample;

/// A source or a sink of packets at a host.
pub trait End: Debug + Send {
    /// When the end has something to do; [`Nanos::MAX`]: never.
    fn deadline(&self) -> Nanos {
        Nanos::MAX
    }

    /// Since when, or from when on, the end may have something to send; [`Nanos::MAX`]: it has nothing.
    fn wants(&self) -> Nanos {
        Nanos::MAX
    }

    /// Carries out everything due.
    fn on_timer(&mut self, _now: Nanos) {}

    /// Handles a packet that arrives; `length` counts from the transport header on, `ecn` are its ECN bits.
    fn receive(&mut self, _now: Nanos, _from: SocketAddrV4, _segment: &[u8], _length: u32, _ecn: u8) {}

    /// Writes the packet to send now, if there is one; returns the length of its tail.
    fn poll(&mut self, _now: Nanos, _head: &mut Vec<u8>) -> Option<u32> {
        None
    }

    /// Frames that found no room before the interface.
    fn dropped(&self) -> u64 {
        0
    }

    /// Packets that could not be read, and bytes that were not those that were sent.
    fn malformed(&self) -> u64 {
        0
    }

    fn sample(&mut self, sample: &mut FlowSample);

    /// The bytes that a cache agent holds, and the most that it ever held.
    fn cache(&self) -> Option<(u64, u64)> {
        None
    }

    fn tcp(&mut self) -> Option<&mut TcpEnd> {
        None
    }
}

#[derive(Debug)]
pub struct FlowEnd {
    pub flow: FlowId,
    /// IPv4's protocol number.
    pub protocol: u8,
    pub port: u16,
    pub endpoint: Box<dyn End>,
    /// The number by which feedback names the flow.
    pub shaped_as: Option<u16>,
    /// The limit of its sending rate.
    pub shaper: FlowShaper,
    /// Where packets wait for the shaper; `None`: in the endpoint.
    pub backlog: Option<Backlog>,
}

impl FlowEnd {
    /// An end at a local port that sends without a limit.
    pub fn new(flow: FlowId, protocol: u8, port: u16, endpoint: Box<dyn End>) -> FlowEnd {
        let shaper = FlowShaper::new();
        FlowEnd { flow, protocol, port, endpoint, shaped_as: None, shaper, backlog: None }
    }

    /// Since when, or from when on, the end has something to send.
    pub fn wants(&self) -> Nanos {
        match &self.backlog {
            Some(backlog) => self.endpoint.wants().min(backlog.since().max(self.shaper.next())),
            None => self.endpoint.wants().max(self.shaper.next()),
        }
    }

    /// Sets the rate (Q26.6 packets/s) that the network tells, which is negative where queues are longer
    /// than the host's.
    pub fn set_rate(&mut self, told: i32) {
        let surplus = self.backlog.as_ref().map_or(0, Backlog::surplus);
        let rate = i64::from(told).saturating_add(surplus);
        self.shaper.set_rate(rate.clamp(0, i64::from(FlowShaper::UNLIMITED) - 1) as u32);
    }

    /// Frames that found no room before the interface.
    pub fn dropped(&self) -> u64 {
        self.endpoint.dropped() + self.backlog.as_ref().map_or(0, |backlog| backlog.dropped)
    }

    /// Writes the packet to send now, if there is one; returns the length of its tail.
    pub fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        let tail = match &mut self.backlog {
            Some(backlog) => {
                while let Some(tail) = self.endpoint.poll(now, head) {
                    backlog.push(now, head, tail);
                }
                if self.shaper.next() > now {
                    return None;
                }
                backlog.pop(head)?
            }
            None => self.endpoint.poll(now, head)?,
        };
        self.shaper.send(now);
        Some(tail)
    }

    pub fn sample(&mut self, sample: &mut FlowSample) {
        self.endpoint.sample(sample);
        if self.shaped_as.is_some() {
            sample.shaped_rate = Some(self.shaper.rate());
        }
    }
}
