//! Counters of TCP endpoints.

use groupflow_base::Nanos;

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
    /// Payload acknowledged.
    pub bytes_acked: u64,
    /// Smoothed round trip; 0 before the first measurement.
    pub srtt: Nanos,
}

/// A receiver's figures since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpReceiverStats {
    /// Segments received.
    pub packets: u64,
    /// Payload received in sequence, in bytes: an application could have read as much.
    pub bytes_delivered: u64,
    /// Segments that had been received before.
    pub duplicates: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}
