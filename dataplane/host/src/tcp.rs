//! TCP sockets: non-blocking, reset when the agent dies, and what the kernel knows of them.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;
/// Bytes that the kernel takes before it has sent them (TCP_NOTSENT_LOWAT): what waits there cannot go over a
/// faster stripe.
const UNSENT: libc::c_int = 16 << 10;
/// A silent peer is asked whether it is there after so long.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// What a listener or a connection has set before it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Bytes of the send buffer; `None`: the system's choice.
    pub send_buffer: Option<usize>,
    /// Bytes of the receive buffer; `None`: the system's choice.
    pub receive_buffer: Option<usize>,
    /// The congestion control; `None`: the system's choice.
    pub congestion: Option<String>,
}

/// A listener. The address need not be this host's yet (IP_FREEBIND): routes may come later.
pub fn listen(address: SocketAddrV4, spec: Option<&TcpOptions>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_freebind(true)?;
    if let Some(spec) = spec {
        // Inherited by what is accepted; only a buffer that is set before bounds the window that is offered.
        if let Some(bytes) = spec.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        set_congestion(&socket, spec)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Begins to connect; the socket is writable when it is done or has failed.
pub fn connect(
    from: Ipv4Addr,
    to: SocketAddrV4,
    spec: &TcpOptions,
    patience: Duration,
) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if !from.is_unspecified() {
        // The port is chosen when it is known where to: or the ports run out at some 28,000.
        bind_address_no_port(&socket)?;
        socket.bind(&SocketAddrV4::new(from, 0).into())?;
    }
    if let Some(bytes) = spec.send_buffer {
        socket.set_send_buffer_size(bytes)?;
    }
    set_congestion(&socket, spec)?;
    prepare(&socket, patience)?;
    match socket.connect(&to.into()) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(e) => return Err(e),
    }
    Ok(socket.into())
}

/// What every connection of a stream has. Linger 0: when the agent dies, the kernel resets the
/// connection, so that nobody takes a part of a stream for all of it.
pub fn prepare(socket: &Socket, patience: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_tcp_user_timeout(Some(patience))?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3))?;
    Ok(())
}

/// Prepares what was accepted.
pub fn prepare_accepted(stream: &TcpStream, patience: Duration) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_nonblocking(true)?;
    prepare(&socket, patience)
}

/// The stream is over and the peer has all of it: closing is no reset.
pub fn set_graceful(stream: &TcpStream) {
    // A connection that is gone needs none.
    let _ = socket2::SockRef::from(stream).set_linger(None);
}

