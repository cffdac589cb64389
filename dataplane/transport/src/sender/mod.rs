//! The sender of one stream: it numbers packets, paces them, answers NACKs that no cache could answer, and
//! knows when the whole group has the stream.

use std::collections::VecDeque;

use groupflow_base::{BitRate, CodecError, Datagram, Machine, Nanos, Transmit};

mod flight; // packets on their way, and packets that were asked for again
mod polls; // polls of the group for acknowledgements, and its silence
mod rate; // the model of the path: pacing rate and congestion window
mod report; // events, errors and figures

use flight::{Flight, Repeats};
use polls::{Polls, Watch};
use rate::{PacketPacer, RateModel};

use crate::ids::{MemberId, Seq, SessionId, FRAME_OVERHEAD, MAX_PAYLOAD, WINDOW_MAX};
use crate::nack::Nack;
use crate::requests::Rtt;
use crate::source::{Source, SourceError, WrittenSource};
use crate::wire::{Flags, GroupPacket, Header, Kind};

pub use report::{SenderError, SenderEvent, SenderStats};

/// The round-trip time that is assumed before one is measured.
const RTT_GUESS: Nanos = Nanos::from_millis(100);
/// The least time between two answers to questions about the stream's position.
const ANNOUNCE_PAUSE: Nanos = Nanos::from_millis(100);

/// A stream and the group that it goes to.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    pub session: SessionId,
    /// The stream: the sender's own id.
    pub stream: MemberId,
    /// The most packets that may be on their way.
    pub window: u32,
    /// Whether the group's caches isolate slow branches end to end: the acknowledgement then lags by half a
    /// window on purpose.
    pub lags: bool,
    /// The path's rate, with which pacing begins; 0: not known.
    pub rate: BitRate,
    /// The pacing rate never exceeds this; 0: no bound.
    pub cap: BitRate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SenderPhase {
    Waiting,
    Sending,
    Over,
}

#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    phase: SenderPhase,
    source: Source,
    watch: Watch,

    flight: Flight,
    repeats: Repeats,
    gone: Option<Seq>,

    model: RateModel,
    pacer: PacketPacer,
    rtt: Rtt,
    polls: Polls,
    /// A SYNC is due, which tells the group where the stream is.
    announce: bool,
    announced: Option<Nanos>,

    /// The time at which the stream began; before that, at which the sender was made.
    pub began: Nanos,
    stats: SenderStats,
    events: VecDeque<SenderEvent>,
}

impl Sender {
    /// A sender that waits for [`Sender::begin`].
    pub fn new(now: Nanos, config: SenderConfig, source: Source) -> Sender {
        Sender {
            phase: SenderPhase::Waiting,
            watch: Watch::new(now),
            flight: Flight::new(source.first()),
            source,
            repeats: Repeats::default(),
            gone: None,
            model: RateModel::new(config.rate, config.cap),
            pacer: PacketPacer::default(),
            rtt: Rtt::default(),
            polls: Polls::default(),
            announce: false,
            announced: None,
            began: now,
            stats: SenderStats::default(),
            events: VecDeque::new(),
            config: SenderConfig { window: config.window.clamp(1, WINDOW_MAX), ..config },
        }
    }

    pub fn begin(&mut self, now: Nanos) {
        self.phase = SenderPhase::Sending;
        self.announce = true;
        self.began = now;
        self.watch.progress(now);
        self.pacer.idle(now);
        self.model.begin(now, self.flight.first);
    }

    /// The stream: the sender's own id.
    pub fn stream(&self) -> MemberId {
        self.config.stream
    }

    pub fn waiting(&self) -> bool {
        self.phase == SenderPhase::Waiting
    }

    /// Takes the rate of the tree's slowest link (0: not known) before the stream begins: when the sender
    /// joined, the tree may have had no branch yet.
    pub fn hint(&mut self, rate: BitRate) {
        if self.waiting() {
            self.model = RateModel::new(rate, self.config.cap);
        }
    }

    /// Tells the group where the stream is, even before it begins.
    pub fn announce(&mut self) {
        self.announce = true;
    }

