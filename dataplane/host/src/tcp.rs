//! Non-blocking TCP sockets: their options and the state of their queues.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
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
            Some(bytes) => sockopt::set_int(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes),
            None => Ok(()),
        }
    }
}

/// Bounds the bytes a second that a socket sends from now on, to 1 at least. Pure TCP pacing: no discipline of
/// the interface is needed.
pub fn set_pace(socket: &impl AsFd, rate: u64) -> io::Result<()> {
    // u32::MAX is the kernel's "no limit".
    let rate = u32::try_from(rate.max(1)).unwrap_or(u32::MAX);
    sockopt::set_int(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate as libc::c_int)
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

/// The text for an error for which [`is_exhausted`] is true.
pub const EXHAUSTED: &str = "no file descriptor is left (see ulimit -n)";

/// Whether file descriptors have run out.
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
