//! A member that sends a stream into its session: begins when enough receivers have joined, ends when all
//! have everything or none is left, and names the node to blame when it cannot go on.

use groupflow_base::{BitRate, Nanos};
use groupflow_transport::sender::{Sender, SenderConfig, SenderError, SenderEvent, SenderStats};
use groupflow_transport::source::{Source, SourceError, WrittenSource};
use groupflow_transport::terms::{Mode, Policy};
use thiserror::Error;

use crate::control::{Joined, LeaveReason, Notice, NoticeKind, Role};
use crate::endpoint::{Endpoint, Part, Seat};
use crate::member::{Member, MemberConfig, MemberEvent, Purpose};

/// The start of the stream, and its rate.
#[derive(Debug, Clone)]
pub struct SendConfig {
    /// Begin when this many receivers have joined.
    pub receivers: u16,
    /// Never send faster; 0: no bound.
    pub cap: BitRate,
}

/// The reason why a stream is given up, besides the end of the membership.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SendError {
    /// After a restart the controller gave the stream another member id.
    #[error("the controller gave this sender another member id")]
    Renamed,
    #[error("no receivers are left{}", names(.lost))]
    NoReceivers { lost: Vec<String> },
    /// No acknowledgement, and a known cause.
    #[error("no acknowledgement for {} s: {who} does not answer", .quiet.as_millis() / 1000)]
    NoAcknowledgement { quiet: Nanos, who: String },
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// A member that was lost and is back is known to have everything within this time, if it does.
const COMPLETE_PATIENCE: Nanos = Nanos::from_secs(1);

