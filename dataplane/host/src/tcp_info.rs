//! The kernel's state of a TCP connection (`TCP_INFO`, linux/tcp.h).

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

/// Offsets in `struct tcp_info`, which only ever grows at its end.
mod at {
    /// Two fields of four bits: the scale of the peer's windows, then that of this host's.
    pub const SCALES: usize = 6;
    pub const RTO: usize = 8;
    pub const RCV_MSS: usize = 8 + 3 * 4;
    pub const UNACKED: usize = 8 + 4 * 4;
    pub const RTT: usize = 8 + 15 * 4;
    pub const TOTAL_RETRANS: usize = 8 + 23 * 4;
    pub const BYTES_ACKED: usize = 120;
    pub const NOTSENT: usize = 144;
    pub const MIN_RTT: usize = 148;
    pub const DATA_SEGS_OUT: usize = 156;
    pub const RWND_LIMITED: usize = 176;
    /// Since Linux 5.4.
    pub const SND_WND: usize = 228;
    /// Since Linux 6.2.
    pub const RCV_WND: usize = 232;
    pub const END: usize = 236;
}

/// The state of a TCP connection. A value that an older kernel does not report is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Retransmission time-out, µs.
    pub rto_us: u32,
    /// Smoothed round-trip time, µs; 0: not known yet.
    pub rtt_us: u32,
    /// The shortest round-trip time of the last minutes, without queueing, µs; 0: not known yet.
    pub least_rtt_us: u32,
    /// Payload bytes of the received segments; a guess before any arrived.
    pub own_segment: u32,
    /// Segments sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes written to the socket and not sent yet.
    pub unsent: u32,
    /// Bytes acknowledged by the peer, in total.
    pub acknowledged: u64,
    /// Segments sent again, in total.
    pub resent: u32,
    /// Segments with data that were sent, in total, retransmissions included.
    pub sent: u32,
    /// Time in which the peer's window held up bytes, in total, µs.
    pub window_limited_us: u64,
    /// The window that the peer advertises, bytes.
    pub peer_window: u32,
    /// The window that was last advertised to the peer, bytes.
    pub own_window: u32,
    /// The window is advertised in units of two to the power of this, bytes.
    pub own_scale: u8,
}

impl TcpInfo {
    /// Reads the present state of a connection.
    pub fn of(stream: &TcpStream) -> io::Result<TcpInfo> {
        let mut info = [0u8; at::END];
        let mut length = info.len() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `info`, which has as many.
        let result = unsafe {
            let value = info.as_mut_ptr().cast::<libc::c_void>();
            libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, value, &mut length)
        };
        Errno::result(result).map_err(io::Error::from)?;
        let number = |at: usize| info[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        let long = |at: usize| info[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        Ok(TcpInfo {
            rto_us: number(at::RTO),
            rtt_us: number(at::RTT),
            least_rtt_us: Some(number(at::MIN_RTT)).filter(|&rtt| rtt != u32::MAX).unwrap_or(0),
            own_segment: number(at::RCV_MSS),
            unacknowledged: number(at::UNACKED),
            unsent: number(at::NOTSENT),
            acknowledged: long(at::BYTES_ACKED),
            resent: number(at::TOTAL_RETRANS),
            sent: number(at::DATA_SEGS_OUT),
            window_limited_us: long(at::RWND_LIMITED),
            peer_window: number(at::SND_WND),
            own_window: number(at::RCV_WND),
            own_scale: match cfg!(target_endian = "big") {
                true => info[at::SCALES] & 15,
                false => info[at::SCALES] >> 4,
            },
        })
    }

    /// Whether the peer was last told a window of `window` bytes, in whole units.
    pub fn advertises(&self, window: u64) -> bool {
        u64::from(self.own_window) == window.next_multiple_of(1 << self.own_scale)
    }
}
