//! The rim: the machine that receives files in rounds.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use groupflow_base::{CodecError, Datagram, Dest, Machine, Nanos, Transmit};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use receiving::expected;

use super::message::{Body, DataPacket, FileName, Message, Method, Parameters, RimId, Round, TransferId};
use super::reception::{FileWrite, Stored};
use super::states::{allowed, RimState, RIM};

mod receiving;

/// Time without control parameters after which a rim repeats its JOIN, if its hub has not told another.
const JOIN_AGAIN: Nanos = Nanos::from_millis(10_000);
/// Time without a word of its hub after which a rim accepts another hub, if its hub has not told another.
const SILENCE: Nanos = Nanos::from_millis(60_000);
/// How often a rim reports unasked that it is complete.
const COMPLETE_TIMES: u8 = 3;

#[derive(Debug, Clone, Copy)]
pub struct RimConfig {
    /// The rim's number, chosen at random.
    pub id: RimId,
    /// Bytes of the longest file that the rim takes.
    pub max_size: u64,
    /// Seed of the rim's random delays.
    pub seed: u64,
    /// With Go-Back-N, whether the rim forgets the bytes to which the hub goes back, and may lose them again.
    /// The paper's figures suggest this; it has no other use.
    pub forgets: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RimEvent {
    /// A file begins to arrive.
    Began(Parameters),
    /// The file is complete: all its bytes have been handed over to be stored.
    Complete,
    /// The multicast ended, or another began, before the file was complete.
    Abandoned,
    /// The hub was silent for as long as it may be, before the file was complete.
    Silent,
    /// The file has more bytes than the rim takes.
    TooLong { name: FileName, size: u64 },
}

/// A round, as far as the rim heard it.
#[derive(Debug, Clone, Copy)]
struct HeardRound {
    round: Round,
    /// Payload bytes after the first packet, and the arrival times of the first and the last packet.
    bytes: u64,
    first_at: Option<Nanos>,
    last_at: Nanos,
}

#[derive(Debug)]
struct ArrivingFile {
    control: Parameters,
    stored: Stored,
    heard: Option<HeardRound>,
    /// The round that the hub last polled, or that the rim missed; the rim may have heard nothing of it.
    asked: u32,
    reported: u32,
    told_complete: u8,
}

impl ArrivingFile {
    /// The latest round that the rim knows of.
    fn round(&self) -> u32 {
        self.heard.map_or(0, |heard| heard.round.round).max(self.asked)
    }
}

#[derive(Debug)]
struct Transfer {
    id: TransferId,
    hub: SocketAddrV4,
    /// Time without control parameters after which the rim repeats its JOIN, and time without a word of the
    /// hub after which it accepts another: the hub's last control parameters set them.
    join_again: Nanos,
    silence: Nanos,
    /// The latest round of which something came before the control parameters.
    missed: u32,
    /// When the rim says that it takes part.
    join_at: Nanos,
    arriving: Option<ArrivingFile>,
    /// When the rim reports: when the round should be over, or at a random time.
    report_at: Nanos,
    chosen: bool,
    heard_at: Nanos,
    /// The rim does not take part.
    refused: bool,
    /// The rim does not take part because it has the file.
    has_file: bool,
}

impl Transfer {
    /// When the rim gives an incomplete file up, unless its hub is heard before.
    fn given_up_at(&self) -> Nanos {
        let arriving = self.arriving.as_ref().filter(|arriving| !self.refused && !arriving.stored.complete());
        arriving.map_or(Nanos::MAX, |_| self.heard_at + self.silence)
    }
}

/// A rim. The zero of its clock is the caller's choice.
#[derive(Debug)]
pub struct Rim {
    config: RimConfig,
    state: RimState,
    transfer: Option<Transfer>,
    /// The hub that was heard last.
    last: Option<SocketAddrV4>,
    outgoing: VecDeque<Transmit>,
    writes: VecDeque<FileWrite>,
    events: VecDeque<RimEvent>,
    random: ChaCha8Rng,
}

impl Rim {
    /// A rim that waits for a multicast.
    pub fn new(config: RimConfig) -> Rim {
        Rim {
            config,
            state: RimState::Waiting,
            transfer: None,
            last: None,
            outgoing: VecDeque::new(),
            writes: VecDeque::new(),
            events: VecDeque::new(),
            random: ChaCha8Rng::seed_from_u64(config.seed),
        }
    }

    /// Sets the size in bytes of the longest file that the rim takes from now on.
    pub fn set_max_size(&mut self, bytes: u64) {
        self.config.max_size = bytes;
    }

    /// Bytes that the rim has of the file that is arriving, or arrived last.
    pub fn bytes(&self) -> u64 {
        self.arriving().map_or(0, |arriving| arriving.stored.bytes())
    }

    /// The offset of the first byte that the rim lacks of that file.
    pub fn position(&self) -> u64 {
        self.arriving().map_or(0, |arriving| arriving.stored.position())
    }