fn names(lost: &[String]) -> String {
    match lost {
        [] => String::new(),
        lost => format!(", lost: {}", lost.join(", ")),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// From the first packet to the last acknowledgement.
    pub took: Nanos,
    pub lost: Vec<String>,
    /// Receivers in the session at the end.
    pub receivers: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEvent {
    Member(MemberEvent),
    /// There are enough receivers, the stream begins.
    Started {
        receivers: u16,
    },
    /// No acknowledgement for this long; still trying.
    Stalled(Nanos),
    Complete(Completion),
    Failed(SendError),
}

impl From<MemberEvent> for SendEvent {
    fn from(event: MemberEvent) -> SendEvent {
        SendEvent::Member(event)
    }
}

#[derive(Debug)]
pub struct Sending {
    config: SendConfig,
    /// The source of the stream, until the member has joined and the transport has it.
    source: Option<Source>,
    receivers: u16,
    health: Health,
    /// When everything was acknowledged.
    acknowledged: Option<Nanos>,
    /// The stream is complete or given up.
    ended: bool,
}

impl Endpoint<Sending> {
    /// A member that joins at once, to send `source`.
    pub fn sending(
        now: Nanos, member: MemberConfig, config: SendConfig, source: Source,
    ) -> Endpoint<Sending> {
        let mut rng = member.rng();
        let member = Member::new(now, member, Purpose::new(Role::Sender), &mut rng);
        let (source, health, acknowledged) = (Some(source), Health::default(), None);
        Endpoint::new(
            member,
            None,
            Sending { config, source, receivers: 0, health, acknowledged, ended: false },
        )
    }

    /// The buffer of a stream or of datagrams; `None` for a file.
    pub fn written(&mut self) -> Option<&mut WrittenSource> {
        match &mut self.seat.transport {
            Some(transport) => transport.written(),
            None => self.part.source.as_mut()?.written(),
        }
    }

    pub fn total_bytes(&self) -> Option<u64> {
        match &self.seat.transport {
            Some(transport) => transport.total_bytes(),
            None => self.part.source.as_ref()?.total_bytes(),
        }
    }

    pub fn stats(&self) -> SenderStats {
        self.seat.transport.as_ref().map_or_else(SenderStats::default, Sender::stats)
    }
}

impl Sending {
    fn on_joined(&mut self, now: Nanos, seat: &mut Seat<Sending>, joined: &Joined) {
        let Some(source) = self.source.take() else { return self.on_joined_again(now, seat, joined) };
        // Caches that isolate end to end hold half a window back.
        let holds_back = (joined.mode, joined.policy) == (Mode::EndToEnd, Policy::Isolate);
        let config = SenderConfig {
            session: seat.member.session(),
            stream: joined.member,
            window: joined.window,
            lags: holds_back,
            rate: joined.rate,
            cap: self.config.cap,
        };
        seat.transport = Some(Sender::new(now, config, source));
    }

    fn on_joined_again(&mut self, now: Nanos, seat: &mut Seat<Sending>, joined: &Joined) {
        match seat.transport.as_mut() {
            Some(transport) if transport.stream() == joined.member => {
                transport.hurry(now);
                // Nobody told this sender who was lost while it was away itself.
                let missing = self.receivers.saturating_sub(joined.receivers);
                if missing > 0 && !self.ended {
                    remember(&mut self.health.lost, &format!("{missing} while the sender was cut off"));
                }
            }
            _ => self.fail(now, seat, SendError::Renamed),
        }
    }

    /// Begins when there are enough receivers, and ends when there are none.
    fn set_receivers(&mut self, now: Nanos, seat: &mut Seat<Sending>, receivers: u16) {
        self.receivers = receivers;
        let Some(transport) = seat.transport.as_mut().filter(|_| !self.ended) else { return };
        if transport.waiting() {
            if receivers >= self.config.receivers {
                transport.begin(now);
                self.health.forget_lost(); // nobody was promised a stream before
                seat.push_event(SendEvent::Started { receivers });
            }
        } else if receivers == 0 && self.config.receivers > 0 {
            // The last ones may have left with everything while their acknowledgement was lost.
            if transport.ended() && self.health.any_complete {
                self.complete(now, seat);
            } else {
                self.fail(now, seat, SendError::NoReceivers { lost: self.health.lost.clone() });
            }
        }
    }

    /// Ends the stream once everything is acknowledged. A sender that was cut off hears the controller first,
    /// who knows the receivers that were lost meanwhile.
    fn finish(&mut self, now: Nanos, seat: &mut Seat<Sending>) {
        let Some(since) = self.acknowledged else { return };
        let is_told = seat.member.is_current(now) || seat.member.silent;
        if is_told && (self.health.returned.is_empty() || now >= since + COMPLETE_PATIENCE) {
            self.complete(now, seat);
        }
    }

    fn complete(&mut self, now: Nanos, seat: &mut Seat<Sending>) {
        let took =
            self.acknowledged.unwrap_or(now) - seat.transport.as_ref().map_or(now, |sender| sender.began);
        let lost = [&self.health.lost[..], &self.health.returned].concat();
        let summary = Completion { took, lost, receivers: self.receivers };
        self.end(now, seat, SendEvent::Complete(summary), LeaveReason::Done);
    }

    fn fail(&mut self, now: Nanos, seat: &mut Seat<Sending>, error: SendError) {
        self.end(now, seat, SendEvent::Failed(error), LeaveReason::Aborted);
    }

    fn end(&mut self, now: Nanos, seat: &mut Seat<Sending>, event: SendEvent, reason: LeaveReason) {
        if !self.ended {
            self.stop(seat);
            seat.push_event(event);
            seat.member.leave(now, reason);
        }
    }
}

impl Part for Sending {
    type Transport = Sender;
    type Event = SendEvent;

    fn on_member(&mut self, now: Nanos, seat: &mut Seat<Sending>, event: MemberEvent) {
        match event {
            MemberEvent::Joined { joined, .. } => {
                self.on_joined(now, seat, &joined);
                seat.push_event(event);
                self.set_receivers(now, seat, joined.receivers);
            }
            MemberEvent::Alive { receivers, .. } => self.set_receivers(now, seat, receivers),
            MemberEvent::Notice(notice) => {
                self.health.notice(&notice);
                let (what, receivers, rate) = (notice.what, notice.receivers, notice.rate);
                seat.push_event(MemberEvent::Notice(notice));
                let waiting = seat.transport.as_mut().filter(|transport| transport.waiting());
                match what {
                    // The membership's end follows.
                    NoticeKind::SessionDeleted => return,
                    // A new member learns where the stream is, even before it begins; and its branch may be
                    // the slowest.
                    NoticeKind::MemberJoined => {
                        if let Some(transport) = waiting {
                            transport.announce();
                            transport.hint(rate);
                        }
                    }
                    _ => {}
                }
                self.set_receivers(now, seat, receivers);
            }
            MemberEvent::Failed(_) | MemberEvent::Left => {
                self.stop(seat);
                seat.push_event(event);
            }
            MemberEvent::ControllerSilent(_) | MemberEvent::ControllerBack => seat.push_event(event),
        }
        self.finish(now, seat);
    }

    fn on_transport(&mut self, now: Nanos, seat: &mut Seat<Sending>) {
        use SenderEvent::{Complete, Failed, Stalled, Unanswered};
        while let Some(event) = seat.transport.as_mut().and_then(Sender::poll_event) {
            // A group that answers polls needs no controller for a while.
            let alone = seat.member.silent && !matches!(event, Stalled(_));
            match (event, self.health.culprit(alone)) {
                (Complete, _) => {
                    self.acknowledged = Some(now);
                    self.finish(now, seat);
                }
                (Stalled(quiet) | Unanswered(quiet), None) => seat.push_event(SendEvent::Stalled(quiet)),
                (Failed(SenderError::Source(error)), _) => self.fail(now, seat, error.into()),
                (Stalled(quiet) | Unanswered(quiet) | Failed(SenderError::Silence(quiet)), culprit) => {
                    let who = culprit.unwrap_or_else(|| "the group".to_owned());
                    self.fail(now, seat, SendError::NoAcknowledgement { quiet, who });
                }
            }
        }
        if let Some(transport) = &seat.transport {
            seat.member.set_position(transport.next().0, 0);
        }
    }

    fn stop(&mut self, seat: &mut Seat<Sending>) {
        self.ended = true;
        if let Some(transport) = &mut seat.transport {
            transport.stop();
        }
    }
}

const NAMES: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Health {
    pub(crate) lost: Vec<String>,
    /// Members that were lost, are back, and have not reported that they have everything.
    returned: Vec<String>,
    /// Switches and agents that were lost and are not back.
    trouble: Vec<String>,
    /// Whether some receiver reported that it has everything.
    pub(crate) any_complete: bool,
}

impl Health {
    fn forget_lost(&mut self) {
        self.lost.clear();
        self.returned.clear();
    }

    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice.what {
            NoticeKind::MemberLost => {
                self.returned.retain(|name| *name != notice.text);
                remember(&mut self.lost, &notice.text);
            }
            NoticeKind::MemberJoined => {
                let before = self.lost.len();
                self.lost.retain(|name| *name != notice.text);
                if self.lost.len() < before {
                    remember(&mut self.returned, &notice.text);
                }
            }
            NoticeKind::MemberComplete => {
                self.returned.retain(|name| *name != notice.text);
                self.any_complete = true;
            }
            NoticeKind::SwitchLost | NoticeKind::AgentLost => remember(&mut self.trouble, &notice.text),
            NoticeKind::SwitchBack | NoticeKind::AgentBack => {
                self.trouble.retain(|name| *name != notice.text);
            }
            NoticeKind::MemberLeft | NoticeKind::SessionDeleted => {}
        }
    }

    /// The nodes that are known to be dead, while no acknowledgement comes.
    pub(crate) fn culprit(&self, controller_silent: bool) -> Option<String> {
        if !self.trouble.is_empty() {
            Some(self.trouble.join(", "))
        } else if controller_silent {
            Some("the controller, or the switch this host is connected to,".to_owned())
        } else {
            None
        }
    }
}

fn remember(names: &mut Vec<String>, name: &str) {
    if names.len() < NAMES && !names.iter().any(|n| n == name) {
        names.push(name.to_owned());
    }
}

#[cfg(test)]
#[path = "tests/health.rs"]
mod tests;
