//! The sender: one for all variants. It owns the timer and the data to send; a [`Recovery`] finds losses, and
//! a [`CongestionControl`] sets the window.

use groupflow_base::Nanos;

use super::config::{Behaviour, DataSource, TcpSenderConfig, Variant};
use super::controller::{self, CongestionControl, CongestionWindow};
use super::departures::Departures;
use super::rtt::RtoEstimator;
use super::scoreboard::Scoreboard;
use super::segment::{Numbering, SackBlock, Segment, TcpFlags};
use crate::error::BuildError;

/// Duplicate acknowledgements that mean a loss (RFC 5681).
pub(super) const DUPLICATES: u32 = 3;

/// The reason why the window was last reduced, while that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduction {
    None,
    /// Duplicate acknowledgements, and the recovery lasts.
    Duplicates,
    Timeout,
    Ecn,
}

/// The way in which losses are found and repaired.
#[derive(Debug)]
pub(super) enum Recovery {
    Tahoe,
    Reno,
    NewReno,
    /// RFC 6675.
    Sack(Scoreboard),
    /// ns-2's Sack1, with its running estimate of the packets in the network.
    Sack1(Scoreboard, i64),
    /// Vegas's: a packet that is late is lost.
    Departures(Box<Departures>),
}

/// A sender's figures, now and since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TcpSenderStats {
    /// Congestion window in packets, without fast recovery's inflation; Compound: both its windows.
    pub cwnd: f64,
    /// Slow-start threshold in packets.
    pub ssthresh: f64,
    /// Packets sent and not acknowledged cumulatively.
    pub in_flight: u64,
    /// Packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    pub timeouts: u64,
    /// Losses found by duplicate acknowledgements: fast retransmits.
    pub fast_retransmits: u64,
    pub ecn_reductions: u64,
    /// Duplicate acknowledgements received.
    pub dup_acks: u64,
    pub bytes_acked: u64,
    /// Smoothed round trip; 0 before the first measurement.
    pub srtt: Nanos,
}

/// A TCP sender. See the [module](super) on how to drive it.
#[derive(Debug)]
pub struct TcpSender {
    pub(super) config: TcpSenderConfig,
    pub(super) numbers: Numbering,
    pub(super) recovery: Recovery,
    pub(super) controller: Box<dyn CongestionControl>,
    pub(super) rtt: RtoEstimator,

    /// Lowest packet not acknowledged.
    pub(super) una: u64,
    /// Next packet to send: below `max` while going back after a loss.
    pub(super) next: u64,
    /// One past the highest packet ever sent.
    pub(super) max: u64,
    /// One past the last packet there is.
    pub(super) limit: u64,
    /// The first packet that the receiver does not take, where its window is heeded and known.
    pub(super) peer_edge: Option<u64>,
    /// Bytes handed over so far, where they are supplied.
    supplied: u64,

    pub(super) window: CongestionWindow,
    /// Reno's and NewReno's inflation: packets known to have left during fast recovery.
    pub(super) inflation: u64,
    pub(super) dupacks: u32,
    /// `max` at the last reduction: a loss below it belongs to the same window.
    pub(super) recover: u64,
    /// In NewReno's or SACK's fast recovery.
    pub(super) recovering: bool,
    /// A partial acknowledgement has restarted the timer in this recovery (RFC 6582's "impatient").
    pub(super) partial_seen: bool,
    pub(super) last_reduction: Reduction,

    /// This packet is sent next, even if the window allows none.
    pub(super) resend: Option<u64>,
    /// A new packet goes out even where the congestion window allows none: limited transmit (RFC 3042).
    pub(super) extra: bool,
    /// Packets `poll` may send before the next event.
    pub(super) burst: u32,
    /// The next packet carries CWR.
    pub(super) reduced: bool,

    started: bool,
    pub(super) retransmit_at: Option<Nanos>,
    /// The packet whose round trip is measured and when it left (without timestamps).
    pub(super) timed: Option<(u64, Nanos)>,
    pub(super) echo: u32,
    pub(super) stats: TcpSenderStats,
}

