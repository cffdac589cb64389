//! The receiver: it puts packets in order, and acknowledges.

use std::collections::VecDeque;
use std::ops::Range;

use groupflow_base::ranges::Ranges;
use groupflow_base::Nanos;

use super::config::{check_mss, TcpReceiverConfig};
use super::segment::{Ecn, Numbering, Sack, SackBlock, Segment, TcpFlags, Timestamps, MAX_SACK_BLOCKS};
use super::tuning::{Advertised, Reading, Trips};
use crate::error::BuildError;

/// A receiver's figures since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpReceiverStats {
    /// Segments received.
    pub packets: u64,
    /// Payload received in sequence, in bytes: an application could have read as much.
    pub bytes_delivered: u64,
    /// Segments that had been received before.
    pub duplicates: u64,
    pub acks: u64,
}

/// A TCP receiver. See the [module](super) on how to drive it.
#[derive(Debug, Clone)]
pub struct TcpReceiver {
    config: TcpReceiverConfig,
    numbers: Numbering,
    /// Lowest packet not received.
    next: u64,
    /// The number after the last byte in sequence, to be acknowledged.
    next_byte: u32,
    /// Packets received above `next`.
    above: Ranges,
    /// The stream's last packet, where a short one told of it, and the number after its last byte.
    short: Option<(u64, u32)>,
    /// Ranges last changed, the most recent first, as SACK blocks report them (RFC 2018, section 4).
    recent: [Option<Range<u64>>; MAX_SACK_BLOCKS],
    /// Acknowledgements due.
    due: u32,
    delayed_until: Option<Nanos>,
    /// Congestion was met and the sender has not said yet that it reacted.
    echo_congestion: bool,
    /// A SYN is to be answered, and whether it asked for ECN: the answer says yes.
    answer: Option<bool>,
    timestamp: Option<u32>,
    held: Option<HoldReason>,
    /// The window, and the measurements to set it by; only where it is set while the connection runs.
    tuned: Option<(Advertised, Trips)>,
    stats: TcpReceiverStats,
}

/// The reason to hold a receiver's acknowledgements back.
#[derive(Debug, Clone, Default)]
struct HoldReason {
    /// Whether the SYN may be answered.
    open: bool,
    /// Payload bytes that may be acknowledged.
    released: u64,
    /// The timestamp of each segment that is not acknowledged yet, with the payload bytes up to its end.
    stamps: VecDeque<(u64, u32)>,
    /// The next acknowledgement is not for a release: it reports all arrivals, released or not.
    telling: bool,
}

impl TcpReceiver {
    /// A receiver that waits for its sender's first packet.
    pub fn new(config: TcpReceiverConfig) -> Result<TcpReceiver, BuildError> {
        check_mss(config.mss)?;
        if usize::from(config.sack_blocks) > MAX_SACK_BLOCKS {
            let problem = format!("an acknowledgement has room for {MAX_SACK_BLOCKS} at most");
            return Err(BuildError::new("sack_blocks", format!("{}, but {problem}", config.sack_blocks)));
        }
        Ok(TcpReceiver {
            numbers: Numbering::new(config.mss, config.syn),
            next: 0,
            next_byte: 0,
            above: Ranges::default(),
            short: None,
            recent: Default::default(),
            due: 0,
            delayed_until: None,
            echo_congestion: false,
            answer: None,
            timestamp: None,
            held: config.held.then(HoldReason::default),
            tuned: config.window.map(|bytes| (Advertised::new(config.mss, bytes), Trips::new())),
            stats: TcpReceiverStats::default(),
            config,
        })
    }

