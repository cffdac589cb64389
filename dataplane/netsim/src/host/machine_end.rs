//! A protocol machine at a host, with its application: members of group sessions, hubs and rims of round
//! multicast.
//!
//! Their payload is real: byte n of every stream and file is known, so that each receiver checks it.

use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{CodecError, Datagram, Machine, Nanos, SeekableBytes};

use super::messages::MessageSource;
use super::End;
use crate::sample::{BoneSample, FlowSample};
use crate::wire::{write_datagram, Addresses, Template, PROTOCOL_UDP, UDP};

/// The bytes of a stream or a file.
pub(super) struct PatternBytes(pub(super) u64);

pub(super) fn pattern(at: u64) -> u8 {
    (at ^ at >> 8 ^ at >> 16).wrapping_mul(167) as u8
}

/// The number of bytes from this offset on that are not those of the pattern.
pub(super) fn wrong_bytes(offset: u64, bytes: &[u8]) -> u64 {
    (offset..).zip(bytes).filter(|(at, &byte)| byte != pattern(*at)).count() as u64
}

impl SeekableBytes for PatternBytes {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), String> {
        (offset..).zip(into).for_each(|(at, byte)| *byte = pattern(at));
        Ok(())
    }
}

/// The application at a machine: what it writes, and what it has read.
#[derive(Debug, Default)]
pub struct Application {
    pub messages: Option<MessageSource>,
    /// Bytes of these that the stream has taken; of a hub: of the file that it has sent.
    pub written: u64,
    /// Bytes that a receiver has read.
    pub delivered: u64,
    /// Bytes read that were not those that were sent.
    pub corrupt: u64,
    /// When a sender or a hub began.
    pub first: Option<Nanos>,
    /// When a receiver read its latest bytes, or a transfer to a group was complete.
    pub latest: Option<Nanos>,
    /// Whether a rim has the whole file.
    pub complete: bool,
    /// A hub's transfer, once it is over.
    pub transfer: Option<BoneSample>,
}

pub trait Simulated: Machine<Error = CodecError> + Debug + Send {
    /// Ends the machine's part.
    fn leave(&mut self) {}

    /// Lets the application look at what a datagram has brought.
    fn handled(&mut self, _application: &mut Application) {}

    /// Lets the application write and read, and drops events that it does not hear.
    fn settle(&mut self, _now: Nanos, _application: &mut Application) {}

    /// Adds the figures that only this kind of machine has.
    fn measure(&mut self, _application: &mut Application, _sample: &mut FlowSample) {}

    /// The bytes that a cache agent holds, and the most that it ever held.
    fn cache(&self) -> Option<(u64, u64)> {
        None
    }
}

#[derive(Debug)]
pub struct MachineEnd {
    /// The addresses of its packets, whose destination varies.
    addresses: Addresses,
    machine: Box<dyn Simulated>,
    application: Application,
    start: Nanos,
    /// When the machine leaves; [`Nanos::MAX`]: never, or it has left.
    stop: Nanos,
    /// Whether the start has come; before, the end receives nothing.
    started: bool,
    /// Since when the machine may have something to send; [`Nanos::MAX`]: it said that it has nothing.
    pending: Nanos,
    /// Time must pass between two timer calls.
    not_before: Nanos,
    sent: u64,
    received: u64,
    malformed: u64,
}

impl MachineEnd {
    /// A machine that begins at `start` and leaves at `stop`. `addresses` are those of its packets except for
    /// the destination.
    pub fn new(
        addresses: Addresses, (start, stop): (Nanos, Nanos), machine: Box<dyn Simulated>,
        messages: Option<MessageSource>,
    ) -> MachineEnd {
        MachineEnd {
            addresses,
            machine,
            application: Application { messages, ..Application::default() },
            start,
            stop,
            started: false,
            pending: Nanos::MAX,
            not_before: Nanos::ZERO,
            sent: 0,
            received: 0,
            malformed: 0,
        }
    }
}

impl End for MachineEnd {
    fn deadline(&self) -> Nanos {
        if !self.started {
            return self.start;
        }
        if self.pending < Nanos::MAX {
            return Nanos::MAX; // it will be polled
        }
        let message = self.application.messages.as_ref().map(MessageSource::due);
        let due = self.machine.next_deadline().into_iter().chain(message).fold(self.stop, Nanos::min);
        due.max(self.not_before)
    }

    fn wants(&self) -> Nanos {
        self.pending
    }

    fn on_timer(&mut self, now: Nanos) {
        self.started = true;
        if self.stop <= now {
            self.stop = Nanos::MAX;
            self.machine.leave();
        }
        self.pending = self.pending.min(now);
    }

    fn receive(&mut self, now: Nanos, from: SocketAddrV4, segment: &[u8], _length: u32, _ecn: u8) {
        let Some(bytes) = segment.get(UDP..).filter(|_| self.started) else { return };
        self.received += 1;
        let result = self.machine.handle(now, Datagram { from, bytes });
        self.malformed += u64::from(result.is_err());
        self.machine.handled(&mut self.application);
        self.pending = self.pending.min(now);
    }

    fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        self.not_before = now + Nanos(1);
        self.machine.settle(now, &mut self.application);
        let Some(transmit) = self.machine.poll_transmit(now) else {
            self.pending = Nanos::MAX;
            return None;
        };
        self.pending = now;
        self.sent += 1;
        let addresses = towards(&self.addresses, transmit.dest.address());
        let mut headers = Template::new(&addresses, PROTOCOL_UDP);
        write_datagram(&mut headers, &addresses, &transmit.bytes, 0, head);
        Some(0)
    }

    fn malformed(&self) -> u64 {
        self.malformed + self.application.corrupt
    }

    fn sample(&mut self, sample: &mut FlowSample) {
        sample.sent_packets = self.sent;
        sample.delivered_packets = self.received;
        sample.offered_bytes = self.application.messages.as_ref().map(MessageSource::offered);
        self.machine.measure(&mut self.application, sample);
        (sample.first, sample.latest) = (self.application.first, self.application.latest);
    }

    fn cache(&self) -> Option<(u64, u64)> {
        self.machine.cache()
    }
}

/// The addresses of a packet to one destination.
fn towards(own: &Addresses, to: SocketAddrV4) -> Addresses {
    let mac = if to.ip().is_multicast() { multicast_mac(*to.ip()) } else { own.destination_mac };
    Addresses { destination: *to.ip(), destination_mac: mac, destination_port: to.port(), ..*own }
}

/// RFC 1112: the low 23 bits of the address.
fn multicast_mac(address: Ipv4Addr) -> [u8; 6] {
    let [_, b, c, d] = address.octets();
    [0x01, 0x00, 0x5E, b & 0x7F, c, d]
}
