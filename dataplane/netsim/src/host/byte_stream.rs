//! A connection that carries bytes both ways: at each end a [`TcpSender`] and a [`TcpReceiver`].
//!
//! These count packets of one size. A packet here holds up to that many bytes, and its frame is as long as
//! they are; sequence numbers count a short packet as a full one.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::Nanos;
use serde::Serialize;

use crate::error::BuildError;
use crate::tcp::{
    encode, DataSource, Ecn, RtoConfig, Segment, TcpFlags, TcpReceiver, TcpReceiverConfig, TcpSender,
    TcpSenderConfig, Variant,
};
use crate::wire::{Addresses, Template, PROTOCOL_TCP};

/// Bytes that wait unsent: as many as `gfagent` lets the kernel hold (TCP_NOTSENT_LOWAT).
const UNSENT: usize = 128 << 10;
/// Time after which a SYN without an answer is followed by another, as `gfagent` begins another connection.
const AGAIN: Nanos = Nanos::from_millis(200);
/// How long a connection lasts on which no sent byte is acknowledged, as `gfagent` has it.
const SILENCE: Nanos = Nanos::from_secs(3);
/// Bytes of the longest line of JSON.
pub const LINE: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    Bytes(Vec<u8>),
    /// The peer has closed the connection.
    End,
}

#[derive(Debug)]
pub struct ByteStream {
    sender: TcpSender,
    receiver: TcpReceiver,
    template: Template,
    /// The packets that are not acknowledged, or not sent yet; an empty one is the end.
    packets: VecDeque<Vec<u8>>,
    /// The number of the first of these packets, and of the first that was never sent.
    first: u64,
    unsent: u64,
    /// Packets that came and were not read, by number, and the number of the next to be read.
    arrived: BTreeMap<u64, Vec<u8>>,
    next: u64,
    /// Whether this end, and the peer, have sent the end.
    finished: bool,
    peer_finished: bool,
    /// When the peer was heard last, or there was nothing to be answered.
    heard: Nanos,
}

impl ByteStream {
    /// A connection of these addresses that begins now, with at most `window` packets in flight each way.
    pub fn new(now: Nanos, addresses: &Addresses, window: u32) -> Result<ByteStream, BuildError> {
        let config = TcpSenderConfig {
            source_port: addresses.source_port,
            destination_port: addresses.destination_port,
            data: DataSource::Supplied,
            start: now,
            rto: RtoConfig { initial: AGAIN, ..RtoConfig::LINUX },
            ..TcpSenderConfig::new(Variant::Cubic, window)
        };
        let mut sender = TcpSender::new(config)?;
        sender.on_timer(now);
        Ok(ByteStream {
            sender,
            receiver: TcpReceiver::new(TcpReceiverConfig {
                source_port: addresses.source_port,
                destination_port: addresses.destination_port,
                ..TcpReceiverConfig::for_sender(&config)
            })?,
            template: Template::new(addresses, PROTOCOL_TCP),
            packets: VecDeque::new(),
            first: 0,
            unsent: 0,
            arrived: BTreeMap::new(),
            next: 0,
            finished: false,
            peer_finished: false,
            heard: now,
        })
    }

    /// Whether the peer has answered.
    pub fn is_connected(&self) -> bool {
        self.sender.connected()
    }

    pub fn round_trip(&self) -> Nanos {
        self.sender.stats().srtt
    }

    /// Bytes that can be sent now, after which the connection holds as many as a kernel would.
    pub fn room(&self) -> usize {
        let waiting = self.packets.iter().skip((self.unsent - self.first) as usize).map(Vec::len).sum();
        UNSENT.saturating_sub(waiting)
    }

