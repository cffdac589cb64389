//! Unix sockets for processes of this user and of root alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::sys::stat::{fchmod, Mode};
use socket2::{Domain, SockAddr, Socket, Type};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Listens at a path. Linux gives the file the socket's own mode, so that no other user can open it, not
/// even for the moment in which it is made.
pub fn listen(path: &Path) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    fchmod(socket.as_raw_fd(), Mode::S_IRUSR | Mode::S_IWUSR)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Whether the process at the other end of a Unix socket is of this process's user, or root's.
pub fn is_ours(socket: &impl AsFd) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    getsockopt(socket, PeerCredentials).is_ok_and(|peer| [0, own].contains(&peer.uid()))
}
