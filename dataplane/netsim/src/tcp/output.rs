//! The segments of a sender, and its limits besides the congestion window: the window of the receiver, and
//! whether the application has anything to send.

use groupflow_base::Nanos;

use super::config::{Behaviour, DataSource};
use super::segment::{Ecn, Sack, Segment, TcpFlags, Timestamps};
use super::sender::{Recovery, TcpSender};
use super::tuning::WINDOW_SHIFT;

impl TcpSender {
    /// Sends `packet`: counts it, times it, sees that the timer runs.
    pub(super) fn emit(&mut self, now: Nanos, packet: u64) -> Segment {
        let repeated = packet < self.max;
        if self.retransmit_at.is_none() || self.una == self.max {
            self.retransmit_at = Some(now + self.rtt.timeout());
        }
        if repeated {
            self.stats.retransmissions += 1;
        } else {
            self.max = packet + 1;
            if self.timed.is_none() {
                self.timed = Some((packet, now));
            }
        }
        self.next = self.next.max(packet + 1);
        self.stats.packets_sent += 1;
        if let Recovery::Departures(departures) = &mut self.recovery {
            departures.note(now, packet);
        }
        self.build(now, packet, repeated)
    }

    fn build(&mut self, now: Nanos, packet: u64, repeated: bool) -> Segment {
        let syn = packet == 0 && self.config.syn;
        let mut flags = if syn { TcpFlags::SYN } else { TcpFlags::ACK };
        let mut ecn = Ecn::NotEct;
        if self.config.ecn {
            if syn {
                flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
            } else if !repeated || self.config.behaviour == Behaviour::Ns2 {
                ecn = Ecn::Ect0;
                if std::mem::take(&mut self.reduced) {
                    flags = flags.with(TcpFlags::CWR);
                }
            }
        }
        Segment {
            source_port: self.config.source_port,
            destination_port: self.config.destination_port,
            seq: self.numbers.wire(packet),
            ack: u32::from(!syn),
            flags,
            window: u16::MAX,
            payload: if syn { 0 } else { self.payload(packet) },
            ecn,
            timestamps: self
                .config
                .timestamps
                .then_some(Timestamps { value: (now.0 / 1_000) as u32, echo: self.echo }),
            sack: Sack::default(),
        }
    }

    fn payload(&self, packet: u64) -> u32 {
        match self.config.data {
            DataSource::Bytes(total) if packet + 1 == self.limit => {
                let before = (packet - u64::from(self.config.syn)) * u64::from(self.config.mss);
                // At most one packet is left.
                u32::try_from(total - before).unwrap_or(self.config.mss).min(self.config.mss)
            }
            _ => self.config.mss,
        }
    }

    /// Packets that may be in flight, apart from the congestion window.
    #[inline]
    pub(super) fn most(&self) -> u64 {
        let most = u64::from(self.config.max_window);
        self.peer_edge.map_or(most, |edge| most.min(edge.saturating_sub(self.una)))
    }

    /// Takes the receiver's window from an acknowledgement up to packet `acked`. A late acknowledgement
    /// changes nothing.
    pub(super) fn heed_window(&mut self, acked: u64, segment: &Segment) {
        let packets = (u64::from(segment.window) << WINDOW_SHIFT) / u64::from(self.config.mss);
        self.peer_edge = self.peer_edge.max(Some(acked + packets));
    }

    /// Notes that a greedy application has nothing new to send: only packets in flight are still delivered.
    pub fn pause(&mut self) {
        if self.config.data == DataSource::Greedy {
            self.limit = self.max;
        }
    }

    /// Notes that the application has data to send, again or for the first time. If all earlier data was
    /// delivered, the sender starts slowly, as a new connection does, because its window is stale (RFC 5681,
    /// section 4.1).
    pub fn resume(&mut self, now: Nanos) {
        if self.config.data != DataSource::Greedy {
            return;
        }
        self.begin(now);
        let idle = self.limit < u64::MAX && self.una == self.max;
        self.limit = u64::MAX;
        self.burst = u32::MAX;
        if idle && self.una > 0 {
            self.restart(now);
        }
    }

    fn restart(&mut self, now: Nanos) {
        // The configuration was checked when the sender was made.
        let Ok(fresh) = TcpSender::new(self.config) else { return };
        self.window.cwnd = f64::from(self.config.initial_window);
        (self.window.ssthresh, self.controller, self.recovery) =
            (fresh.window.ssthresh, fresh.controller, fresh.recovery);
        (self.inflation, self.dupacks, self.recover) = (0, 0, self.una);
        (self.recovering, self.partial_seen, self.resend) = (false, false, None);
        self.last_reduction = fresh.last_reduction;
        self.timed = None;
        self.controller.begin(now, self.next);
    }
}