fn set_congestion(socket: &Socket, spec: &TcpOptions) -> io::Result<()> {
    let Some(name) = &spec.congestion else {
        return Ok(());
    };
    // SAFETY: the pointer and the length are those of `name`, which lives through the call.
    let result = unsafe {
        let length = name.len() as libc::socklen_t;
        let value = name.as_ptr().cast::<libc::c_void>();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, value, length)
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Whether this kernel lets this process use a congestion control.
pub fn check_congestion(spec: &TcpOptions) -> io::Result<()> {
    set_congestion(&Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?, spec)
}

fn bind_address_no_port(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length are those of `on`, which lives through the call.
    let result = unsafe {
        let (value, length) = (std::ptr::addr_of!(on).cast::<libc::c_void>(), std::mem::size_of_val(&on));
        let option = libc::IP_BIND_ADDRESS_NO_PORT;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, option, value, length as libc::socklen_t)
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Bytes that were written to the socket and are not acknowledged by the peer's TCP; the FIN counts as
/// one (SIOCOUTQ: `write_seq - snd_una`).
pub fn unacknowledged(stream: &TcpStream) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ (the same number as SIOCOUTQ) writes one int, to which the pointer points.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    Errno::result(result).map_err(io::Error::from)?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// Bytes of the stream that a connection has taken since it was made, whichever process wrote them, and
/// whether the end, too.
pub fn taken(stream: &TcpStream) -> io::Result<(u64, bool)> {
    // Acknowledgements between the two calls would be counted twice or not at all.
    let (mut before, _) = info(stream)?;
    loop {
        let waiting = unacknowledged(stream)?;
        let (after, state) = info(stream)?;
        if before == after {
            // Who has connected counts its SYN as acknowledged; the FIN is in `waiting` or in `after`.
            let told_end = !matches!(state, ESTABLISHED | CLOSE_WAIT);
            let bytes = (after + waiting).saturating_sub(1 + u64::from(told_end));
            return Ok((bytes, told_end));
        }
        before = after;
    }
}

/// States of a connection (linux/tcp_states.h) in which no FIN was sent.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

/// `tcpi_bytes_acked` and `tcpi_state` (linux/tcp.h: 8 bytes, 24 u32, two u64, then the bytes; since 4.1).
fn info(stream: &TcpStream) -> io::Result<(u64, u8)> {
    const BYTES_ACKED: usize = 8 + 24 * 4 + 2 * 8;
    let mut info = [0u8; BYTES_ACKED + 8];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has as many.
    let result = unsafe {
        let value = info.as_mut_ptr().cast::<libc::c_void>();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, value, &mut length)
    };
    Errno::result(result).map_err(io::Error::from)?;
    let acked = info[BYTES_ACKED..].try_into().map_or(0, u64::from_ne_bytes);
    Ok((acked, info[0]))
}

/// Begins to connect; the socket is writable when it is done or has failed.
pub fn begin(to: SocketAddrV4, congestion: Option<&str>, silence: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(silence))?;
    let keepalive = TcpKeepalive::new().with_time((silence / 2).max(Duration::from_secs(1)));
    socket.set_tcp_keepalive(&keepalive)?;
    if let Some(name) = congestion {
        set_option(&socket, libc::TCP_CONGESTION, name.as_ptr().cast(), name.len())?;
    }
    bound_unsent(&socket, UNSENT)?;
    match socket.connect(&to.into()) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(e) => return Err(e),
    }
    Ok(socket.into())
}

/// The kernel takes no more than so many bytes before it has sent them (TCP_NOTSENT_LOWAT).
pub fn bound_unsent(socket: &Socket, most: libc::c_int) -> io::Result<()> {
    let value = std::ptr::addr_of!(most).cast();
    set_option(socket, libc::TCP_NOTSENT_LOWAT, value, std::mem::size_of_val(&most))
}

/// `value` points to `length` bytes that live through the call.
fn set_option(
    socket: &Socket,
    name: libc::c_int,
    value: *const libc::c_void,
    length: usize,
) -> io::Result<()> {
    // SAFETY: the callers' values are a text and a constant, with their own lengths.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, name, value, length as libc::socklen_t)
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// An error that came to the socket, if one did; it is told once.
pub fn failure(stream: &TcpStream) -> Option<io::Error> {
    match stream.take_error() {
        Ok(error) => error,
        Err(error) => Some(error),
    }
}

/// Whether an operation is only to be tried again later.
pub fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// What is said when [`is_exhausted`].
pub const EXHAUSTED: &str = "no file descriptor is left (see ulimit -n)";

/// Whether file descriptors have run out.
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener};

    #[test]
    fn what_a_connection_has_taken_is_counted_by_the_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        assert_eq!(taken(&stream).expect("known"), (0, false));
        stream.write_all(&[7; 1000]).expect("sent");
        assert_eq!(taken(&stream).expect("known"), (1000, false));
        peer.read_exact(&mut [0; 1000]).expect("received");
        assert_eq!(taken(&stream).expect("known"), (1000, false));
        // Whether the peer has ended its side is no matter.
        drop(peer);
        assert_eq!(taken(&stream).expect("known"), (1000, false));
    }

    #[test]
    fn the_end_is_no_byte() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        stream.set_nonblocking(true).expect("an option");
        // More than the peer, who does not read, has room for: some of it is not acknowledged.
        let mut written = 0;
        while let Ok(count) = stream.write(&[7; 65_536]) {
            written += count as u64;
        }
        assert_eq!(taken(&stream).expect("known"), (written, false));
        stream.shutdown(Shutdown::Write).expect("ended");
        assert_eq!(taken(&stream).expect("known"), (written, true));
        let mut got = Vec::new();
        peer.read_to_end(&mut got).expect("received");
        assert_eq!(got.len() as u64, written);
        assert_eq!(taken(&stream).expect("known"), (written, true));
    }
}