    /// Asks the group to acknowledge at once, because its tree may have been set up anew.
    pub fn hurry(&mut self, now: Nanos) {
        if self.phase == SenderPhase::Sending {
            self.polls.hurry(now);
        }
    }

    pub fn stop(&mut self) {
        self.phase = SenderPhase::Over;
    }

    fn on_ack(&mut self, now: Nanos, header: Header) -> Result<(), CodecError> {
        if header.seq > self.flight.next {
            self.stats.acks_beyond += 1;
            return Err(CodecError::value("seq", header.seq.0));
        }
        self.watch.heard(now);
        if header.stamp != 0 {
            let micros = stamp(now).wrapping_sub(header.stamp);
            let rtt = Nanos::from_micros(micros.into());
            self.rtt.sample(rtt);
            self.model.on_rtt(now, rtt);
        }
        if self.phase != SenderPhase::Sending || !self.flight.acknowledge(header.seq) {
            return Ok(());
        }
        self.source.acknowledged(header.seq);
        self.model.on_ack(now, header.seq, self.flight.acked_wire, self.flight.next);
        self.watch.progress(now);
        self.polls.restart(now, self.flight.outstanding() > 0, &self.rtt);
        if self.flight.complete() {
            self.end(SenderEvent::Complete);
        }
        Ok(())
    }

    fn on_nack(&mut self, now: Nanos, nack: &Nack) {
        let paused = self.announced.is_some_and(|at| now < at + ANNOUNCE_PAUSE);
        if nack.ranges.is_empty() && !paused {
            // A NACK without ranges asks where the stream is.
            self.announce = self.phase != SenderPhase::Over;
        }
        if self.phase == SenderPhase::Sending {
            self.stats.nacks += 1;
            self.repeats.request(nack, self.flight.sent());
        }
    }

    fn end(&mut self, event: SenderEvent) {
        self.phase = SenderPhase::Over;
        self.events.push_back(event);
    }

    /// The next packet to send again, which is missing at some requester and which no cache has.
    fn poll_again(&mut self, now: Nanos) -> Result<Option<Transmit>, SourceError> {
        while let Some(seq) = self.repeats.pop(now, self.rtt.or(RTT_GUESS)) {
            match self.source.again(seq)? {
                None => self.gone = self.gone.or(Some(seq)),
                Some(piece) => {
                    self.stats.retransmitted += 1;
                    let flags = piece.flags.with(Flags::RETX);
                    return Ok(Some(self.data(now, seq, flags, &piece.payload)));
                }
            }
        }
        Ok(None)
    }

    fn poll_fresh(&mut self, now: Nanos) -> Result<Option<Transmit>, SourceError> {
        if !self.open() {
            return Ok(None);
        }
        let Some(piece) = self.source.fresh(self.flight.next)? else {
            self.model.on_idle();
            return Ok(None);
        };
        if self.flight.outstanding() == 0 {
            self.watch.progress(now);
            self.polls.restart(now, true, &self.rtt);
        }
        let fin = piece.flags.has(Flags::FIN);
        let seq = self.flight.send(piece.payload.len(), fin);
        self.stats.packets += 1;
        if fin {
            self.polls.at_end(now);
        }
        Ok(Some(self.data(now, seq, piece.flags, &piece.payload)))
    }

    fn data(&mut self, now: Nanos, seq: Seq, flags: Flags, payload: &[u8]) -> Transmit {
        debug_assert!(payload.len() <= MAX_PAYLOAD);
        self.pacer.sent(now, payload.len(), self.model.pacing());
        self.stats.sent_bytes += payload.len() as u64;
        self.stats.sent_wire += payload.len() as u64 + FRAME_OVERHEAD;
        let header = Header { flags, ..self.header(now, Kind::Data, seq) };
        header.to_group(payload)
    }

    fn sync(&mut self, now: Nanos) -> Transmit {
        self.header(now, Kind::Sync, self.flight.sent().last).to_group(&[])
    }