    /// The current hub, or the last one.
    pub fn hub(&self) -> Option<SocketAddrV4> {
        self.last
    }

    pub fn pieces(&self) -> usize {
        self.arriving().map_or(0, |arriving| arriving.stored.pieces())
    }

    /// The next bytes to store. The caller takes them after each datagram.
    pub fn next_write(&mut self) -> Option<FileWrite> {
        self.writes.pop_front()
    }

    pub fn events(&mut self) -> impl Iterator<Item = RimEvent> + '_ {
        self.events.drain(..)
    }

    /// Leaves the current multicast, with its file (`complete`) or without.
    pub fn leave(&mut self, complete: bool) {
        if let Some(transfer) = &mut self.transfer {
            transfer.refused = true;
            transfer.has_file = complete;
            transfer.report_at = Nanos::MAX;
            transfer.join_at = Nanos::MAX;
        }
        self.send_leave();
    }

    fn send_leave(&mut self) {
        let complete = self.transfer.as_ref().is_some_and(|transfer| transfer.has_file);
        self.send(Body::Leave { rim: self.config.id, complete });
    }

    fn arriving(&self) -> Option<&ArrivingFile> {
        self.transfer.as_ref()?.arriving.as_ref()
    }

    fn go(&mut self, to: RimState) {
        debug_assert!(allowed(RIM, &self.state, &to), "{:?} to {to:?}", self.state);
        self.state = to;
    }

    fn send(&mut self, body: Body) {
        if let Some(transfer) = &self.transfer {
            let bytes = Message { transfer: transfer.id, body }.encode();
            self.outgoing.push_back(Transmit { dest: Dest::Host(transfer.hub), bytes });
        }
    }

    fn on_ipm_send(&mut self, now: Nanos, id: TransferId, hub: SocketAddrV4, spread_ms: u16) {
        let known = self.transfer.as_ref().is_some_and(|t| t.id == id && t.hub == hub);
        if known && self.state != RimState::Joined {
            return;
        }
        let delay = self.random.gen_range(0..=u64::from(spread_ms) * 1_000_000);
        self.begin(now, id, hub, now + Nanos(delay));
    }

    /// Begins a multicast whose control parameters are not known yet.
    fn begin(&mut self, now: Nanos, id: TransferId, hub: SocketAddrV4, join_at: Nanos) {
        self.change(now, id, hub, join_at);
        self.go(RimState::Joining);
    }

    fn change(&mut self, now: Nanos, id: TransferId, hub: SocketAddrV4, join_at: Nanos) {
        let refused = self.transfer.as_ref().is_some_and(|transfer| transfer.refused);
        if !refused && self.arriving().is_some_and(|arriving| !arriving.stored.complete()) {
            self.events.push_back(RimEvent::Abandoned);
        }
        self.outgoing.clear();
        let known = self.transfer.as_ref().filter(|transfer| transfer.hub == hub);
        let (join_again, silence) =
            known.map_or((JOIN_AGAIN, SILENCE), |transfer| (transfer.join_again, transfer.silence));
        self.transfer = Some(Transfer {
            id,
            hub,
            join_again,
            silence,
            missed: 0,
            join_at,
            arriving: None,
            report_at: Nanos::MAX,
            chosen: false,
            heard_at: now,
            refused: false,
            has_file: false,
        });
    }

    fn on_control(&mut self, now: Nanos, id: TransferId, hub: SocketAddrV4, control: Parameters) {
        let same = self.transfer.as_ref().filter(|t| t.id == id && t.hub == hub);
        if same.is_some_and(|transfer| transfer.arriving.is_some() || transfer.refused) {
            return;
        }
        // A scheduled multicast that the rim has not joined yet.
        let join_at = match same {
            Some(transfer) if self.state == RimState::Joining => transfer.join_at,
            None if control.method == Method::Scheduled => now,
            _ => Nanos::MAX,
        };
        if same.is_none() {
            self.change(now, id, hub, join_at);
        }
        let refused = control.size > self.config.max_size;
        let event = match refused {
            true => RimEvent::TooLong { name: control.name.clone(), size: control.size },
            false => RimEvent::Began(control.clone()),
        };
        let stored = Stored::new(&control);
        let complete = stored.complete() && !refused;
        if let Some(transfer) = &mut self.transfer {
            transfer.join_at = join_at;
            // The parameters come when the time to join is over; as much again is for their way.
            transfer.join_again = Nanos::from_millis(2 * u64::from(control.join_ms));
            transfer.silence = Nanos::from_secs(control.silence_s.into());
            if transfer.missed > 0 && control.method == Method::Unscheduled && !refused {
                // The round may be over, and silence would be success.
                transfer.report_at = expected(now, &control, 0);
            }
            let asked = transfer.missed;
            transfer.arriving =
                Some(ArrivingFile { control, stored, heard: None, asked, reported: 0, told_complete: 0 });
        }
        self.go(RimState::Receiving);
        self.events.push_back(event);
        if refused {
            self.leave(false);
        }
        if complete {
            self.complete();
        }
    }