    /// Whether all that was sent is acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn send(&mut self, mut bytes: &[u8]) {
        let full = self.sender.config().mss as usize;
        let waits = self.unsent < self.first + self.packets.len() as u64;
        if let Some(last) = self.packets.back_mut().filter(|_| waits) {
            let (now, later) = bytes.split_at(bytes.len().min(full - last.len()));
            last.extend_from_slice(now);
            bytes = later;
        }
        bytes.chunks(full).for_each(|packet| self.push(packet.to_vec()));
    }

    /// Ends this direction, behind the bytes that were sent.
    pub fn finish(&mut self) {
        self.finished = true;
        self.push(Vec::new());
    }

    /// Whether both ends have sent all and the end.
    pub fn is_over(&self) -> bool {
        self.finished && self.peer_finished && self.is_acknowledged()
    }

    fn push(&mut self, packet: Vec<u8>) {
        self.packets.push_back(packet);
        self.sender.supply(u64::from(self.sender.config().mss));
    }

    /// The next bytes of the peer, or its end.
    pub fn read(&mut self) -> Option<Arrival> {
        let packet = self.arrived.remove(&self.next)?;
        self.next += 1;
        Some(if packet.is_empty() { Arrival::End } else { Arrival::Bytes(packet) })
    }

    /// Handles a segment of the peer and its payload.
    pub fn on_segment(&mut self, now: Nanos, mut segment: Segment, payload: &[u8]) {
        self.heard = now;
        let opens = segment.flags.has(TcpFlags::SYN) && !segment.flags.has(TcpFlags::ACK);
        if !opens && payload.is_empty() && !segment.flags.has(TcpFlags::FIN) {
            self.sender.on_segment(now, &segment);
            let mss = u64::from(self.sender.config().mss);
            let acknowledged = self.sender.acked() / mss - self.first;
            self.packets.drain(..acknowledged as usize);
            self.first += acknowledged;
            return;
        }
        self.peer_finished |= segment.flags.has(TcpFlags::FIN);
        if !opens {
            segment.payload = self.sender.config().mss;
            if let Some(number) = self.number(segment.seq, self.next) {
                self.arrived.insert(number, payload.to_vec());
            }
        }
        self.receiver.on_segment(now, &segment);
    }

    /// The number of the packet with this sequence number, not before `base`.
    fn number(&self, seq: u32, base: u64) -> Option<u64> {
        let mss = self.sender.config().mss;
        // The SYN has the number 0.
        let distance = seq.wrapping_sub((base as u32).wrapping_mul(mss).wrapping_add(1));
        (distance < 1 << 31).then(|| base + u64::from(distance / mss))
    }

    /// When [`ByteStream::on_timer`] is to be called.
    pub fn deadline(&self) -> Nanos {
        let timers = [self.sender.deadline(), self.receiver.deadline()];
        timers.into_iter().flatten().fold(self.silent_at(), Nanos::min)
    }

    /// When the connection is lost, if its peer stays silent.
    fn silent_at(&self) -> Nanos {
        if self.sender.stats().in_flight > 0 {
            self.heard + SILENCE
        } else {
            Nanos::MAX
        }
    }

    /// Carries out everything due. Returns whether the connection is lost.
    pub fn on_timer(&mut self, now: Nanos) -> bool {
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
        self.silent_at() <= now
    }

    /// Writes the acknowledgement to send now, if there is one.
    pub fn acknowledge(&mut self, now: Nanos, head: &mut Vec<u8>) -> bool {
        let Some(acknowledgement) = self.receiver.poll(now) else { return false };
        self.write(&acknowledgement, &[], head);
        true
    }

    /// Writes the packet to send now, if there is one.
    pub fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> bool {
        let was_idle = self.sender.stats().in_flight == 0;
        let Some(mut segment) = self.sender.poll(now) else { return false };
        if was_idle {
            self.heard = now;
        }
        if segment.flags.has(TcpFlags::SYN) {
            self.write(&segment, &[], head);
            return true;
        }
        let Some(number) = self.number(segment.seq, self.first) else { return false };
        self.unsent = self.unsent.max(number + 1);
        let packet = std::mem::take(&mut self.packets[(number - self.first) as usize]);
        if packet.is_empty() {
            segment.flags = segment.flags.with(TcpFlags::FIN);
        }
        self.write(&segment, &packet, head);
        self.packets[(number - self.first) as usize] = packet;
        true
    }

    fn write(&mut self, segment: &Segment, payload: &[u8], head: &mut Vec<u8>) {
        self.template.begin(head, (segment.header_len() + payload.len()) as u32, Ecn::NotEct as u8);
        encode(segment, head);
        head.extend_from_slice(payload);
    }
}

/// Sends a value as one line of JSON.
pub fn send_line(stream: &mut ByteStream, value: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(value) {
        line.push(b'\n');
        stream.send(&line);
    }
}

#[cfg(test)]
#[path = "tests/byte_stream.rs"]
mod tests;
