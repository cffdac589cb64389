//! UDP: a source that sends at its own pace, and a sink that counts.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use groupflow_base::{BitRate, Nanos};
use groupflow_switch::core::Pacer;

use super::End;
use crate::random::Random;
use crate::sample::FlowSample;
use crate::spec::{Arrivals, Sizes, UdpSpec};
use crate::wire::{write_datagram, Addresses, Template, PROTOCOL_UDP, TRANSPORT, UDP};

/// Sequence number and time of sending, at the beginning of the payload.
const STAMP: usize = 16;
pub const LEAST_FRAME: u32 = (TRANSPORT + UDP + STAMP) as u32;
/// The largest frame of a source: an IPv4 packet of 65,535 bytes.
pub const LARGEST_FRAME: u32 = 65_535 + 14;

#[derive(Debug)]
pub struct UdpSource {
    addresses: Addresses,
    template: Template,
    spec: UdpSpec,
    random: Random,
    pace: Pacer,
    /// When the next frame comes into being; [`Nanos::MAX`]: none does.
    due: Nanos,
    /// When an on-off source falls silent next.
    silent_at: Nanos,
    stop: Nanos,
    /// Sizes of the frames that wait for the interface, and since when.
    waiting: VecDeque<(Nanos, u32)>,
    /// The most frames that wait.
    limit: u32,
    /// Frames that found no room.
    dropped: u64,
    sent: u64,
    first: Option<Nanos>,
}

impl UdpSource {
    /// A source that begins at `start` and stops at `stop`; at most `limit` frames wait for the interface.
    pub fn new(
        addresses: Addresses, spec: UdpSpec, mut random: Random, (start, stop): (Nanos, Nanos), limit: u32,
    ) -> UdpSource {
        let (due, silent_at) = match spec.arrivals {
            Arrivals::Constant => (start, Nanos::MAX),
            Arrivals::Poisson => (start + random.exponential(mean_gap(&spec)), Nanos::MAX),
            Arrivals::OnOff { on_ns, random: varies, .. } => {
                (start, start + span(&mut random, on_ns, varies))
            }
        };
        UdpSource {
            addresses,
            template: Template::new(&addresses, PROTOCOL_UDP),
            spec,
            random,
            pace: Pacer::default(),
            due: if due < stop { due } else { Nanos::MAX },
            silent_at,
            stop,
            waiting: VecDeque::new(),
            limit,
            dropped: 0,
            sent: 0,
            first: None,
        }
    }

    /// Returns the size of the frame that has come into being, and works out the next.
    fn generate(&mut self) -> u32 {
        let now = self.due;
        let bytes = match self.spec.sizes {
            Sizes::Constant => self.spec.frame_bytes,
            Sizes::Exponential => {
                let size = self.random.exponential(Nanos(u64::from(self.spec.frame_bytes))).0;
                size.clamp(LEAST_FRAME.into(), LARGEST_FRAME.into()) as u32
            }
        };
        let mut next = match self.spec.arrivals {
            Arrivals::Poisson => now + self.random.exponential(mean_gap(&self.spec)),
            _ => self.pace.send(Some(BitRate(self.spec.rate_bps)), now, bytes as usize).1,
        };
        if let Arrivals::OnOff { on_ns, off_ns, random } = self.spec.arrivals {
            while next >= self.silent_at {
                let on_at = self.silent_at + span(&mut self.random, off_ns, random);
                self.silent_at = on_at + span(&mut self.random, on_ns, random);
                next = next.max(on_at);
            }
        }
        self.due = if next < self.stop { next } else { Nanos::MAX };
        bytes
    }
}

impl End for UdpSource {
    /// When the next frame comes into being.
    fn deadline(&self) -> Nanos {
        self.due
    }

    fn wants(&self) -> Nanos {
        self.waiting.front().map_or(Nanos::MAX, |&(since, _)| since)
    }

    fn on_timer(&mut self, now: Nanos) {
        let bytes = self.generate();
        if self.waiting.len() < self.limit as usize {
            self.waiting.push_back((now, bytes));
        } else {
            self.dropped += 1;
        }
    }

    fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        let (_, bytes) = self.waiting.pop_front()?;
        let mut stamp = [0; STAMP];
        stamp[..8].copy_from_slice(&self.sent.to_be_bytes());
        stamp[8..].copy_from_slice(&now.0.to_be_bytes());
        let tail = bytes - LEAST_FRAME;
        write_datagram(&mut self.template, &self.addresses, &stamp, tail, head);
        self.sent += 1;
        self.first.get_or_insert(now);
        Some(tail)
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn sample(&mut self, sample: &mut FlowSample) {
        sample.sent_packets = self.sent;
        sample.first = self.first;
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UdpSink {
    /// Frames received.
    pub packets: u64,
    /// Payload bytes of these frames.
    pub bytes: u64,
    /// The sum of these frames' times from the source.
    pub delay_ns: u128,
    /// Frames that arrived after one that was sent later.
    pub reordered: u64,
    expected: u64,
    latest: Option<Nanos>,
}

impl End for UdpSink {
    fn receive(&mut self, now: Nanos, _from: SocketAddrV4, segment: &[u8], length: u32, _ecn: u8) {
        self.packets += 1;
        self.latest = Some(now);
        self.bytes += u64::from(length) - UDP as u64;
        let Some(stamp) = segment.get(UDP..UDP + STAMP) else { return };
        let mut words = [[0; 8]; 2];
        words[0].copy_from_slice(&stamp[..8]);
        words[1].copy_from_slice(&stamp[8..]);
        let [sequence, sent] = words.map(u64::from_be_bytes);
        self.delay_ns += u128::from((now - Nanos(sent)).0);
        self.reordered += u64::from(sequence < self.expected);
        self.expected = self.expected.max(sequence.saturating_add(1));
    }

    fn sample(&mut self, sample: &mut FlowSample) {
        sample.delivered_packets = self.packets;
        sample.delivered_bytes = Some(self.bytes);
        sample.delay_ns = Some(self.delay_ns);
        sample.latest = self.latest;
        sample.reordered = self.reordered;
    }
}

fn mean_gap(spec: &UdpSpec) -> Nanos {
    Nanos(u64::from(spec.frame_bytes) * 8 * 1_000_000_000 / spec.rate_bps.max(1))
}

/// A time on or off, which is never zero, so that time passes.
fn span(random: &mut Random, nanos: u64, varies: bool) -> Nanos {
    let nanos = Nanos(nanos.max(1));
    if varies {
        random.exponential(nanos).max(Nanos(1))
    } else {
        nanos
    }
}

#[cfg(test)]
#[path = "tests/udp.rs"]
mod tests;
