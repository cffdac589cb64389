//! Who sends a stream into a session: numbers its packets, paces them, answers NACKs that no
//! cache could answer, and knows when everyone has everything.

use std::collections::VecDeque;

use groupflow_base::{BitRate, Datagram, Dest, Nanos, Transmit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::control::{Joined, LeaveReason, Mode, Notice, NoticeKind, Policy, Reply, Role, StartAt};
use crate::flight::Flight;
use crate::ids::{MemberId, Seq, SessionId, FRAME_OVERHEAD, MAX_PAYLOAD};
use crate::member::{Member, MemberConfig, MemberEvent, State};
use crate::nack::Nack;
use crate::polls::Polls;
use crate::rate::{Pacer, RateModel};
use crate::repeats::Repeats;
use crate::rtt::Rtt;
use crate::send_report::{SendError, SenderEvent, SenderStats, Summary};
use crate::source::{Again, Source, SourceError, WrittenSource};
use crate::watch::{Stall, Watch};
use crate::wire::{Flags, Header, Kind, Packet, WireError};

/// Before anything is measured.
const RTT_GUESS: Nanos = Nanos::from_millis(100);
/// Who asks where the stream is is answered at most this often.
const ANNOUNCE_PAUSE: Nanos = Nanos::from_millis(100);
/// The largest window that is believed.
const WINDOW_MAX: u32 = 1 << 16;
/// Who sends what.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The session.
    pub session: SessionId,
    /// The member's name.
    pub name: String,
    /// The session's token.
    pub token: String,
    /// Begin when this many receivers have joined.
    pub receivers: u16,
    /// Never send faster; 0: no bound.
    pub cap: BitRate,
    /// The first packet's number; the source must have the same.
    pub first: Seq,
    /// Give up joining after this; `None`: never.
    pub join_patience: Option<Nanos>,
    /// Seeds the request ids.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not a member yet, or too few receivers.
    Waiting,
    Sending,
    Over,
}

/// The sender of one stream.
#[derive(Debug)]
pub struct Sender {
    member: Member,
    session: SessionId,
    cap: BitRate,
    wanted: u16,
    phase: Phase,
    source: Source,
    stream: MemberId,
    window: u32,
    /// Packets by which the acknowledgement lags on purpose.
    lag: u32,
    receivers: u16,
    watch: Watch,

    flight: Flight,
    repeats: Repeats,
    gone: Option<Seq>,

    model: RateModel,
    pacer: Pacer,
    rtt: Rtt,
    polls: Polls,
    /// Tell everyone where the stream is.
    announce: bool,
    announced: Nanos,

    began: Nanos,
    stats: SenderStats,
    events: VecDeque<SenderEvent>,
}

impl Sender {
    /// A sender that joins at once.
    pub fn new(now: Nanos, config: SenderConfig, source: Source) -> Sender {
        let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
        let mut member = Member::new(MemberConfig {
            session: config.session,
            source: MemberId::NONE,
            role: Role::Sender,
            start: StartAt::Now,
            name: config.name,
            token: config.token,
            port: 0,
            patience: config.join_patience,
            first_request: rng.gen(),
        });
        member.join(now);
        Sender {
            member,
            session: config.session,
            cap: config.cap,
            wanted: config.receivers,
            phase: Phase::Waiting,
            source,
            stream: MemberId::NONE,
            window: 1,
            lag: 0,
            receivers: 0,
            watch: Watch::new(now),
            flight: Flight::new(config.first),
            repeats: Repeats::new(),
            gone: None,
            model: RateModel::new(BitRate(0), config.cap),
            pacer: Pacer::default(),
            rtt: Rtt::default(),
            polls: Polls::default(),
            announce: false,
            announced: Nanos::ZERO,
            began: now,
            stats: SenderStats::default(),
            events: VecDeque::new(),
        }
    }

