//! A member of a group session at a host, or a switch's cache agent: the endpoints of `dataplane/session`.
//!
//! Their payload is real: caches keep it and repair from it, and a receiver checks each byte.

use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;

use groupflow_base::{BitRate, CodecError, Datagram, Machine, Nanos, Transmit};
use groupflow_session::control::StartAt;
use groupflow_session::{Caching, Endpoint, MemberConfig, ReceiveConfig, Receiving, SendConfig, Sending};
use groupflow_transport::source::{SeekableBytes, Source, SourceError};
use groupflow_transport::{MemberId, Seq, SessionId};

use crate::host::MessageSource;
use crate::ids::NodeId;
use crate::sample::{CacheSample, FlowSample};
use crate::spec::{MemberRole, MemberSpec};
use crate::wire::{Addresses, Template, PROTOCOL_UDP, UDP};

/// The most bytes that wait in a sender's buffer for acknowledgement, as at `gfagent send`.
const BUFFER: usize = 8 << 20;

/// The data of a sender: byte n of a stream is known to every receiver.
pub(super) struct PatternBytes(pub(super) u64);

pub(super) fn pattern(at: u64) -> u8 {
    (at ^ at >> 8 ^ at >> 16).wrapping_mul(167) as u8
}

impl SeekableBytes for PatternBytes {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SourceError> {
        (offset..).zip(into).for_each(|(at, byte)| *byte = pattern(at));
        Ok(())
    }
}

/// A member in a simulation: a machine that also tells how far it has come.
trait Simulated: Machine<Error = CodecError> + Debug + Send {
    /// Appends the data that a receiver has in order, and drops events: no application hears them.
    fn settle(&mut self, now: Nanos, into: &mut Vec<u8>);

    /// Writes these bytes of the pattern into the stream, as far as there is room; returns their number.
    fn write(&mut self, _span: Range<u64>) -> u64 {
        0
    }

    /// Adds the figures that only this kind of member has.
    fn measure(&self, sample: &mut FlowSample);

    fn cache(&self, _node: NodeId) -> Option<CacheSample> {
        None
    }
}

impl Simulated for Endpoint<Sending> {
    fn settle(&mut self, _now: Nanos, _into: &mut Vec<u8>) {
        while self.poll_event().is_some() {}
    }

    fn write(&mut self, span: Range<u64>) -> u64 {
        let Some(stream) = self.written() else { return 0 };
        let bytes: Vec<u8> = span.take(stream.room()).map(pattern).collect();
        stream.write(&bytes) as u64
    }

    fn measure(&self, sample: &mut FlowSample) {
        let stats = self.stats();
        sample.finished = Some(self.over());
        sample.sent_packets = stats.packets + stats.retransmitted;
        sample.retransmissions = Some(stats.retransmitted);
    }
}

impl Simulated for Endpoint<Receiving> {
    fn settle(&mut self, now: Nanos, into: &mut Vec<u8>) {
        self.take(now, into);
        while self.poll_event().is_some() {}
    }

    fn measure(&self, sample: &mut FlowSample) {
        sample.finished = Some(self.complete());
    }
}

impl Simulated for Endpoint<Caching> {
    fn settle(&mut self, _now: Nanos, _into: &mut Vec<u8>) {
        while self.poll_event().is_some() {}
    }

    fn measure(&self, _sample: &mut FlowSample) {}

    fn cache(&self, node: NodeId) -> Option<CacheSample> {
        let stats = self.stats();
        Some(CacheSample { node, bytes: stats.cache_bytes, peak_bytes: stats.cache_peak_bytes })
    }
}

/// A member of a session, or a cache agent.
#[derive(Debug)]
pub struct GroupEnd {
    spec: MemberSpec,
    addresses: Addresses,
    seed: u64,
    /// The messages of a sender's application.
    messages: Option<MessageSource>,
    /// Bytes of these that the stream has taken.
    written: u64,
    start: Nanos,
    /// The machine; `None` before the start.
    machine: Option<Box<dyn Simulated>>,
    /// Since when the machine may have something to send; [`Nanos::MAX`]: it said that it has nothing.
    pending: Nanos,
    /// Time must pass between two timer calls.
    not_before: Nanos,
    sent: u64,
    received: u64,
    delivered: u64,
    corrupt: u64,
    malformed: u64,
}

impl GroupEnd {
    /// A member that joins at its start. `addresses` are those of its packets except for the destination.
    pub fn new(
        addresses: Addresses, spec: MemberSpec, seed: u64, messages: Option<MessageSource>,
    ) -> GroupEnd {
        GroupEnd {
            start: Nanos(spec.start_ns),
            spec,
            addresses,
            seed,
            messages,
            written: 0,
            machine: None,
            pending: Nanos::MAX,
            not_before: Nanos::ZERO,
            sent: 0,
            received: 0,
            delivered: 0,
            corrupt: 0,
            malformed: 0,
        }
    }

    pub fn deadline(&self) -> Nanos {
        if self.pending < Nanos::MAX {
            return Nanos::MAX; // it will be polled
        }
        let Some(machine) = &self.machine else { return self.start };
        let deadline = machine.next_deadline().map_or(Nanos::MAX, |time| time.max(self.not_before));
        self.messages.as_ref().map_or(deadline, |messages| messages.due().min(deadline))
    }

