//! The hub: the machine that sends files in rounds.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use groupflow_base::{CodecError, Datagram, Dest, Machine, Nanos, Transmit};

use super::group::RimGroup;
use super::job::{Job, Offer, TransferOutcome, TransferReport};
use super::message::{
    Body, FileName, Message, Method, Reception, Repair, RimId, TransferId, Verdict, MAX_PACKET,
};
use super::size::SizeControl;
use super::states::{allowed, HubState, HUB};

mod rounds;

/// The most files that may wait.
const MAX_QUEUED: usize = 1024;
/// The most answers to wishes that may wait to be sent.
const MAX_ANSWERS: usize = 256;

/// The settings of a hub. In JSON, times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// The multicast address on which rims listen.
    pub group: SocketAddrV4,
    pub method: Method,
    pub repair: Repair,
    /// Payload bytes of every packet, or of the first round's packets.
    pub packet: u16,
    /// The smallest and the largest payload to which the size is adapted.
    pub sizes: (u16, u16),
    pub per_round: u16,
    /// Time from one packet to the next.
    pub interval: Nanos,
    /// How long the hub gathers JOIN messages.
    pub join_wait: Nanos,
    /// How long the hub gathers reception results after a round's last packet.
    pub result_wait: Nanos,
    /// The time by which a packet may be late before a rim reports.
    pub grace: Nanos,
    /// With more rims than this, only some of them answer.
    pub crowd: usize,
    /// In that case, answers are spread over this much time for each rim.
    pub per_answer: Nanos,
    /// Requests in a row that a rim may leave unanswered before it is dropped.
    pub patience: u8,
    pub max_rims: usize,
    /// Addresses of the rims, for unicast.
    pub targets: Vec<SocketAddrV4>,
    /// How often an idle hub announces its presence; `None`: never.
    #[serde(default)]
    pub announce: Option<Nanos>,
    /// One less than the number of the first transfer.
    #[serde(default)]
    pub transfer: TransferId,
}

/// A hub that is called late makes up for at most this much time; more would be a burst.
const CATCH_UP: Nanos = Nanos::from_millis(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubEvent {
    /// A rim wants a file; [`Hub::answer`] sends the answer.
    Asked {
        rim: RimId,
        from: SocketAddrV4,
        name: FileName,
    },
    /// A rim was dropped because it did not answer.
    Lost(RimId),
    Ended(TransferReport),
}

/// A hub. The zero of its clock is the caller's choice.
pub struct Hub {
    config: HubConfig,
    state: HubState,
    queue: VecDeque<Offer>,
    transfer: TransferId,
    job: Option<Job>,
    group: RimGroup,
    /// When the machine next acts without being called.
    deadline: Nanos,
    /// When the hub next announces its presence, if it is idle then.
    announce_at: Nanos,
    outgoing: VecDeque<Transmit>,
    events: VecDeque<HubEvent>,
    /// The time between packets of the next file.
    interval: Nanos,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("state", &self.state).field("transfer", &self.transfer).finish()
    }
}

impl Hub {
    /// A hub that has nothing to send.
    pub fn new(mut config: HubConfig) -> Hub {
        config.packet = config.packet.clamp(1, MAX_PACKET);
        config.sizes = (config.sizes.0.clamp(1, MAX_PACKET), config.sizes.1.clamp(1, MAX_PACKET));
        config.per_round = config.per_round.max(1);
        Hub {
            state: HubState::Idle,
            queue: VecDeque::new(),
            transfer: config.transfer,
            job: None,
            group: RimGroup::default(),
            deadline: Nanos::MAX,
            announce_at: config.announce.map_or(Nanos::MAX, |_| Nanos::ZERO),
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            interval: config.interval,
            config,
        }
    }

    /// Sets the time between packets, from the next file on: rims know that of the file being sent.
    pub fn set_interval(&mut self, interval: Nanos) {
        self.interval = interval;
    }

    /// Queues a file; returns the file if too many wait already.
    pub fn push(&mut self, offer: Offer) -> Result<(), Offer> {
        if self.queue.len() >= MAX_QUEUED {
            return Err(offer);
        }
        self.queue.push_back(offer);
        if self.state == HubState::Idle {
            self.deadline = Nanos::ZERO;
        }
        Ok(())
    }

    /// Payload bytes of the transfer sent so far.
    pub fn sent(&self) -> u64 {
        self.job.as_ref().map_or(0, |job| job.report.sent)
    }

    pub fn sending(&self) -> Option<&FileName> {
        self.job.as_ref().map(Job::name)
    }

    /// Bytes of the current file that no rim is known to lack.
    pub fn done(&self) -> u64 {
        self.job.as_ref().map_or(0, Job::done)
    }

