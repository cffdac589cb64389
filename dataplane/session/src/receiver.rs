//! Who receives a stream: brings packets into order, asks for what is missing, acknowledges.

use std::collections::VecDeque;

use groupflow_base::{Datagram, Dest, Nanos, Transmit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::assembly::Placed;
use crate::control::{Joined, LeaveReason, Notice, NoticeKind, Reply, ReportKind, Role, StartAt};
use crate::ids::{MemberId, Seq, SessionId};
use crate::incoming::Incoming;
use crate::member::{Member, MemberConfig, MemberEvent, State};
use crate::nack::Nack;
use crate::receive_report::{ReceiveError, ReceiverEvent, ReceiverStats};
use crate::wire::{Flags, Header, Kind, Packet, WireError};

/// A complete receiver goes on answering polls for this long.
const LINGER: Nanos = Nanos::from_secs(1);
/// After the sender is gone, nothing new for this long means that no more comes.
const ORPHAN_PATIENCE: Nanos = Nanos::from_secs(8);
/// The same when nothing is known to be missing: only what is on its way is waited for.
const ORPHAN_IDLE: Nanos = Nanos::from_secs(1);
/// Neither controller nor stream is heard for this long.
const DEAF_PATIENCE: Nanos = Nanos::from_secs(60);
/// A stream that is not heard is asked for: soon after joining, later now and then.
const PROBE_MIN: Nanos = Nanos::from_millis(200);
const PROBE_MAX: Nanos = Nanos::from_secs(2);
/// The largest window that is believed.
const WINDOW_MAX: u32 = 1 << 16;

/// Who receives what.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// The session.
    pub session: SessionId,
    /// The stream; 0 leaves it to the controller.
    pub source: MemberId,
    /// The member's name.
    pub name: String,
    /// The session's token.
    pub token: String,
    /// Where to begin.
    pub start: StartAt,
    /// Whether datagrams are expected.
    pub datagrams: bool,
    /// Give up joining after this; `None`: never.
    pub join_patience: Option<Nanos>,
    /// Seeds the random delays.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Receiving,
    Complete(Nanos),
    Over,
}

/// The receiver of one stream.
#[derive(Debug)]
pub struct Receiver {
    member: Member,
    session: SessionId,
    source: MemberId,
    datagrams: bool,
    rng: ChaCha8Rng,
    window: u32,
    /// Once it is known where the stream begins.
    stream: Option<Incoming>,
    phase: Phase,
    started: bool,
    /// Since when the sender is gone, and its name.
    orphaned: Option<(Nanos, String)>,
    last_packet: Nanos,
    /// When to ask where the stream is, and after how long again.
    probe: (Nanos, Nanos),
    stats: ReceiverStats,
    events: VecDeque<ReceiverEvent>,
}

impl Receiver {
    /// A receiver that joins at once.
    pub fn new(now: Nanos, config: ReceiverConfig) -> Receiver {
        let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
        let mut member = Member::new(MemberConfig {
            session: config.session,
            source: config.source,
            role: Role::Receiver,
            start: config.start,
            name: config.name,
            token: config.token,
            port: 0,
            patience: config.join_patience,
            first_request: rng.gen(),
        });
        member.join(now);
        Receiver {
            member,
            session: config.session,
            source: config.source,
            datagrams: config.datagrams,
            rng,
            window: 1,
            stream: None,
            phase: Phase::Receiving,
            started: false,
            orphaned: None,
            last_packet: now,
            probe: (Nanos::MAX, PROBE_MIN),
            stats: ReceiverStats::default(),
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
            Kind::Data | Kind::Repair | Kind::Sync if self.hears(header.source) => {
                self.on_stream(now, &packet)
            }
            _ => Ok(()),
        }
    }