    /// Since when the end may have something to send.
    pub fn wants(&self) -> Nanos {
        self.pending
    }

    /// Handles the end's deadline.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.machine.is_none() {
            self.machine = self.begin(now);
        }
        self.pending = self.pending.min(now);
    }

    fn begin(&self, now: Nanos) -> Option<Box<dyn Simulated>> {
        let member = MemberConfig {
            session: SessionId(self.spec.session),
            name: self.spec.name.clone(),
            token: self.spec.token.clone(),
            patience: None,
            seed: self.seed,
        };
        Some(match self.spec.role {
            MemberRole::Sender { bytes, receivers, rate_bps, messages } => {
                let source = match messages {
                    Some(_) => Source::stream(BUFFER, Seq::FIRST),
                    // A pattern can always be read.
                    None => Source::file(Box::new(PatternBytes(bytes)), Seq::FIRST).ok()?,
                };
                let config = SendConfig { receivers, cap: BitRate(rate_bps) };
                Box::new(Endpoint::sending(now, member, config, source))
            }
            MemberRole::Receiver => {
                let (source, start, datagrams) = (MemberId::NONE, StartAt::Now, false);
                Box::new(Endpoint::receiving(
                    now,
                    member,
                    ReceiveConfig { source, start, datagrams, target: BitRate(0) },
                ))
            }
            MemberRole::Cache { max_bytes } => Box::new(Endpoint::caching(now, member, max_bytes)),
        })
    }

    /// Handles a datagram that arrives, from its UDP header on.
    pub fn receive(&mut self, now: Nanos, from: SocketAddrV4, segment: &[u8]) {
        let Some(bytes) = segment.get(UDP..) else { return };
        self.received += 1;
        let Some(machine) = &mut self.machine else { return };
        let result = machine.handle(now, Datagram { from, bytes });
        self.malformed += u64::from(result.is_err());
        self.pending = self.pending.min(now);
    }

    /// Writes the packet to send now, if there is one; returns the length of its tail.
    pub fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        self.not_before = now + Nanos(1);
        self.write_messages(now);
        self.deliver(now);
        let Some(transmit) = self.machine.as_mut().and_then(|machine| machine.poll_transmit(now)) else {
            self.pending = Nanos::MAX;
            return None;
        };
        self.pending = now;
        self.sent += 1;
        self.write(&transmit, head);
        Some(0)
    }

    /// Hands the messages that are due to the stream, as far as there is room.
    fn write_messages(&mut self, now: Nanos) {
        let (Some(messages), Some(machine)) = (&mut self.messages, &mut self.machine) else { return };
        messages.take(now);
        self.written += machine.write(self.written..messages.offered());
    }

    /// Takes the data that a receiver has in order, and checks it.
    fn deliver(&mut self, now: Nanos) {
        let Some(machine) = &mut self.machine else { return };
        let mut bytes = Vec::new();
        machine.settle(now, &mut bytes);
        let wrong = (self.delivered..).zip(&bytes).filter(|(at, &byte)| byte != pattern(*at)).count();
        self.corrupt += wrong as u64;
        self.delivered += bytes.len() as u64;
    }

    fn write(&self, transmit: &Transmit, head: &mut Vec<u8>) {
        write_datagram(&self.addresses, transmit.dest.address(), &transmit.bytes, head);
    }

    /// Datagrams that the machine refused, and bytes that were not those that were sent.
    pub fn malformed(&self) -> u64 {
        self.malformed + self.corrupt
    }

    pub fn sample(&self, sample: &mut FlowSample) {
        sample.sent_packets = self.sent;
        sample.delivered_packets = self.received;
        sample.delivered_bytes = self.delivered;
        sample.offered_bytes = self.messages.as_ref().map(MessageSource::offered);
        self.machine.iter().for_each(|machine| machine.measure(sample));
    }

    pub fn cache(&self, node: NodeId) -> Option<CacheSample> {
        self.machine.as_ref()?.cache(node)
    }
}

/// Writes the frame of a UDP datagram. `addresses` are the sender's, with the next hop's MAC.
pub fn write_datagram(addresses: &Addresses, to: SocketAddrV4, payload: &[u8], head: &mut Vec<u8>) {
    let mac = if to.ip().is_multicast() { multicast_mac(*to.ip()) } else { addresses.destination_mac };
    let frame = Addresses { destination: *to.ip(), destination_mac: mac, ..*addresses };
    let length = (UDP + payload.len()) as u32;
    Template::new(&frame, PROTOCOL_UDP).begin(head, length, 0);
    head.extend_from_slice(&addresses.source_port.to_be_bytes());
    head.extend_from_slice(&to.port().to_be_bytes());
    head.extend_from_slice(&(length as u16).to_be_bytes());
    head.extend_from_slice(&[0; 2]); // no checksum: IPv4 allows it
    head.extend_from_slice(payload);
}

/// RFC 1112: the low 23 bits of the address.
fn multicast_mac(address: Ipv4Addr) -> [u8; 6] {
    let [_, b, c, d] = address.octets();
    [0x01, 0x00, 0x5E, b & 0x7F, c, d]
}
