//! A member that receives a stream of its session: reports that it is complete, leaves when it is no longer
//! needed, and gives up when neither the sender nor the controller can be waited for.

use groupflow_base::{BitRate, Nanos};
use groupflow_transport::receiver::{Receiver, ReceiverConfig, ReceiverError, ReceiverEvent, ReceiverStats};
use groupflow_transport::{MemberId, Seq};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::control::{Joined, LeaveReason, Notice, NoticeKind, ReportKind, Role, StartAt};
use crate::endpoint::{Endpoint, Part, Seat};
use crate::member::{Member, MemberConfig, MemberEvent, MembershipState, Purpose};

/// A complete receiver goes on answering polls for this long.
const LINGER: Nanos = Nanos::from_secs(1);
/// After the sender is gone, nothing new for this long means that no more comes.
const ORPHAN_PATIENCE: Nanos = Nanos::from_secs(8);
/// The same when nothing is known to be missing: only packets on their way are waited for.
const ORPHAN_IDLE: Nanos = Nanos::from_secs(1);
/// Neither controller nor stream is heard for this long.
const DEAF_PATIENCE: Nanos = Nanos::from_secs(60);
/// A sender that was cut off together with this receiver has this long to join again.
const REJOIN: Nanos = Nanos::from_secs(2);

#[derive(Debug, Clone)]
pub struct ReceiveConfig {
    /// The stream; 0 leaves it to the controller.
    pub source: MemberId,
    /// The place at which to begin.
    pub start: StartAt,
    pub datagrams: bool,
    /// The rate that the receiver wants from a session that isolates; 0: none.
    pub target: BitRate,
}