    /// Whether packets of this source belong to the stream. Who joined before the sender takes
    /// the first one.
    fn hears(&mut self, source: MemberId) -> bool {
        if self.phase == Phase::Over || self.member.id() == MemberId::NONE {
            return false;
        }
        if self.source == MemberId::NONE {
            self.source = source;
        }
        source == self.source
    }

    fn on_stream(&mut self, now: Nanos, packet: &Packet<'_>) -> Result<(), WireError> {
        let header = packet.header;
        let sync = header.kind == Kind::Sync;
        if header.seq > Seq::LAST || (header.seq == Seq::ZERO && !sync) {
            return Err(WireError::Value { field: "seq", value: header.seq.0.into() });
        }
        if self.stream.is_none() {
            match header.kind {
                Kind::Data => self.begin(header.seq),
                Kind::Sync => self.begin(header.seq.next()),
                _ => return Ok(()),
            }
        }
        self.last_packet = now;
        self.probe = (now + PROBE_MAX, PROBE_MAX);
        let Some(stream) = self.stream.as_mut() else {
            return Ok(());
        };
        if header.kind != Kind::Repair {
            stream.acks.saw(now, &header, &mut self.rng);
        }
        if header.flags.has(Flags::GONE) {
            self.on_gone(now, header);
        } else if sync {
            stream.sync(header.seq);
            self.progress(now);
        } else {
            self.on_packet(now, packet);
        }
        Ok(())
    }

    fn begin(&mut self, start: Seq) {
        self.stream = Some(Incoming::new(start, self.window, self.datagrams));
    }

