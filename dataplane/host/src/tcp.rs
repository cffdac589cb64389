//! Non-blocking TCP sockets: their options, the state of their queues, and the kernel's state of a connection
//! (`TCP_INFO`, linux/tcp.h).

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::sockopt;

/// Connections that the kernel queues until they are accepted.
const BACKLOG: i32 = 1024;

/// Options that are set before a listener listens or a connection begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// The local address of connections; `None`: the system's choice.
    pub from: Option<Ipv4Addr>,
    /// Bytes of the send buffer; `None`: the system's choice.
    pub send_buffer: Option<usize>,
    /// Bytes of the receive buffer; `None`: the system's choice.
    pub receive_buffer: Option<usize>,
    /// The congestion control; `None`: the system's choice.
    pub congestion: Option<String>,
    /// Bytes that the kernel accepts before it has sent them (TCP_NOTSENT_LOWAT); `None`: as many as fit.
    pub unsent: Option<libc::c_int>,
    /// The most bytes a second that the kernel sends (SO_MAX_PACING_RATE); `None`: no limit.
    pub pace: Option<u64>,
}

/// Opens a listener. Its address need not belong to this host yet (IP_FREEBIND), since routes may come later.
/// Connections inherit buffers and congestion control; a receive buffer bounds the offered window only if it
/// is set before the connection.
pub fn listen(address: SocketAddrV4, options: &TcpOptions) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_freebind(true)?;
    options.set(&socket)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Begins to connect. The socket, whose options [`prepare`] has set, becomes writable when it has connected
/// or failed.
pub fn connect(to: SocketAddrV4, options: &TcpOptions, silence: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if let Some(from) = options.from {
        // The kernel chooses the port when the destination is known; otherwise ports run out at some 28,000.
        setsockopt(&socket, IpBindAddressNoPort, &true)?;
        socket.bind(&SocketAddrV4::new(from, 0).into())?;
    }
    options.set(&socket)?;
    prepare(&socket, silence)?;
    match socket.connect(&to.into()) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(e) => return Err(e),
    }
    Ok(socket.into())
}

/// Checks that this kernel lets this process use these options.
pub fn check(options: &TcpOptions) -> io::Result<()> {
    options.set(&Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?)
}

impl TcpOptions {
    fn set(&self, socket: &Socket) -> io::Result<()> {
        if let Some(bytes) = self.send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(name) = &self.congestion {
            socket.set_tcp_congestion(name.as_bytes())?;
        }
        if let Some(rate) = self.pace {
            set_pace(socket, rate)?;
        }
        match self.unsent {
            Some(bytes) => sockopt::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes),
            None => Ok(()),
        }
    }
}

/// Bounds the bytes a second that a socket sends from now on, to 1 at least. Pure TCP pacing: no discipline
/// of the interface is needed.
pub fn set_pace(socket: &impl AsFd, rate: u64) -> io::Result<()> {
    // u32::MAX is the kernel's "no limit".
    let rate = u32::try_from(rate.max(1)).unwrap_or(u32::MAX);
    sockopt::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(rate as libc::c_int))
}

/// Prepares a socket that was accepted or is about to connect: it does not block, and a peer that
/// acknowledges nothing for `silence` is lost; keepalive probes a silent peer from half of that time on.
pub fn prepare(socket: &impl AsFd, silence: Duration) -> io::Result<()> {
    let second = Duration::from_secs(1);
    let socket = SockRef::from(socket);
    socket.set_nonblocking(true)?;
    socket.set_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(silence))?;
    let keepalive = TcpKeepalive::new().with_time((silence / 2).max(second));
    socket.set_tcp_keepalive(&keepalive.with_interval((silence / 6).max(second)))
}

/// Makes the kernel reset the connection if this process dies, so that the peer does not take a part of a
/// stream for the whole.
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    SockRef::from(stream).set_linger(Some(Duration::ZERO))
}

/// Makes closing graceful, without a reset, because the peer has the whole stream.
pub fn set_graceful(stream: &TcpStream) {
    // A connection that is gone needs no option.
    let _ = SockRef::from(stream).set_linger(None);
}