    /// Takes a datagram in. What is no group packet of this session is refused.
    pub fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), WireError> {
        let packet = Packet::parse(datagram.bytes)?;
        let header = packet.header;
        if header.session != self.session {
            return Err(WireError::Value { field: "session", value: header.session.0.into() });
        }
        match header.kind {
            Kind::Reply => {
                let reply = Reply::parse(packet.payload)?;
                self.member.handle(now, &reply);
                self.member_events(now);
                Ok(())
            }
            Kind::Ack if header.source == self.stream => self.on_ack(now, header),
            Kind::Nack if header.source == self.stream => {
                self.on_nack(now, &Nack::parse(packet.payload)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_ack(&mut self, now: Nanos, header: Header) -> Result<(), WireError> {
        if header.seq > self.flight.next() {
            return Err(WireError::Value { field: "seq", value: header.seq.0.into() });
        }
        self.watch.heard(now);
        if header.stamp != 0 {
            let micros = stamp(now).wrapping_sub(header.stamp);
            let rtt = Nanos::from_micros(micros.into());
            self.rtt.sample(rtt);
            self.model.on_rtt(now, rtt);
        }
        if self.phase != Phase::Sending || !self.flight.acknowledge(header.seq) {
            return Ok(());
        }
        self.source.acknowledged(header.seq);
        let (wire, next) = (self.flight.acked_wire(), self.flight.next());
        self.model.on_ack(now, header.seq, wire, next);
        self.watch.progress(now);
        self.polls.restart(now, self.flight.outstanding() > 0, &self.rtt);
        if self.flight.complete() {
            self.complete(now);
        }
        Ok(())
    }

    fn on_nack(&mut self, now: Nanos, nack: &Nack) {
        if nack.ranges.is_empty() && now >= self.announced + ANNOUNCE_PAUSE {
            // Someone asks where the stream is.
            self.announce = self.phase != Phase::Over;
        }
        if self.phase == Phase::Sending {
            self.stats.nacks += 1;
            self.stats.nacks_dropped += self.repeats.request(nack, self.flight.sent());
        }
    }

    fn member_events(&mut self, now: Nanos) {
        let events: Vec<MemberEvent> = self.member.events().collect();
        for event in events {
            match event {
                MemberEvent::Joined { joined, again, took } => {
                    self.on_joined(now, &joined, again);
                    self.events.push_back(SenderEvent::Joined { joined, again, took });
                    self.set_receivers(now, joined.receivers);
                }
                MemberEvent::Refused { code, text } => self.fail(now, SendError::Refused { code, text }),
                MemberEvent::JoinTimeout => self.fail(now, SendError::JoinTimeout),
                MemberEvent::Receivers(receivers) => self.set_receivers(now, receivers),
                MemberEvent::Notice(notice) => {
                    self.events.push_back(SenderEvent::Notice(notice.clone()));
                    self.on_notice(now, &notice);
                }
                MemberEvent::ControllerSilent(quiet) => {
                    self.events.push_back(SenderEvent::ControllerSilent(quiet));
                }
                MemberEvent::ControllerBack => self.events.push_back(SenderEvent::ControllerBack),
                MemberEvent::Left => {
                    self.phase = Phase::Over;
                    self.events.push_back(SenderEvent::Left);
                }
            }
        }
    }

    fn on_joined(&mut self, now: Nanos, joined: &Joined, again: bool) {
        if !again {
            self.window = joined.window.clamp(1, WINDOW_MAX);
            self.stream = joined.member;
            self.model = RateModel::new(joined.rate, self.cap);
            // Caches that isolate end to end hold half a window back: see `StreamCache`.
            if (joined.mode, joined.policy) == (Mode::EndToEnd, Policy::Isolate) {
                self.lag = self.window / 2;
            }
        } else if joined.member != self.stream {
            self.fail(now, SendError::Renamed);
        } else if self.phase == Phase::Sending {
            // The tree may have been set up anew: ask it where everyone is.
            self.polls.hurry(now);
        }
    }

    fn on_notice(&mut self, now: Nanos, notice: &Notice) {
        self.watch.notice(notice);
        match notice.what {
            NoticeKind::SessionDeleted => return self.fail(now, SendError::SessionDeleted),
            // Who is new learns where the stream is, even before it begins.
            NoticeKind::MemberJoined => self.announce = self.phase == Phase::Waiting,
            _ => {}
        }
        self.set_receivers(now, notice.receivers);
    }

    /// Begins when there are enough receivers, and ends when there are none.
    fn set_receivers(&mut self, now: Nanos, receivers: u16) {
        self.receivers = receivers;
        match self.phase {
            Phase::Waiting if receivers >= self.wanted && self.stream != MemberId::NONE => {
                self.phase = Phase::Sending;
                self.announce = true;
                self.began = now;
                self.watch.progress(now);
                self.pacer.idle(now);
                self.model.begin(now, self.flight.first());
                self.events.push_back(SenderEvent::Started { receivers });
            }
            Phase::Sending if receivers == 0 && self.wanted > 0 => {
                // The last ones may have left with everything while their acknowledgement was lost.
                if self.flight.ended() && self.watch.any_complete() {
                    self.complete(now);
                } else {
                    self.fail(now, SendError::NoReceivers { lost: self.watch.lost() });
                }
            }
            _ => {}
        }
    }

    fn complete(&mut self, now: Nanos) {
        if self.phase != Phase::Sending {
            return;
        }
        self.phase = Phase::Over;
        let took = now - self.began;
        let summary = Summary { took, lost: self.watch.lost(), receivers: self.receivers };
        self.events.push_back(SenderEvent::Complete(summary));
        self.member.leave(now, LeaveReason::Done);
    }

    fn fail(&mut self, now: Nanos, error: SendError) {
        if self.phase == Phase::Over {
            return;
        }
        self.phase = Phase::Over;
        self.events.push_back(SenderEvent::Failed(error));
        self.member.leave(now, LeaveReason::Aborted);
    }

    /// Leaves the session.
    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        self.phase = Phase::Over;
        self.member.leave(now, reason);
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.expire(now);
        self.member.set_position(self.flight.next().0, 0);
        if let Some(transmit) = self.member.poll_transmit(now) {
            return Some(transmit);
        }
        self.member_events(now);
        if std::mem::take(&mut self.announce) {
            self.announced = now;
            return Some(self.sync(now));
        }
        if self.phase != Phase::Sending {
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
        if self.pacer.next() > now {
            return None;
        }
        match self.poll_again(now).transpose().or_else(|| self.poll_fresh(now).transpose()) {
            None => {
                self.pacer.idle(now);
                None
            }
            Some(Ok(transmit)) => Some(transmit),
            Some(Err(error)) => {
                self.fail(now, SendError::Source(error));
                self.member.poll_transmit(now)
            }
        }
    }

    /// A packet that someone misses and no cache has.
    fn poll_again(&mut self, now: Nanos) -> Result<Option<Transmit>, SourceError> {
        while let Some(seq) = self.repeats.pop(now, self.rtt.or(RTT_GUESS)) {
            match self.source.again(seq)? {
                Again::Gone(_) => self.gone = self.gone.or(Some(seq)),
                Again::Piece(piece) => {
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
        let Some(piece) = self.source.fresh(self.flight.next())? else {
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
        Transmit { dest: Dest::Group(self.session.group()), bytes: header.encode(payload) }
    }

    fn sync(&mut self, now: Nanos) -> Transmit {
        let header = self.header(now, Kind::Sync, self.flight.sent().last);
        Transmit { dest: Dest::Group(self.session.group()), bytes: header.encode(&[]) }
    }

    fn tell_gone(&mut self, missing: Seq) -> Transmit {
        let header = Header {
            flags: Flags::GONE,
            stamp: self.flight.acked().0,
            ..Header::new(Kind::Repair, self.session, self.stream)
        };
        let header = Header { seq: missing, member: self.stream, ..header };
        Transmit { dest: Dest::Group(self.session.group()), bytes: header.encode(&[]) }
    }

    fn header(&self, now: Nanos, kind: Kind, seq: Seq) -> Header {
        Header {
            poll: self.polls.number(),
            member: self.stream,
            seq,
            stamp: stamp(now),
            ..Header::new(kind, self.session, self.stream)
        }
    }

    /// Acts on what did not come in time.
    fn expire(&mut self, now: Nanos) {
        if self.phase != Phase::Sending || self.flight.outstanding() == 0 {
            return;
        }
        match self.watch.stall(now, self.member.controller_silent()) {
            Some(Stall::Dead { quiet, who }) => self.fail(now, SendError::NoAcknowledgement { quiet, who }),
            Some(Stall::Waiting(quiet)) => self.events.push_back(SenderEvent::Stalled(quiet)),
            None => {}
        }
    }

    /// When [`Sender::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let member = self.member.next_deadline();
        if self.announce {
            return Some(Nanos::ZERO);
        }
        if self.phase != Phase::Sending {
            return member;
        }
        let has_work = !self.repeats.is_empty() || self.gone.is_some() || self.may_have_fresh();
        let paced = has_work.then(|| self.pacer.next());
        let stall = (self.flight.outstanding() > 0).then(|| self.watch.deadline());
        [member, self.polls.next_deadline(), paced, stall].into_iter().flatten().min()
    }

    fn may_have_fresh(&self) -> bool {
        self.open() && self.source.has_fresh(self.flight.next())
    }

    /// Whether the window lets a new packet out.
    fn open(&self) -> bool {
        let cwnd = self.model.cwnd().saturating_add(self.lag);
        !self.flight.ended() && self.flight.outstanding() < self.window.min(cwnd)
    }

    /// What happened since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = SenderEvent> + '_ {
        self.events.drain(..)
    }

    /// The buffer of a stream or of datagrams; `None` for a file.
    pub fn written(&mut self) -> Option<&mut WrittenSource> {
        match &mut self.source {
            Source::Written(written) => Some(written),
            Source::File(_) => None,
        }
    }

    /// How long the stream is, when that is known.
    pub fn total_bytes(&self) -> Option<u64> {
        self.source.total_bytes()
    }

    /// Whether the membership has ended: nothing more will be sent.
    pub fn over(&self) -> bool {
        self.member.state() == State::Over
    }

    /// Figures for progress reports.
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            acked_bytes: self.flight.acked_bytes(),
            outstanding: self.flight.outstanding(),
            pacing: if self.phase == Phase::Sending { self.model.pacing() } else { BitRate(0) },
            rtt: self.rtt.get(),
            ..self.stats
        }
    }
}

/// The sender's clock on the wire: microseconds, wrapping, never 0 (which means none).
fn stamp(now: Nanos) -> u32 {
    (now.as_micros() as u32).max(1)
}