    /// Handles data or a SYN that arrived. Any other segment, and data outside any window, is ignored.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) {
        let syn = segment.flags.has(TcpFlags::SYN);
        let expected = if syn { self.config.syn } else { segment.payload > 0 };
        if !expected {
            return;
        }
        let Some((packet, into)) = self.numbers.packet(self.next, segment.seq) else { return };
        if into != 0 || segment.payload > self.config.mss {
            return;
        }
        self.stats.packets += 1;
        self.note_congestion(segment, syn);
        if let (Some(timestamps), None) = (segment.timestamps, &self.held) {
            // RFC 7323, section 4.3: the segment that the next acknowledgement answers, not one after a gap.
            if packet <= self.next || self.timestamp.is_none() {
                self.timestamp = Some(timestamps.value);
            }
        }
        if !syn && segment.payload < self.config.mss {
            self.short = Some((packet, segment.seq.wrapping_add(segment.payload)));
        }
        let had_gap = !self.above.is_empty();
        let in_order = packet == self.next;
        if let Some((_, trips)) = &mut self.tuned {
            trips.arrived(packet);
            if let (true, false, false, Some(timestamps)) = (in_order, had_gap, syn, segment.timestamps) {
                trips.answered(now, timestamps.echo);
            }
        }
        self.place(packet);
        if let (Some(held), Some(timestamps), true) = (&mut self.held, segment.timestamps, in_order) {
            held.stamps.push_back((self.stats.bytes_delivered, timestamps.value));
        }
        // The first packet tells that the connection stands: its sender waits for the answer.
        let at_once = !in_order || had_gap || packet == 0;
        self.schedule(now, at_once);
    }

    /// When [`on_timer`](Self::on_timer) is due: a delayed acknowledgement waits.
    pub fn deadline(&self) -> Option<Nanos> {
        self.delayed_until
    }

    /// Acts on the deadline, if it has passed.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.delayed_until.is_some_and(|at| now >= at) {
            self.delayed_until = None;
            self.due += 1;
        }
    }

    /// Allows the SYN, which has come, to be answered; does nothing if the receiver is not held back.
    pub fn open(&mut self) {
        if let Some(held) = self.held.as_mut().filter(|held| !held.open) {
            held.open = true;
            self.due += 1;
        }
    }

    /// Whether the connection's first packet has come.
    pub fn connected(&self) -> bool {
        self.next > 0
    }

    /// Allows the first `bytes` of payload to be acknowledged; does nothing if the receiver is not held
    /// back.
    pub fn release(&mut self, bytes: u64) {
        let Some(held) = self.held.as_mut().filter(|held| bytes > held.released) else { return };
        held.released = bytes;
        while let Some((_, stamp)) = held.stamps.front().filter(|(end, _)| *end <= bytes) {
            self.timestamp = Some(*stamp);
            held.stamps.pop_front();
        }
        self.due += 1;
    }

    /// Payload bytes received in sequence.
    pub fn delivered(&self) -> u64 {
        self.stats.bytes_delivered
    }

    /// Advertises `bytes` from the next acknowledgement on; a promised window stays. Nothing
    /// happens where the configuration gave no window.
    pub fn set_window(&mut self, bytes: u64) {
        if let Some((advertised, _)) = &mut self.tuned {
            advertised.set(bytes);
        }
    }

    /// The measurements, if the configuration gave a window; otherwise zeros.
    pub fn read(&mut self) -> Reading {
        let (delivered, packets) = (self.stats.bytes_delivered, self.stats.packets);
        self.tuned.as_mut().map_or(Reading::default(), |(_, trips)| trips.read(delivered, packets))
    }

    /// The next acknowledgement that is due.
    pub fn poll(&mut self, now: Nanos) -> Option<Segment> {
        self.due = self.due.checked_sub(1)?;
        self.stats.acks += 1;
        let mut flags = TcpFlags::ACK;
        let answer = self.answer.take();
        if answer.is_some() {
            flags = flags.with(TcpFlags::SYN);
        }
        if self.echo_congestion || answer == Some(true) {
            flags = flags.with(TcpFlags::ECE);
        }
        let timestamps = self.timestamp.map(|echo| Timestamps { value: (now.0 / 1_000) as u32, echo });
        let room = if timestamps.is_some() { MAX_SACK_BLOCKS - 1 } else { MAX_SACK_BLOCKS };
        let sack = self.sack(room.min(usize::from(self.config.sack_blocks)));
        Some(Segment {
            source_port: self.config.source_port,
            destination_port: self.config.destination_port,
            seq: u32::from(!flags.has(TcpFlags::SYN)),
            ack: self.acknowledged(),
            flags,
            window: self.tuned.as_mut().map_or(u16::MAX, |(advertised, _)| advertised.field(self.next)),
            payload: 0,
            ecn: Ecn::NotEct,
            timestamps,
            sack,
        })
    }

    pub fn stats(&self) -> TcpReceiverStats {
        self.stats
    }

    /// The number after the last byte that is acknowledged.
    fn acknowledged(&self) -> u32 {
        match &self.held {
            Some(held) if self.next > 0 => (held.released + u64::from(self.config.syn)) as u32,
            _ => self.next_byte,
        }
    }

    /// RFC 3168, section 6.1.3: echo until the sender says it has reacted.
    fn note_congestion(&mut self, segment: &Segment, syn: bool) {
        if syn {
            self.answer = Some(segment.flags.has(TcpFlags::ECE.with(TcpFlags::CWR)));
            return;
        }
        if segment.flags.has(TcpFlags::CWR) {
            self.echo_congestion = false;
        }
        if segment.ecn == Ecn::Ce {
            self.echo_congestion = true;
        }
    }

    fn place(&mut self, packet: u64) {
        if packet < self.next {
            self.stats.duplicates += 1;
            return;
        }
        if packet == self.next {
            let before = self.next;
            self.next += 1;
            if let Some(first) = self.above.first().filter(|first| first.start == self.next) {
                self.next = first.end;
                self.above.remove_below(first.end);
            }
            self.deliver(before);
            return;
        }
        if self.above.insert(packet..packet + 1) == 0 {
            self.stats.duplicates += 1;
        }
        if self.config.sack_blocks > 0 {
            if let Some(range) = self.above.containing(packet) {
                self.remember(range);
            }
        }
    }

    /// Notes that packets `before..next` are in sequence now.
    fn deliver(&mut self, before: u64) {
        let from = self.numbers.byte(before).max(u64::from(self.config.syn));
        let mut to = self.numbers.byte(self.next);
        self.next_byte = to as u32;
        if let Some((packet, end)) = self.short.filter(|(packet, _)| packet + 1 == self.next) {
            to = self.numbers.byte(packet) + u64::from(end.wrapping_sub(self.numbers.wire(packet)));
            self.next_byte = end;
        }
        self.stats.bytes_delivered += to.saturating_sub(from);
    }

    /// `range` goes to the front of the ranges that SACK reports; ranges within it are removed.
    fn remember(&mut self, range: Range<u64>) {
        let mut kept =
            self.recent.iter().flatten().filter(|old| old.start < range.start || old.end > range.end);
        let mut recent = [Some(range.clone()), None, None, None];
        for slot in &mut recent[1..] {
            *slot = kept.next().cloned();
        }
        self.recent = recent;
    }

    fn sack(&mut self, mut room: usize) -> Sack {
        let mut sack = Sack::default();
        let telling = self.held.as_mut().is_some_and(|held| std::mem::take(&mut held.telling));
        let arrived = SackBlock { left: self.acknowledged(), right: self.next_byte };
        let reports_arrived = telling && arrived.left != arrived.right && room > 0;
        if self.above.is_empty() && !reports_arrived {
            return sack;
        }
        room -= usize::from(reports_arrived);
        for range in self.recent.iter().flatten().filter(|range| range.start > self.next).take(room) {
            let right = match self.short {
                Some((packet, end)) if packet + 1 == range.end => end,
                _ => self.numbers.wire(range.end),
            };
            sack.push(SackBlock { left: self.numbers.wire(range.start), right });
        }
        if reports_arrived {
            sack.push(arrived);
        }
        sack
    }

    fn schedule(&mut self, now: Nanos, at_once: bool) {
        if let Some(held) = &mut self.held {
            // Data in order waits for its release; an acknowledgement that tells of a loss does not.
            if at_once && held.open {
                held.telling = true;
                self.due += 1;
            }
            return;
        }
        match (self.config.delayed_ack, self.delayed_until) {
            (Some(span), None) if !at_once => self.delayed_until = Some(now + span),
            _ => {
                self.delayed_until = None;
                self.due += 1;
            }
        }
    }
}
