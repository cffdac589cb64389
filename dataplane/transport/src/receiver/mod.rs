//! The receiver of one stream: it puts packets in order, asks for missing ones, and acknowledges.

use std::collections::VecDeque;

use groupflow_base::{CodecError, Datagram, Machine, Nanos, Transmit};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

mod incoming;

use incoming::IncomingStream;

use crate::assembly::{FormatError, Placed};
use crate::ids::{MemberId, Seq, SessionId, WINDOW_MAX};
use crate::nack::Nack;
use crate::wire::{Flags, GroupPacket, Header, Kind};

/// Waits before the receiver asks for a stream that it does not hear: the first, and the longest.
const PROBE_MIN: Nanos = Nanos::from_millis(200);
const PROBE_MAX: Nanos = Nanos::from_secs(2);

/// A stream and the receiver's place in its group.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    pub session: SessionId,
    pub member: MemberId,
    /// The stream; 0: the first one that is heard.
    pub source: MemberId,
    /// The most packets that the sender has on their way.
    pub window: u32,
    /// The first packet to deliver; `None`: the first one that is heard.
    pub start: Option<Seq>,
    pub datagrams: bool,
}

/// The reason why a receiver stops before the end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReceiverError {
    /// A packet is missing that no cache and no sender has any more.
    #[error("{missing} is no longer available, the first available one is {available}")]
    Gone { missing: Seq, available: Seq },
    #[error(transparent)]
    Format(#[from] FormatError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiverEvent {
    Started {
        source: MemberId,
        seq: Seq,
    },
    /// The whole stream has arrived in order; its last bytes may still have to be taken.
    Complete,
    Failed(ReceiverError),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Bytes delivered in order.
    pub bytes: u64,
    /// Distinct packets received.
    pub packets: u64,
    /// Packets among these that arrived as REPAIR, or as DATA sent again.
    pub repaired: u64,
    /// Packets among these that arrived as DATA sent again.
    pub retransmitted: u64,
    pub duplicates: u64,
    pub nacks: u64,
    /// Packets that wait for an earlier one.
    pub queued: u64,
    pub datagrams: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReceiverPhase {
    Receiving,
    Complete,
    Over,
}

#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    rng: ChaCha8Rng,
    /// The stream, once its beginning is known.
    stream: Option<IncomingStream>,
    phase: ReceiverPhase,
    started: bool,
    /// When the last packet of the stream came.
    pub last_packet: Option<Nanos>,
    /// When to ask where the stream is, and how often the pause before that was doubled.
    probe_at: Nanos,
    probes: u32,
    stats: ReceiverStats,
    events: VecDeque<ReceiverEvent>,
}

impl Receiver {
    /// A receiver whose delays are drawn from `rng`.
    pub fn new(now: Nanos, config: ReceiverConfig, rng: ChaCha8Rng) -> Receiver {
        let mut receiver = Receiver {
            config: ReceiverConfig { window: config.window.clamp(1, WINDOW_MAX), ..config },
            rng,
            stream: None,
            phase: ReceiverPhase::Receiving,
            started: false,
            last_packet: None,
            probe_at: now + PROBE_MIN,
            probes: 0,
            stats: ReceiverStats::default(),
            events: VecDeque::new(),
        };
        if let Some(start) = receiver.config.start {
            receiver.begin(start);
        }
        receiver
    }

    /// Makes the receiver go on as `member`: its branch may have been set up anew, and is told where the
    /// receiver is.
    pub fn resume(&mut self, now: Nanos, member: MemberId) {
        self.config.member = member;
        if let Some(stream) = self.stream.as_mut() {
            stream.acks.hurry(now);
        }
    }

    /// Stops asking and acknowledging.
    pub fn stop(&mut self) {
        self.phase = ReceiverPhase::Over;
    }

    /// Whether packets of this source belong to the stream.
    fn takes_from(&mut self, source: MemberId) -> bool {
        if self.phase == ReceiverPhase::Over {
            return false;
        }
        if self.config.source == MemberId::NONE {
            self.config.source = source;
        }
        source == self.config.source
    }

    fn on_stream(&mut self, now: Nanos, packet: &GroupPacket<'_>) -> Result<(), CodecError> {
        let header = packet.header;
        let sync = header.kind == Kind::Sync;
        if header.seq > Seq::LAST || (header.seq == Seq::ZERO && !sync) {
            return Err(CodecError::value("seq", header.seq.0));
        }
        if self.stream.is_none() {
            match header.kind {
                Kind::Data => self.begin(header.seq),
                Kind::Sync => self.begin(header.seq.next()),
                _ => return Ok(()),
            }
        }
        self.last_packet = Some(now);
        self.probe_at = now + PROBE_MAX;
        self.probes = u32::MAX;
        let Some(stream) = self.stream.as_mut() else { return Ok(()) };
        if header.kind != Kind::Repair {
            stream.acks.observe(now, &header, &mut self.rng);
        }
        if header.flags.has(Flags::GONE) {
            self.on_gone(header);
        } else if sync {
            stream.sync(header.seq);
            self.progress(now);
        } else {
            self.place(now, packet);
        }
        Ok(())
    }

    fn begin(&mut self, start: Seq) {
        self.stream = Some(IncomingStream::new(start, self.config.window, self.config.datagrams));
    }

    fn place(&mut self, now: Nanos, packet: &GroupPacket<'_>) {
        let Some(stream) = self.stream.as_mut() else { return };
        match stream.packet(now, packet, &mut self.rng) {
            Err(error) => self.fail(error.into()),
            Ok(Placed::Duplicate) => self.stats.duplicates += 1,
            Ok(Placed::NoRoom) => {}
            Ok(Placed::New) => {
                self.count(&packet.header);
                if !self.started {
                    self.started = true;
                    let (source, seq) = (self.config.source, packet.header.seq);
                    self.events.push_back(ReceiverEvent::Started { source, seq });
                }
                self.progress(now);
            }
        }
    }