/// The reason why a stream is given up, besides the end of the membership.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReceiveError {
    /// The sender is gone and its stream is not complete.
    #[error("the sender {name} is gone before the end of its stream")]
    SenderLost { name: String },
    #[error(transparent)]
    Transport(#[from] ReceiverError),
    #[error("neither the controller nor the sender was heard for {} s", .0.as_millis() / 1000)]
    Deaf(Nanos),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiveEvent {
    Member(MemberEvent),
    Started {
        source: MemberId,
        seq: Seq,
    },
    /// Everything is in order; it may still have to be taken.
    Complete,
    Failed(ReceiveError),
}

impl From<MemberEvent> for ReceiveEvent {
    fn from(event: MemberEvent) -> ReceiveEvent {
        ReceiveEvent::Member(event)
    }
}

#[derive(Debug)]
pub struct Receiving {
    datagrams: bool,
    rng: ChaCha8Rng,
    began: Nanos,
    /// When everything had come.
    completed: Option<Nanos>,
    /// Since when the sender is gone, and its name.
    orphaned: Option<(Nanos, String)>,
    /// The stream was given up, or the membership ended.
    ended: bool,
}

impl Endpoint<Receiving> {
    /// A member that joins at once, to receive a stream.
    pub fn receiving(now: Nanos, member: MemberConfig, config: ReceiveConfig) -> Endpoint<Receiving> {
        let mut rng = member.rng();
        let ReceiveConfig { source, start, datagrams, target } = config;
        let purpose = Purpose { source, start, target, ..Purpose::new(Role::Receiver) };
        let member = Member::new(now, member, purpose, &mut rng);
        let (completed, orphaned) = (None, None);
        let part = Receiving { datagrams, rng, began: now, completed, orphaned, ended: false };
        Endpoint::new(member, None, part)
    }

    /// Bytes in order that were not taken.
    pub fn ready(&self) -> usize {
        self.seat.transport.as_ref().map_or(0, Receiver::ready)
    }

    /// Moves the bytes in order to the end of `out`. Bytes that are not taken slow the sender.
    pub fn take(&mut self, now: Nanos, out: &mut Vec<u8>) {
        if let Some(transport) = self.seat.transport.as_mut() {
            transport.take(now, out);
            self.part.on_transport(now, &mut self.seat);
        }
    }

    pub fn complete(&self) -> bool {
        self.seat.transport.as_ref().is_some_and(Receiver::complete)
    }

    pub fn stats(&self) -> ReceiverStats {
        self.seat.transport.as_ref().map_or_else(ReceiverStats::default, Receiver::stats)
    }
}

impl Receiving {
    fn on_joined(&mut self, now: Nanos, seat: &mut Seat<Receiving>, joined: &Joined) {
        if let Some(transport) = seat.transport.as_mut() {
            transport.resume(now, joined.member);
            let source = transport.source();
            self.see_sender(now, source, joined.source == source);
            if self.completed.is_some() {
                self.report_complete(now, seat, Seq::ZERO);
            }
            return;
        }
        let start = match (joined.start_seq, joined.source) {
            // Nobody sends yet, so nothing was missed.
            (Seq::ZERO, MemberId::NONE) => Some(Seq::FIRST),
            (Seq::ZERO, _) => None,
            (start, _) => Some(start),
        };
        let config = ReceiverConfig {
            session: seat.member.session(),
            member: joined.member,
            source: joined.source,
            window: joined.window,
            start,
            datagrams: self.datagrams,
        };
        seat.transport = Some(Receiver::new(now, config, self.rng.clone()));
    }

    /// Notes whether the controller knows the stream's sender. A notice that the sender left may be lost, or
    /// may have been sent while this host was cut off.
    fn see_sender(&mut self, now: Nanos, source: MemberId, is_member: bool) {
        if is_member || source == MemberId::NONE {
            self.orphaned = None;
        } else {
            let name = format!("(member {})", source.0);
            self.orphaned.get_or_insert_with(|| (now + REJOIN, name));
        }
    }

    fn on_notice(&mut self, now: Nanos, seat: &Seat<Receiving>, notice: &Notice) {
        let source = seat.transport.as_ref().map_or(MemberId::NONE, Receiver::source);
        if source == MemberId::NONE || notice.about != source {
            return;
        }
        match notice.what {
            NoticeKind::MemberLost | NoticeKind::MemberLeft => {
                self.orphaned = Some((now, notice.text.clone()));
            }
            NoticeKind::MemberJoined => self.orphaned = None,
            _ => {}
        }
    }

    fn report_complete(&self, now: Nanos, seat: &mut Seat<Receiving>, next: Seq) {
        let Some(transport) = &seat.transport else { return };
        let about = seat.member.id;
        seat.member.report(now, transport.source(), ReportKind::Complete, about, next.0);
    }

    fn fail(&mut self, now: Nanos, seat: &mut Seat<Receiving>, error: ReceiveError) {
        if !self.ended && self.completed.is_none() {
            self.end(seat);
            seat.push_event(ReceiveEvent::Failed(error));
            seat.member.leave(now, LeaveReason::Aborted);
        }
    }

    fn end(&mut self, seat: &mut Seat<Receiving>) {
        self.ended = true;
        if let Some(transport) = &mut seat.transport {
            transport.stop();
        }
    }

    fn last_packet(&self, seat: &Seat<Receiving>) -> Nanos {
        seat.transport.as_ref().and_then(|receiver| receiver.last_packet).unwrap_or(self.began)
    }

    fn end_of_patience(&self, seat: &Seat<Receiving>) -> Option<Nanos> {
        if self.ended {
            return None;
        }
        match (self.completed, &self.orphaned) {
            (Some(_), _) if seat.member.state != MembershipState::Joined => None,
            // A sender that is gone sends no polls that were to be answered.
            (Some(since), None) => Some(since + LINGER),
            (Some(since), Some((gone, _))) => Some((since + LINGER).min(*gone)),
            (None, Some((gone, _))) => {
                let lacks = seat.transport.as_ref().is_some_and(Receiver::lacks_any);
                let patience = if lacks { ORPHAN_PATIENCE } else { ORPHAN_IDLE };
                Some(self.last_packet(seat).max(*gone) + patience)
            }
            (None, None) if seat.member.silent => Some(self.last_packet(seat) + DEAF_PATIENCE),
            (None, None) => None,
        }
    }
}

impl Part for Receiving {
    type Transport = Receiver;
    type Event = ReceiveEvent;

    fn on_member(&mut self, now: Nanos, seat: &mut Seat<Receiving>, event: MemberEvent) {
        match &event {
            MemberEvent::Joined { joined, .. } => self.on_joined(now, seat, joined),
            MemberEvent::Notice(notice) => self.on_notice(now, seat, notice),
            MemberEvent::Alive { sources, .. } => {
                let source = seat.transport.as_ref().map_or(MemberId::NONE, Receiver::source);
                self.see_sender(now, source, *sources > 0);
            }
            MemberEvent::Failed(_) | MemberEvent::Left => {
                self.end(seat);
                // A stream that is complete stays so, however the membership ends.
                if self.completed.is_some() {
                    return;
                }
            }
            _ => {}
        }
        seat.push_event(event);
    }

    fn on_transport(&mut self, now: Nanos, seat: &mut Seat<Receiving>) {
        while let Some(event) = seat.transport.as_mut().and_then(Receiver::poll_event) {
            match event {
                ReceiverEvent::Started { source, seq } => {
                    seat.push_event(ReceiveEvent::Started { source, seq })
                }
                ReceiverEvent::Complete => {
                    self.completed = Some(now);
                    seat.push_event(ReceiveEvent::Complete);
                    let next = seat.transport.as_ref().and_then(Receiver::next);
                    self.report_complete(now, seat, next.unwrap_or(Seq::ZERO));
                }
                ReceiverEvent::Failed(error) => self.fail(now, seat, error.into()),
            }
        }
        let Some(transport) = &seat.transport else { return };
        seat.member.set_source(transport.source());
        if let Some(next) = transport.acknowledged() {
            seat.member.set_position(next.0, u32::try_from(transport.stats().repaired).unwrap_or(u32::MAX));
        }
    }

    fn expire(&mut self, now: Nanos, seat: &mut Seat<Receiving>) {
        if self.end_of_patience(seat).map_or(true, |end| end > now) {
            return;
        }
        match (self.completed, &self.orphaned) {
            (Some(_), _) => seat.member.leave(now, LeaveReason::Done),
            (None, Some((_, name))) => {
                let name = name.clone();
                self.fail(now, seat, ReceiveError::SenderLost { name });
            }
            (None, None) => self.fail(now, seat, ReceiveError::Deaf(now - self.last_packet(seat))),
        }
    }

    fn next_deadline(&self, seat: &Seat<Receiving>) -> Option<Nanos> {
        self.end_of_patience(seat)
    }

    fn stop(&mut self, seat: &mut Seat<Receiving>) {
        // A receiver that has everything goes on answering polls until it is let go.
        if self.completed.is_none() {
            self.end(seat);
        }
    }
}