    /// Answers a rim's wish.
    pub fn answer(&mut self, to: SocketAddrV4, rim: RimId, name: FileName, verdict: Verdict) {
        if self.outgoing.len() >= MAX_ANSWERS {
            return; // the rim will ask again
        }
        let answer = Message { transfer: TransferId(0), body: Body::Answer { rim, name, verdict } };
        self.outgoing.push_back(Transmit { dest: Dest::Host(to), bytes: answer.encode() });
    }

    pub fn events(&mut self) -> impl Iterator<Item = HubEvent> + '_ {
        self.events.drain(..)
    }

    /// Announces the hub's presence to all rims.
    fn announce(&mut self, now: Nanos) {
        self.announce_at = self.config.announce.map_or(Nanos::MAX, |every| now + every);
        let bytes = Message { transfer: self.transfer, body: Body::Here }.encode();
        let to = match self.config.method {
            Method::Unicast => self.config.targets.as_slice(),
            Method::Scheduled | Method::Unscheduled => std::slice::from_ref(&self.config.group),
        };
        let transmits = to.iter().map(|&to| Transmit { dest: Dest::Host(to), bytes: bytes.clone() });
        self.outgoing.extend(transmits);
    }

    fn go(&mut self, to: HubState) {
        debug_assert!(allowed(HUB, &self.state, &to), "{:?} to {to:?}", self.state);
        self.state = to;
    }

    fn send(&mut self, body: Body) {
        let to = match (self.config.method, &self.job) {
            (Method::Unicast, Some(job)) => self.config.targets[job.target],
            _ => self.config.group,
        };
        let bytes = Message { transfer: self.transfer, body }.encode();
        self.outgoing.push_back(Transmit { dest: Dest::Host(to), bytes });
    }

    /// Begins the next file's transfer.
    fn begin(&mut self, now: Nanos) {
        self.deadline = Nanos::MAX;
        let Some(offer) = self.queue.pop_front() else { return };
        self.transfer = TransferId(self.transfer.0.wrapping_add(1));
        self.group = RimGroup::new(self.config.max_rims);
        self.config.interval = self.interval;
        let HubConfig { packet, sizes: (least, most), interval, .. } = self.config;
        let sizes = match self.config.method {
            Method::Scheduled => SizeControl::new(packet, least, most, interval),
            _ => SizeControl::new(packet, packet, packet, interval),
        };
        self.job = Some(Job::new(offer, sizes, now));
        match self.config.method {
            Method::Scheduled => {
                self.go(HubState::Joining);
                self.call(now);
            }
            Method::Unicast if self.config.targets.is_empty() => {
                self.go(HubState::Describing);
                self.go(HubState::Sending);
                self.end(now, TransferOutcome::Nobody);
            }
            Method::Unscheduled | Method::Unicast => self.start(now),
        }
    }

    /// Announces the multicast to all rims.
    fn call(&mut self, now: Nanos) {
        // The announcement and the answers need time to travel; half of the wait is left for that.
        let spread = Nanos(self.config.join_wait.0 / 2);
        self.send(Body::IpmSend { spread_ms: millis(spread) });
        self.deadline = now + self.config.join_wait;
    }

    /// Ends the time to join.
    fn on_joined(&mut self, now: Nanos) {
        let patience = self.config.patience;
        let Some(job) = &mut self.job else { return };
        if !self.group.is_empty() {
            return self.start(now);
        }
        job.silent += 1;
        if job.silent >= patience {
            return self.end(now, TransferOutcome::Nobody);
        }
        self.go(HubState::Joining);
        self.call(now);
    }

    /// Opens the first round, for all rims or (unicast) for one.
    fn start(&mut self, now: Nanos) {
        let crowded = self.group.len() > self.config.crowd;
        let Some(job) = &mut self.job else { return };
        if crowded {
            job.window = Nanos(self.config.per_answer.0 * self.group.len() as u64);
        }
        job.restart();
        job.report.copies += 1;
        self.go(HubState::Describing);
        self.describe();
        if self.job.as_ref().is_some_and(|job| job.lacks.is_empty()) {
            return self.ask(now);
        }
        self.open_round(now);
    }

    fn describe(&mut self) {
        let Some(job) = &mut self.job else { return };
        job.describe = false;
        let control = job.control(&self.config);
        self.send(Body::Control(control));
    }

    /// Handles a JOIN: the rim takes part, or has not received the control parameters.
    fn on_join(&mut self, rim: RimId) {
        if self.config.method == Method::Scheduled {
            // A rim that joins within the first round heard the announcement, or came soon after it, so that
            // the others need not go first.
            let late = self.job.as_ref().is_some_and(|job| job.round > 1);
            self.group.join(rim, late);
        }
        let Some(job) = &mut self.job else { return };
        if self.state != HubState::Joining && !std::mem::replace(&mut job.describe, true) {
            let control = job.control(&self.config);
            self.send(Body::Control(control));
        }
    }

    fn on_leave(&mut self, now: Nanos, rim: RimId, complete: bool, from: SocketAddrV4) {
        self.group.leave(rim, complete);
        if let Some(job) = self.job.as_mut().filter(|_| self.config.method == Method::Unicast) {
            if from == self.config.targets[job.target] {
                if !std::mem::replace(&mut job.declined, true) {
                    job.report.copies -= 1;
                    job.report.without.extend((!complete).then(|| from.to_string()));
                }
                job.planned.clear();
            }
        }
        self.settle(now);
    }

    fn on_result(&mut self, now: Nanos, result: &Reception, from: SocketAddrV4) {
        let Some(job) = &mut self.job else { return };
        job.report.answers += 1;
        // One interval passes after the round's last packet; over a short path answers arrive within it.
        let sent = self.state == HubState::Sending && job.planned.is_empty();
        let listening = sent || matches!(self.state, HubState::Gathering | HubState::Asking);
        if self.config.method == Method::Unicast {
            if from != self.config.targets[job.target] {
                return;
            }
            self.group.join(result.rim, false);
        } else if self.config.method == Method::Scheduled {
            // The rim's JOIN may have been lost without the rim's knowing.
            self.group.join(result.rim, job.round > 1);
        }
        // A complete rim stays complete; a result of an earlier round asks for nothing new.
        if !result.complete && (result.round != job.round || !listening) {
            return;
        }
        let asks_more = self.group.on_result(result);
        if asks_more && job.window > Nanos::ZERO {
            let (round, lacks) = (job.round, self.group.asked());
            self.send(Body::Heard { round, lacks });
        }
        self.settle(now);
    }

    /// Goes on as soon as all rims have answered.
    fn settle(&mut self, now: Nanos) {
        if !matches!(self.state, HubState::Gathering | HubState::Asking) {
            return;
        }
        let all_answered = match self.config.method {
            Method::Scheduled => self.group.all_answered(),
            Method::Unscheduled => false,
            Method::Unicast => self.group.answers > 0 || self.job.as_ref().is_some_and(|job| job.declined),
        };
        if all_answered {
            self.deadline = now;
        }
    }

    fn end(&mut self, now: Nanos, outcome: TransferOutcome) {
        let complete = outcome == TransferOutcome::Done;
        self.send(Body::End { complete });
        self.go(HubState::Idle);
        self.deadline = if self.queue.is_empty() { Nanos::MAX } else { now };
        let Some(mut job) = self.job.take() else { return };
        if self.config.method != Method::Unicast {
            job.report.complete = self.group.complete();
            job.report.without = self.group.let_go();
        }
        (job.report.ended, job.report.outcome) = (now, outcome);
        self.events.push_back(HubEvent::Ended(job.report));
        self.group = RimGroup::default();
    }
}