    fn count(&mut self, header: &Header) {
        self.stats.packets += 1;
        let again = header.kind == Kind::Data && header.flags.has(Flags::RETX);
        self.stats.retransmitted += u64::from(again);
        self.stats.repaired += u64::from(again || header.kind == Kind::Repair);
    }

    /// Follows up on any change of the stream.
    fn progress(&mut self, now: Nanos) {
        let Some(stream) = self.stream.as_mut() else { return };
        let finished = stream.progress(now, &mut self.rng);
        if finished && self.phase == ReceiverPhase::Receiving {
            stream.acks.hurry(now);
            self.phase = ReceiverPhase::Complete;
            self.events.push_back(ReceiverEvent::Complete);
        }
    }

    fn on_gone(&mut self, header: Header) {
        if self.stream.as_ref().is_some_and(|stream| stream.lacks(header.seq)) {
            let (missing, available) = (header.seq, Seq(header.stamp));
            self.fail(ReceiverError::Gone { missing, available });
        }
    }

    fn fail(&mut self, error: ReceiverError) {
        if self.phase == ReceiverPhase::Receiving {
            self.phase = ReceiverPhase::Over;
            self.events.push_back(ReceiverEvent::Failed(error));
        }
    }

    /// Asks where the stream is, by a NACK without ranges. A receiver hears nothing if it joined a stream
    /// that stands still, or if its branch was removed from the stream.
    fn poll_probe(&mut self, now: Nanos) -> Option<Transmit> {
        if self.probe_due()? > now {
            return None;
        }
        self.probes = self.probes.saturating_add(1);
        self.probe_at = now + PROBE_MIN.doubled(self.probes, PROBE_MAX);
        let next = self.stream.as_ref()?.assembly.next;
        let header = Header { seq: next, ..self.header(Kind::Nack) };
        let nack = Nack { next, ranges: Vec::new() };
        self.stats.nacks += 1;
        Some(header.to_group(&nack.encode()))
    }

    fn probe_due(&self) -> Option<Nanos> {
        let waits = self.phase == ReceiverPhase::Receiving
            && self.stream.is_some()
            && self.config.source != MemberId::NONE;
        waits.then_some(self.probe_at)
    }

    fn poll_ack(&mut self, now: Nanos) -> Option<Transmit> {
        let header = self.header(Kind::Ack);
        let header = self.stream.as_mut()?.acks.poll_transmit(now, header)?;
        Some(header.to_group(&[]))
    }

    fn poll_nack(&mut self, now: Nanos) -> Option<Transmit> {
        let nack = self.stream.as_mut()?.poll_nack(now)?;
        self.stats.nacks += 1;
        let seq = nack.ranges.first().map_or(nack.next, |range| range.first);
        let header = Header { seq, ..self.header(Kind::Nack) };
        Some(header.to_group(&nack.encode()))
    }

    fn header(&self, kind: Kind) -> Header {
        Header { member: self.config.member, ..Header::new(kind, self.config.session, self.config.source) }
    }

    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// The stream's source; 0 before a stream is heard.
    pub fn source(&self) -> MemberId {
        self.config.source
    }

    /// The packet that is delivered next; `None` before it is known where the stream begins.
    pub fn next(&self) -> Option<Seq> {
        self.stream.as_ref().map(|stream| stream.assembly.next)
    }

    /// The packet below which all are acknowledged: the receiver has room for a window from there on.
    pub fn acknowledged(&self) -> Option<Seq> {
        self.stream.as_ref().map(|stream| stream.acks.value)
    }

    pub fn lacks_any(&self) -> bool {
        self.stream.as_ref().is_some_and(IncomingStream::lacks_any)
    }

    /// The number of bytes in order that were not taken.
    pub fn ready(&self) -> usize {
        self.stream.as_ref().map_or(0, |s| s.assembly.ready.len())
    }

    /// Moves the bytes in order to the end of `out`. Bytes that are not taken slow the sender.
    pub fn take(&mut self, now: Nanos, out: &mut Vec<u8>) {
        if let Some(stream) = self.stream.as_mut() {
            if !stream.assembly.ready.is_empty() {
                stream.assembly.take(out);
                self.progress(now);
            }
        }
    }

    pub fn complete(&self) -> bool {
        self.stream.as_ref().is_some_and(|s| s.assembly.finished)
    }

    pub fn stats(&self) -> ReceiverStats {
        let stream = self.stream.as_ref();
        ReceiverStats {
            bytes: stream.map_or(0, |s| s.assembly.delivered),
            queued: stream.map_or(0, |s| s.assembly.held() as u64),
            datagrams: stream.map_or(0, |s| s.assembly.datagrams),
            ..self.stats
        }
    }
}

impl Machine for Receiver {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let packet = GroupPacket::of_session(datagram.bytes, self.config.session)?;
        match packet.header.kind {
            Kind::Data | Kind::Repair | Kind::Sync if self.takes_from(packet.header.source) => {
                self.on_stream(now, &packet)
            }
            _ => Ok(()),
        }
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if self.phase == ReceiverPhase::Over {
            return None;
        }
        self.poll_ack(now).or_else(|| self.poll_nack(now)).or_else(|| self.poll_probe(now))
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let stream = self.stream.as_ref().filter(|_| self.phase != ReceiverPhase::Over);
        let stream = stream.and_then(IncomingStream::next_deadline);
        [stream, self.probe_due()].into_iter().flatten().min()
    }
}