/// Bytes written to the socket and not acknowledged by the peer's TCP; the FIN counts as one (SIOCOUTQ:
/// `write_seq - snd_una`).
pub fn unacknowledged(stream: &TcpStream) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ (the same number as SIOCOUTQ) writes one int, to which the pointer points.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    Errno::result(result).map_err(io::Error::from)?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// The error of a socket, if there is one; the kernel reports it only once.
pub fn failure(stream: &TcpStream) -> Option<io::Error> {
    match stream.take_error() {
        Ok(error) => error,
        Err(error) => Some(error),
    }
}

/// Whether an operation would block, and only needs to be tried again later.
pub fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// The next connection at a listener.
#[derive(Debug)]
pub enum Accepted {
    /// A connection, which [`prepare`] has prepared.
    Peer(TcpStream, SocketAddrV4),
    /// A connection for which there was no descriptor, and which was reset.
    Refused,
}

/// Connections in a row that may fail to be accepted before the listener counts as empty.
const FAILED_ACCEPTS: usize = 64;

/// Accepts connections. Its spare descriptor is given up to accept, and so refuse, a connection when
/// descriptors run out.
#[derive(Debug)]
pub struct Acceptor {
    spare: Option<File>,
}

impl Default for Acceptor {
    fn default() -> Self {
        Self { spare: File::open("/dev/null").ok() }
    }
}

impl Acceptor {
    /// The next connection; `None`: no more are waiting.
    pub fn accept(&mut self, listener: &TcpListener, silence: Duration) -> Option<Accepted> {
        // An error of a connection that has gone says nothing of those behind it; some errors come for ever.
        for _ in 0..FAILED_ACCEPTS {
            match listener.accept() {
                Ok((socket, SocketAddr::V4(peer))) if prepare(&socket, silence).is_ok() => {
                    return Some(Accepted::Peer(socket, peer));
                }
                Ok(_) => {}
                Err(error) if is_exhausted(&error) => {
                    self.spare.take()?;
                    let refused = listener.accept().and_then(|(socket, _)| reset_on_close(&socket));
                    *self = Self::default();
                    if refused.is_ok() {
                        return Some(Accepted::Refused);
                    }
                }
                Err(error) if is_later(&error) => return None,
                // A connection that the client gave up while it waited is not worth an event.
                Err(_) => {}
            }
        }
        None
    }
}

/// The text for an error for which [`is_exhausted`] is true.
pub const EXHAUSTED: &str = "no file descriptor is left (see ulimit -n)";

/// Whether file descriptors have run out.
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Bytes of `struct tcp_info` that are read; the struct only ever grows at its end.
const INFO: usize = 236;

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
        let mut info = [0u8; INFO];
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
            rto_us: number(8),                                                           // tcpi_rto
            rtt_us: number(68),                                                          // tcpi_rtt
            least_rtt_us: Some(number(148)).filter(|&rtt| rtt != u32::MAX).unwrap_or(0), // tcpi_min_rtt
            own_segment: number(20),                                                     // tcpi_rcv_mss
            unacknowledged: number(24),                                                  // tcpi_unacked
            unsent: number(144),                                                         // tcpi_notsent_bytes
            acknowledged: long(120),                                                     // tcpi_bytes_acked
            resent: number(100),                                                         // tcpi_total_retrans
            sent: number(156),                                                           // tcpi_data_segs_out
            window_limited_us: long(176),                                                // tcpi_rwnd_limited
            peer_window: number(228), // tcpi_snd_wnd, since Linux 5.4
            own_window: number(232),  // tcpi_rcv_wnd, since Linux 6.2
            // tcpi_snd_wscale and tcpi_rcv_wscale, of four bits each: that of the peer's windows comes first.
            own_scale: if cfg!(target_endian = "big") { info[6] & 15 } else { info[6] >> 4 },
        })
    }

    /// Whether the peer was last told a window of `window` bytes, in whole units.
    pub fn advertises(&self, window: u64) -> bool {
        u64::from(self.own_window) == window.next_multiple_of(1 << self.own_scale)
    }
}