impl Machine for Hub {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let Message { transfer, body } = Message::parse(datagram.bytes)?;
        if let Body::Ask { rim, name } = body {
            if self.events.len() < MAX_ANSWERS {
                self.events.push_back(HubEvent::Asked { rim, from: datagram.from, name });
            }
            return Ok(());
        }
        if transfer != self.transfer || self.job.is_none() {
            return Ok(());
        }
        match body {
            Body::Join { rim } => self.on_join(rim),
            Body::Leave { rim, complete } => self.on_leave(now, rim, complete, datagram.from),
            Body::Result(result) => self.on_result(now, &result, datagram.from),
            // Only hubs send the other messages.
            _ => {}
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if self.outgoing.is_empty() && self.deadline <= now {
            match self.state {
                HubState::Idle => self.begin(now),
                HubState::Joining => self.on_joined(now),
                HubState::Sending => self.send_packet(now),
                HubState::Gathering | HubState::Asking => self.decide(now),
                HubState::Describing | HubState::Announcing | HubState::Sizing => {}
            }
        }
        if self.state == HubState::Idle && self.outgoing.is_empty() && self.announce_at <= now {
            self.announce(now);
        }
        self.outgoing.pop_front()
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let idle = if self.state == HubState::Idle { self.announce_at } else { Nanos::MAX };
        let now = if self.outgoing.is_empty() { self.deadline.min(idle) } else { Nanos::ZERO };
        Some(now).filter(|&at| at < Nanos::MAX)
    }
}

/// A time in milliseconds, at most some 65 seconds.
pub(super) fn millis(span: Nanos) -> u16 {
    u16::try_from(span.0 / 1_000_000).unwrap_or(u16::MAX)
}