impl TcpSender {
    /// A sender that begins at `config.start`.
    pub fn new(config: TcpSenderConfig) -> Result<TcpSender, BuildError> {
        config.check()?;
        let ns2 = config.behaviour == Behaviour::Ns2;
        let recovery = match config.variant {
            Variant::Tahoe => Recovery::Tahoe,
            Variant::Reno => Recovery::Reno,
            Variant::NewReno => Recovery::NewReno,
            Variant::Sack | Variant::Cubic | Variant::Compound if ns2 => {
                Recovery::Sack1(Scoreboard::default(), 0)
            }
            Variant::Sack | Variant::Cubic | Variant::Compound => Recovery::Sack(Scoreboard::default()),
            Variant::Vegas => Recovery::Departures(Box::new(Departures::new(config.max_window))),
        };
        let syn_packets = u64::from(config.syn);
        let limit = match config.data {
            DataSource::Greedy => u64::MAX,
            DataSource::Supplied => syn_packets,
            DataSource::Bytes(bytes) => syn_packets + bytes.div_ceil(u64::from(config.mss)),
        };
        let slow = config.syn || config.variant == Variant::Vegas;
        Ok(TcpSender {
            numbers: Numbering::new(config.mss, config.syn),
            recovery,
            controller: controller::of(&config),
            rtt: RtoEstimator::new(config.rto, config.behaviour),
            una: 0,
            next: 0,
            max: 0,
            limit,
            peer_edge: None,
            supplied: 0,
            window: CongestionWindow {
                cwnd: if slow { 1.0 } else { f64::from(config.initial_window) },
                ssthresh: f64::from(config.initial_ssthresh.unwrap_or(config.max_window)),
            },
            inflation: 0,
            dupacks: 0,
            recover: 0,
            recovering: false,
            partial_seen: false,
            last_reduction: Reduction::None,
            resend: None,
            extra: false,
            burst: 0,
            reduced: false,
            started: false,
            retransmit_at: None,
            timed: None,
            echo: 0,
            stats: TcpSenderStats::default(),
            config,
        })
    }

    /// Begins now, not at the start that was configured.
    pub fn begin(&mut self, now: Nanos) {
        if !self.started {
            self.config.start = now;
        }
    }

    /// Whether the SYN, if there is one, is acknowledged.
    pub fn connected(&self) -> bool {
        self.una > 0 || !self.config.syn
    }

    /// Takes `bytes` more of the application. Only whole packets are sent; the rest waits.
    /// Does nothing unless the configuration says [`DataSource::Supplied`].
    pub fn supply(&mut self, bytes: u64) {
        if self.config.data == DataSource::Supplied {
            self.supplied += bytes;
            self.limit = u64::from(self.config.syn) + self.supplied / u64::from(self.config.mss);
            self.burst = u32::MAX;
        }
    }

    /// Notes that the application has handed over all data: a last short packet is sent, too.
    pub fn close(&mut self) {
        if self.config.data == DataSource::Supplied {
            self.config.data = DataSource::Bytes(self.supplied);
            self.limit = u64::from(self.config.syn) + self.supplied.div_ceil(u64::from(self.config.mss));
            self.burst = u32::MAX;
        }
    }