    fn complete(&mut self) {
        self.go(RimState::Complete);
        self.events.push_back(RimEvent::Complete);
    }

    /// Gives the file of a silent hub up. If the hub is heard again, the rim joins anew.
    fn give_up(&mut self) {
        self.transfer = None;
        self.outgoing.clear();
        self.events.push_back(RimEvent::Silent);
        self.go(RimState::Waiting);
    }

    fn on_end(&mut self) {
        let complete = self.state == RimState::Complete;
        if self.arriving().is_some_and(|arriving| !arriving.stored.complete()) {
            self.events.push_back(RimEvent::Abandoned);
        }
        if let Some(transfer) = &mut self.transfer {
            transfer.report_at = Nanos::MAX;
            if !complete {
                transfer.join_at = Nanos::MAX;
                transfer.refused = true;
            }
        }
        if self.state != RimState::Waiting {
            self.go(RimState::Waiting);
        }
    }
}

impl Machine for Rim {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let Message { transfer: id, body } = Message::parse(datagram.bytes)?;
        let resting = matches!(self.state, RimState::Waiting | RimState::Complete);
        let other = match &mut self.transfer {
            Some(transfer) if transfer.hub == datagram.from => {
                transfer.heard_at = now;
                transfer.id != id
            }
            // A rim listens to one hub at a time.
            Some(transfer) if !resting && now < transfer.heard_at + transfer.silence => return Ok(()),
            _ => true,
        };
        let of_rims =
            matches!(body, Body::Join { .. } | Body::Leave { .. } | Body::Result(_) | Body::Ask { .. });
        if !of_rims {
            self.last = Some(datagram.from);
        }
        let missed = match &body {
            Body::Round(Round { round, .. }) | Body::Data(DataPacket { round, .. }) => Some((*round, false)),
            Body::Poll { round, .. } => Some((*round, true)),
            _ => None,
        };
        if let Some((round, asked)) = missed.filter(|_| other || self.state == RimState::Joined) {
            if other {
                // The rim came too late to hear the beginning.
                self.begin(now, id, datagram.from, now);
            }
            // The control parameters were lost, and the rim cannot answer before it has them: it joins again
            // once a round, and each time that the hub asks it.
            if let Some(transfer) = self.transfer.as_mut().filter(|t| asked || round > t.missed) {
                (transfer.join_at, transfer.missed) = (now, round);
            }
            return Ok(());
        }
        match body {
            Body::IpmSend { spread_ms } => self.on_ipm_send(now, id, datagram.from, spread_ms),
            Body::Control(control) => self.on_control(now, id, datagram.from, control),
            _ if other => {}
            _ if self.transfer.as_ref().is_some_and(|transfer| transfer.refused) => {
                // The hub has not heard the LEAVE.
                if matches!(&body, Body::Poll { awaited, .. } if awaited.contains(&self.config.id)) {
                    self.send_leave();
                }
            }
            Body::Round(round) => self.on_round(now, round),
            Body::Data(data) => return self.on_data(now, data),
            Body::Heard { round, lacks } => self.on_heard(round, &lacks),
            Body::Poll { round, awaited } if awaited.is_empty() || awaited.contains(&self.config.id) => {
                if let Some(arriving) = self.transfer.as_mut().and_then(|t| t.arriving.as_mut()) {
                    arriving.asked = round;
                }
                self.report_soon(now, true);
            }
            Body::End { .. } => self.on_end(),
            // Only rims send the others, or they need no answer.
            _ => {}
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if self.transfer.as_ref().is_some_and(|transfer| transfer.given_up_at() <= now) {
            self.give_up();
        }
        if let Some(transfer) = &mut self.transfer {
            if transfer.join_at <= now {
                let known = transfer.arriving.is_some();
                transfer.join_at = if known { Nanos::MAX } else { now + transfer.join_again };
                let rim = self.config.id;
                if !known {
                    if self.state == RimState::Joined {
                        self.go(RimState::Joining);
                    }
                    self.go(RimState::Joined);
                }
                self.send(Body::Join { rim });
            }
        }
        // The round should be over, but its last packet did not arrive; other rims notice the same.
        if self.transfer.as_ref().is_some_and(|transfer| transfer.report_at <= now && !transfer.chosen) {
            self.report_soon(now, false);
        }
        if self.transfer.as_ref().is_some_and(|transfer| transfer.report_at <= now) {
            self.report();
        }
        self.outgoing.pop_front()
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let transfer = self.transfer.as_ref()?;
        if !self.outgoing.is_empty() {
            return Some(Nanos::ZERO);
        }
        let next = transfer.join_at.min(transfer.report_at).min(transfer.given_up_at());
        Some(next).filter(|&at| at < Nanos::MAX)
    }
}
