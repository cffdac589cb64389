//! The limits of a sender besides its congestion window: the receiver's window, and whether its application
//! has anything to send.

use groupflow_base::Nanos;

use super::advertised::WINDOW_SHIFT;
use super::config::DataSource;
use super::segment::Segment;
use super::sender::TcpSender;

impl TcpSender {
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