    /// Handles an acknowledgement that arrived. A segment without one, or with one for data never sent, is
    /// ignored.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) {
        if !segment.flags.has(TcpFlags::ACK) || !self.started {
            return;
        }
        let Some(acked) = self.acknowledged(segment.ack) else { return };
        if self.config.heeds_window {
            self.heed_window(acked, segment);
        }
        self.echo = segment.timestamps.map_or(self.echo, |timestamps| timestamps.value);
        self.burst = u32::MAX;
        self.extra = false;
        // With SYN it says that the receiver understands ECN (RFC 3168, section 6.1.1).
        let echoed = self.config.ecn && segment.flags.has(TcpFlags::ECE) && !segment.flags.has(TcpFlags::SYN);
        if echoed {
            self.on_congestion_echo(acked);
        }
        if acked == self.una {
            self.stats.dup_acks += 1;
        }
        match self.recovery {
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => {
                self.on_ack_classic(now, acked, segment, echoed)
            }
            Recovery::Sack(_) => self.on_ack_sack(now, acked, segment, echoed),
            Recovery::Sack1(..) => self.on_ack_sack1(now, acked, segment, echoed),
            Recovery::Departures(_) => self.on_ack_departures(now, acked, segment),
        }
    }

    /// When [`on_timer`](Self::on_timer) is due: the start, then the retransmission timer.
    pub fn deadline(&self) -> Option<Nanos> {
        if self.started {
            self.retransmit_at
        } else {
            Some(self.config.start)
        }
    }

    /// Acts on the deadline, if it has passed.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.deadline().map_or(true, |at| now < at) {
            return;
        }
        self.burst = u32::MAX;
        self.extra = false;
        self.resend = None;
        if !self.started {
            self.started = true;
            self.controller.begin(now, u64::from(self.config.syn));
            return;
        }
        self.on_timeout(now);
    }

    /// The next packet that may leave now.
    pub fn poll(&mut self, now: Nanos) -> Option<Segment> {
        if !self.started {
            return None;
        }
        if self.config.stop.is_some_and(|stop| now >= stop) {
            self.limit = self.limit.min(self.max);
        }
        // A packet that a slow caller did not fetch in time may be acknowledged by now.
        if let Some(packet) = self.resend.take().filter(|packet| *packet >= self.una) {
            return Some(self.emit(now, packet));
        }
        if self.burst == 0 {
            return None;
        }
        let packet = match self.recovery {
            Recovery::Sack(_) => self.next_sack(),
            Recovery::Sack1(..) => self.next_sack1(),
            _ => self.next_in_window(),
        }?;
        self.burst -= 1;
        Some(self.emit(now, packet))
    }

    /// Payload bytes acknowledged.
    pub fn acked(&self) -> u64 {
        self.stats.bytes_acked
    }

    pub fn stats(&self) -> TcpSenderStats {
        TcpSenderStats {
            cwnd: self.window.cwnd + self.controller.delay_window(),
            ssthresh: self.window.ssthresh,
            in_flight: self.max - self.una,
            srtt: self.rtt.smooth(),
            ..self.stats
        }
    }

    /// Whether all data is acknowledged.
    pub fn is_finished(&self) -> bool {
        self.una >= self.limit
    }

    pub fn config(&self) -> &TcpSenderConfig {
        &self.config
    }

    /// Packets the window allows beyond `una`: congestion window and inflation, at most the receiver's.
    pub(super) fn allowed(&self) -> u64 {
        let open = (self.window.cwnd + self.controller.delay_window()) as u64 + self.inflation;
        open.min(self.most())
    }

    pub(super) fn next_in_window(&mut self) -> Option<u64> {
        if self.next >= self.limit {
            return None;
        }
        let flight = self.next - self.una;
        let extra = std::mem::take(&mut self.extra);
        if flight >= self.allowed() && !(extra && flight < self.limited_window()) {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// The window with one packet more for each duplicate acknowledgement (RFC 3042).
    pub(super) fn limited_window(&self) -> u64 {
        (self.window.cwnd as u64 + u64::from(self.dupacks)).min(self.most())
    }

    /// The lowest packet an acknowledgement leaves open, if it is one this connection can have.
    fn acknowledged(&self, ack: u32) -> Option<u64> {
        let (packet, into) = self.numbers.packet(self.una, ack)?;
        // Only the last packet of a stream is short.
        let packet = if into > 0 && packet + 1 == self.limit { self.limit } else { packet };
        (packet <= self.max).then_some(packet)
    }

    /// The packets of a SACK block, if they are possible.
    pub(super) fn packets(&self, block: &SackBlock) -> Option<(u64, u64)> {
        let (left, _) = self.numbers.packet(self.una, block.left)?;
        let right = self.acknowledged(block.right)?;
        (self.una <= left && left < right).then_some((left, right))
    }

    /// Handles newly acknowledged data: the part that all variants share.
    pub(super) fn advance(&mut self, now: Nanos, acked: u64, segment: &Segment) {
        self.dupacks = 0;
        self.acknowledge(acked);
        if self.config.timestamps {
            if let Some(timestamps) = segment.timestamps {
                let micros = ((now.0 / 1_000) as u32).wrapping_sub(timestamps.echo);
                self.rtt.sample_span(Nanos::from_micros(u64::from(micros)));
                self.rtt.end_backoff();
            }
        }
        if let Some((packet, sent)) = self.timed {
            if acked > packet {
                self.timed = None;
                self.rtt.end_backoff();
                if !self.config.timestamps {
                    self.rtt.sample_ticks(sent, now);
                }
            }
        }
        self.restart_timer(now);
    }

    /// Moves `una`, and counts.
    pub(super) fn acknowledge(&mut self, acked: u64) {
        let mut bytes = self.numbers.byte(acked) - self.numbers.byte(self.una);
        if self.numbers.has_syn() && self.una == 0 {
            bytes -= 1;
        }
        if acked == self.limit {
            if let DataSource::Bytes(total) = self.config.data {
                bytes = bytes.min(total - self.stats.bytes_acked);
            }
        }
        self.stats.bytes_acked += bytes;
        self.una = acked;
        self.next = self.next.max(acked);
    }

    /// The connection stands when its first packet is acknowledged: the window opens.
    pub(super) fn open_initial_window(&mut self) {
        if self.una == 1 && self.config.syn {
            self.window.cwnd = f64::from(self.config.initial_window).min(f64::from(self.config.max_window));
        }
    }

    /// Restarts the timer, or stops it if nothing is in flight.
    pub(super) fn restart_timer(&mut self, now: Nanos) {
        self.retransmit_at = (self.una < self.max).then(|| now + self.rtt.timeout());
    }

    /// After a loss: the timer runs anew and the packet that was timed does not count (Karn).
    pub(super) fn forget_timing(&mut self, now: Nanos) {
        self.timed = None;
        self.retransmit_at = Some(now + self.rtt.timeout());
    }

    /// ns-2 ends its backoff with a partial acknowledgement of the timed packet, without measuring it.
    pub(super) fn drop_timed(&mut self) {
        if self.timed.is_some_and(|(packet, _)| self.una > packet) {
            self.timed = None;
            self.rtt.end_backoff();
        }
    }
}