    fn on_packet(&mut self, now: Nanos, packet: &Packet<'_>) {
        let Some(stream) = self.stream.as_mut() else {
            return;
        };
        match stream.packet(now, packet, &mut self.rng) {
            Err(error) => self.fail(now, error.into()),
            Ok(Placed::Duplicate) => self.stats.duplicates += 1,
            Ok(Placed::NoRoom) => self.stats.no_room += 1,
            Ok(Placed::New) => {
                self.count(&packet.header);
                if !self.started {
                    self.started = true;
                    let (source, seq) = (self.source, packet.header.seq);
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

    /// After anything moved.
    fn progress(&mut self, now: Nanos) {
        let Some(stream) = self.stream.as_mut() else {
            return;
        };
        let finished = stream.progress(now, &mut self.rng);
        let next = stream.assembly.next();
        if finished && self.phase == Phase::Receiving {
            stream.acks.hurry(now);
            self.phase = Phase::Complete(now);
            self.events.push_back(ReceiverEvent::Complete);
            let (about, value) = (self.member.id(), next.0);
            self.member.report(now, self.source, ReportKind::Complete, about, value);
        }
        let repairs = u32::try_from(self.stats.repaired).unwrap_or(u32::MAX);
        self.member.set_position(next.0, repairs);
    }

    fn on_gone(&mut self, now: Nanos, header: Header) {
        if self.stream.as_ref().is_some_and(|stream| stream.lacks(header.seq)) {
            let (missing, available) = (header.seq, Seq(header.stamp));
            self.fail(now, ReceiveError::Gone { missing, available });
        }
    }

    fn member_events(&mut self, now: Nanos) {
        let events: Vec<MemberEvent> = self.member.events().collect();
        for event in events {
            match event {
                MemberEvent::Joined { joined, again, took } => {
                    self.on_joined(now, &joined, again);
                    self.events.push_back(ReceiverEvent::Joined { joined, again, took });
                }
                MemberEvent::Refused { code, text } => {
                    self.fail(now, ReceiveError::Refused { code, text });
                }
                MemberEvent::JoinTimeout => self.fail(now, ReceiveError::JoinTimeout),
                MemberEvent::Notice(notice) => {
                    self.on_notice(now, &notice);
                    self.events.push_back(ReceiverEvent::Notice(notice));
                }
                MemberEvent::ControllerSilent(quiet) => {
                    self.events.push_back(ReceiverEvent::ControllerSilent(quiet));
                }
                MemberEvent::ControllerBack => self.events.push_back(ReceiverEvent::ControllerBack),
                MemberEvent::Left => {
                    self.phase = Phase::Over;
                    self.events.push_back(ReceiverEvent::Left);
                }
                MemberEvent::Receivers(_) => {}
            }
        }
    }

    fn on_joined(&mut self, now: Nanos, joined: &Joined, again: bool) {
        if again {
            // The branch may have been set up anew: tell it where this receiver is.
            if let Some(stream) = self.stream.as_mut() {
                stream.acks.hurry(now);
            }
            if let Phase::Complete(_) = self.phase {
                self.member.report(now, self.source, ReportKind::Complete, self.member.id(), 0);
            }
            return;
        }
        self.window = joined.window.clamp(1, WINDOW_MAX);
        self.source = joined.source;
        self.probe = (now + PROBE_MIN, PROBE_MIN);
        if joined.start_seq > Seq::ZERO {
            self.begin(joined.start_seq);
        } else if joined.source == MemberId::NONE {
            // Nobody sends yet, so nothing was missed.
            self.begin(Seq::FIRST);
        }
    }

    fn on_notice(&mut self, now: Nanos, notice: &Notice) {
        let about_sender = notice.about == self.source && self.source != MemberId::NONE;
        match notice.what {
            NoticeKind::SessionDeleted if self.phase == Phase::Receiving => {
                self.fail(now, ReceiveError::SessionDeleted);
            }
            NoticeKind::SessionDeleted => self.phase = Phase::Over,
            NoticeKind::MemberLost | NoticeKind::MemberLeft if about_sender => {
                self.orphaned = Some((now, notice.text.clone()));
            }
            NoticeKind::MemberJoined if about_sender => self.orphaned = None,
            _ => {}
        }
    }

    fn fail(&mut self, now: Nanos, error: ReceiveError) {
        if self.phase != Phase::Receiving {
            return;
        }
        self.phase = Phase::Over;
        self.events.push_back(ReceiverEvent::Failed(error));
        self.member.leave(now, LeaveReason::Aborted);
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.expire(now);
        if let Some(transmit) = self.member.poll_transmit(now) {
            return Some(transmit);
        }
        self.member_events(now);
        if self.phase == Phase::Over {
            return None;
        }
        self.poll_ack(now).or_else(|| self.poll_nack(now)).or_else(|| self.poll_probe(now))
    }

    /// Asks where the stream is: a NACK without ranges. Who joined a stream that stands still, or
    /// whose branch was taken out of it, hears nothing by itself.
    fn poll_probe(&mut self, now: Nanos) -> Option<Transmit> {
        if self.probe_due()? > now {
            return None;
        }
        let (_, pause) = self.probe;
        let pause = Nanos(pause.0.saturating_mul(2)).min(PROBE_MAX);
        self.probe = (now + pause, pause);
        let next = self.stream.as_ref()?.assembly.next();
        let header = Header { seq: next, ..self.header(Kind::Nack) };
        let nack = Nack { next, ranges: Vec::new() };
        self.stats.nacks += 1;
        Some(self.to_group(header, &nack.encode()))
    }

    fn probe_due(&self) -> Option<Nanos> {
        let waits = self.phase == Phase::Receiving && self.stream.is_some() && self.source != MemberId::NONE;
        waits.then_some(self.probe.0)
    }

    fn poll_ack(&mut self, now: Nanos) -> Option<Transmit> {
        let header = self.header(Kind::Ack);
        let header = self.stream.as_mut()?.acks.poll_transmit(now, header)?;
        Some(self.to_group(header, &[]))
    }

    fn poll_nack(&mut self, now: Nanos) -> Option<Transmit> {
        let nack = self.stream.as_mut()?.poll_nack(now)?;
        self.stats.nacks += 1;
        let seq = nack.ranges.first().map_or(nack.next, |range| range.first);
        let header = Header { seq, ..self.header(Kind::Nack) };
        Some(self.to_group(header, &nack.encode()))
    }

    fn to_group(&self, header: Header, payload: &[u8]) -> Transmit {
        let dest = Dest::Group(self.session.group());
        Transmit { dest, bytes: header.encode(payload) }
    }

    fn header(&self, kind: Kind) -> Header {
        Header { member: self.member.id(), ..Header::new(kind, self.session, self.source) }
    }

    /// Acts on what did not come in time.
    fn expire(&mut self, now: Nanos) {
        if self.end_of_patience().map_or(true, |end| end > now) {
            return;
        }
        match (self.phase, &self.orphaned) {
            (Phase::Complete(_), _) => self.leave(now, LeaveReason::Done),
            (Phase::Receiving, Some((_, name))) => {
                let name = name.clone();
                self.fail(now, ReceiveError::SenderLost { name });
            }
            (Phase::Receiving, None) => self.fail(now, ReceiveError::Deaf(now - self.last_packet)),
            (Phase::Over, _) => {}
        }
    }

    fn end_of_patience(&self) -> Option<Nanos> {
        match (self.phase, &self.orphaned) {
            (Phase::Over, _) => None,
            (Phase::Complete(_), _) if self.member.state() != State::Joined => None,
            // Whose sender is gone need not answer polls.
            (Phase::Complete(since), None) => Some(since + LINGER),
            (Phase::Complete(since), Some((gone, _))) => Some((since + LINGER).min(*gone)),
            (Phase::Receiving, Some((gone, _))) => {
                let lacks = self.stream.as_ref().is_some_and(Incoming::lacks_any);
                let patience = if lacks { ORPHAN_PATIENCE } else { ORPHAN_IDLE };
                Some(self.last_packet.max(*gone) + patience)
            }
            (Phase::Receiving, None) if self.member.controller_silent() => {
                Some(self.last_packet + DEAF_PATIENCE)
            }
            (Phase::Receiving, None) => None,
        }
    }

    /// Leaves the session.
    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        self.member.leave(now, reason);
        self.phase = match self.phase {
            Phase::Receiving => Phase::Over,
            other => other,
        };
    }

    /// When [`Receiver::poll_transmit`] has something to do next.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let stream = self.stream.as_ref().filter(|_| self.phase != Phase::Over);
        let stream = stream.and_then(Incoming::next_deadline);
        let probe = self.probe_due();
        [self.member.next_deadline(), stream, probe, self.end_of_patience()].into_iter().flatten().min()
    }

    /// What happened since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = ReceiverEvent> + '_ {
        self.events.drain(..)
    }

    /// Bytes in order that were not taken.
    pub fn ready(&self) -> usize {
        self.stream.as_ref().map_or(0, |s| s.assembly.ready().len())
    }

    /// Moves the bytes in order to the end of `out`. Who does not take slows the sender.
    pub fn take(&mut self, now: Nanos, out: &mut Vec<u8>) {
        if let Some(stream) = self.stream.as_mut() {
            if !stream.assembly.ready().is_empty() {
                stream.assembly.take(out);
                self.progress(now);
            }
        }
    }

    /// Whether everything was delivered.
    pub fn complete(&self) -> bool {
        self.stream.as_ref().is_some_and(|s| s.assembly.finished())
    }

    /// Whether the membership has ended: nothing more will be sent.
    pub fn over(&self) -> bool {
        self.member.state() == State::Over
    }

    /// Figures for progress reports.
    pub fn stats(&self) -> ReceiverStats {
        let stream = self.stream.as_ref();
        ReceiverStats {
            bytes: stream.map_or(0, |s| s.assembly.delivered()),
            queued: stream.map_or(0, |s| s.assembly.held() as u64),
            datagrams: stream.map_or(0, |s| s.assembly.datagrams()),
            ..self.stats
        }
    }
}
