//! A byte stream from one host to one other over the group transport, without a session: numbers, pacing,
//! acknowledgements and repair are [`Sender`]'s and [`Receiver`]'s, whose group is the two of them, and
//! nobody is asked to be let in.
//!
//! Packets are the group's ([`crate::wire`]): DATA and SYNC one way, ACK and NACK the other. An ACK has eight
//! bytes of payload: how many bytes came, each packet's once and with [`crate::ids::FRAME_OVERHEAD`], those
//! behind a hole included. From them the sender knows how fast they come; a group's acknowledgement, which
//! switches take together, cannot tell. Whoever carries packets proves who they are from; the header's
//! checksum proves nothing.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{BitRate, CodecError, Datagram, Machine, Nanos};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::ids::{MemberId, Seq, SessionId};
use crate::receiver::{Receiver, ReceiverConfig, ReceiverEvent, ReceiverStats};
use crate::sender::{Sender, SenderConfig, SenderError, SenderEvent, SenderStats};
use crate::source::Source;
use crate::wire;

/// Who sends, and who receives.
const OUTLET: MemberId = MemberId(1);
const INLET: MemberId = MemberId(2);
/// Packets on their way: of some 1,200 bytes they fill 100 Mbit/s at a round trip of 100 ms.
const WINDOW: u32 = 1024;
/// Written and not sent; beyond that the writer waits. What waits here cannot go another way.
const UNSENT: usize = 64 << 10;
/// There are no addresses here.
const NOWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// Where bytes go in.
#[derive(Debug)]
pub struct Outlet {
    sender: Sender,
    failed: Option<SenderError>,
}

impl Outlet {
    /// Its packets have `most` bytes at most, of which the header takes [`wire::HEADER`]; more than that, and
    /// at most an Ethernet frame's.
    pub fn new(now: Nanos, most: usize) -> Outlet {
        let payload = most.saturating_sub(wire::HEADER).clamp(1, crate::ids::MAX_PAYLOAD);
        let config = SenderConfig {
            session: SessionId::default(),
            stream: OUTLET,
            window: WINDOW,
            lags: false,
            rate: BitRate(0),
            cap: BitRate(0),
            alone: true,
        };
        let mut sender = Sender::new(now, config, Source::cut(payload, Seq::FIRST));
        sender.begin(now);
        Outlet { sender, failed: None }
    }

    /// Whether there is room for some more: however much is written then, it is taken.
    pub fn takes(&mut self) -> bool {
        self.failed.is_none() && self.sender.written().is_some_and(|written| written.unsent() < UNSENT)
    }

    /// Appends to the stream.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(written) = self.sender.written() {
            let taken = written.write(bytes);
            debug_assert_eq!(taken, bytes.len());
        }
    }

    /// Whether the other end has all that was written.
    pub fn is_empty(&mut self) -> bool {
        self.sender.written().is_some_and(|written| written.is_empty())
    }

    /// Takes a packet of the other end. What is none is refused, and changes nothing.
    pub fn handle(&mut self, now: Nanos, packet: &[u8]) -> Result<(), CodecError> {
        self.sender.handle(now, Datagram { from: NOWHERE, bytes: packet })
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Vec<u8>> {
        let next = self.sender.poll_transmit(now);
        while let Some(event) = self.sender.poll_event() {
            if let SenderEvent::Failed(error) = event {
                self.failed = Some(error);
            }
        }
        next.filter(|_| self.failed.is_none()).map(|transmit| transmit.bytes)
    }

    /// When [`Outlet::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.sender.next_deadline().filter(|_| self.failed.is_none())
    }

    /// Why nothing more comes out at the other end.
    pub fn failed(&self) -> Option<&SenderError> {
        self.failed.as_ref()
    }

    /// Figures for reports.
    pub fn stats(&self) -> SenderStats {
        self.sender.stats()
    }
}

/// Where they come out.
#[derive(Debug)]
pub struct Inlet {
    receiver: Receiver,
    failed: bool,
}

impl Inlet {
    /// `seed` is that of the random delays before it asks again.
    pub fn new(now: Nanos, seed: u64) -> Inlet {
        let config = ReceiverConfig {
            session: SessionId::default(),
            member: INLET,
            source: OUTLET,
            window: WINDOW,
            start: Some(Seq::FIRST),
            datagrams: false,
            alone: true,
        };
        Inlet { receiver: Receiver::new(now, config, ChaCha8Rng::seed_from_u64(seed)), failed: false }
    }

    /// Takes a packet of the other end. What is none is refused, and changes nothing.
    pub fn handle(&mut self, now: Nanos, packet: &[u8]) -> Result<(), CodecError> {
        let taken = self.receiver.handle(now, Datagram { from: NOWHERE, bytes: packet });
        while let Some(event) = self.receiver.poll_event() {
            self.failed |= matches!(event, ReceiverEvent::Failed(_));
        }
        taken
    }

    /// Appends the bytes that are there, in order, to `out`.
    pub fn take(&mut self, now: Nanos, out: &mut Vec<u8>) {
        self.receiver.take(now, out);
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Vec<u8>> {
        self.receiver.poll_transmit(now).filter(|_| !self.failed).map(|transmit| transmit.bytes)
    }

    /// When [`Inlet::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.receiver.next_deadline().filter(|_| !self.failed)
    }

    /// Nothing more comes out: the other end has forgotten what is missing, or makes no sense.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Figures for reports.
    pub fn stats(&self) -> ReceiverStats {
        self.receiver.stats()
    }
}