    fn tell_gone(&mut self, missing: Seq) -> Transmit {
        let header = Header {
            flags: Flags::GONE,
            stamp: self.flight.acked.0,
            ..Header::new(Kind::Repair, self.config.session, self.config.stream)
        };
        let header = Header { seq: missing, member: self.config.stream, ..header };
        header.to_group(&[])
    }

    fn header(&self, now: Nanos, kind: Kind, seq: Seq) -> Header {
        Header {
            poll: self.polls.number,
            member: self.config.stream,
            seq,
            stamp: stamp(now),
            ..Header::new(kind, self.config.session, self.config.stream)
        }
    }

    /// Acts on acknowledgements that did not come in time.
    fn expire(&mut self, now: Nanos) {
        if self.phase != SenderPhase::Sending || self.flight.outstanding() == 0 {
            return;
        }
        match self.watch.stall(now) {
            Some(event @ SenderEvent::Failed(_)) => self.end(event),
            Some(event) => self.events.push_back(event),
            None => {}
        }
    }

    fn may_have_fresh(&self) -> bool {
        self.open() && self.source.has_fresh(self.flight.next)
    }

    /// Whether the window allows a new packet.
    fn open(&self) -> bool {
        let lag = if self.config.lags { self.config.window / 2 } else { 0 };
        let cwnd = self.model.cwnd().saturating_add(lag);
        !self.flight.ended() && self.flight.outstanding() < self.config.window.min(cwnd)
    }

    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// The next new packet's number.
    pub fn next(&self) -> Seq {
        self.flight.next
    }

    /// Whether the last packet of the stream was sent.
    pub fn ended(&self) -> bool {
        self.flight.ended()
    }

    /// The buffer of a stream or of datagrams; `None` for a file.
    pub fn written(&mut self) -> Option<&mut WrittenSource> {
        self.source.written()
    }

    pub fn total_bytes(&self) -> Option<u64> {
        self.source.total_bytes()
    }

    pub fn stats(&self) -> SenderStats {
        SenderStats {
            acked_bytes: self.flight.acked_bytes,
            outstanding: self.flight.outstanding(),
            pacing: if self.phase == SenderPhase::Sending { self.model.pacing() } else { BitRate(0) },
            rtt: self.rtt.smoothed,
            ..self.stats
        }
    }
}

impl Machine for Sender {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let GroupPacket { header, payload } = GroupPacket::of_session(datagram.bytes, self.config.session)?;
        match header.kind {
            Kind::Ack if header.source == self.config.stream => self.on_ack(now, header)?,
            Kind::Nack if header.source == self.config.stream => self.on_nack(now, &Nack::parse(payload)?),
            _ => {}
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.expire(now);
        if std::mem::take(&mut self.announce) {
            self.announced = Some(now);
            return Some(self.sync(now));
        }
        if self.phase != SenderPhase::Sending {
            return None;
        }
        let outstanding = self.flight.outstanding() > 0;
        if self.polls.poll(now, outstanding, &self.rtt) {
            self.stats.polls += 1;
            return Some(self.sync(now));
        }
        if let Some(missing) = self.gone.take() {
            return Some(self.tell_gone(missing));
        }
        if self.pacer.next > now {
            return None;
        }
        match self.poll_again(now).transpose().or_else(|| self.poll_fresh(now).transpose()) {
            None => {
                self.pacer.idle(now);
                None
            }
            Some(Ok(transmit)) => Some(transmit),
            Some(Err(error)) => {
                self.end(SenderEvent::Failed(error.into()));
                None
            }
        }
    }

    fn next_deadline(&self) -> Option<Nanos> {
        if self.announce {
            return Some(Nanos::ZERO);
        }
        if self.phase != SenderPhase::Sending {
            return None;
        }
        let has_work = !self.repeats.is_empty() || self.gone.is_some() || self.may_have_fresh();
        let paced = has_work.then_some(self.pacer.next);
        let stall = (self.flight.outstanding() > 0).then(|| self.watch.deadline());
        [self.polls.next_deadline(), paced, stall].into_iter().flatten().min()
    }
}

/// The sender's clock on the wire: microseconds, wrapping, never 0 (which means none).
fn stamp(now: Nanos) -> u32 {
    (now.as_micros() as u32).max(1)
}
