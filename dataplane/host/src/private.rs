//! Unix sockets for processes of this user and of root alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::sys::stat::{fchmod, Mode};
use socket2::{Domain, SockAddr, Socket, Type};

/// Listens at a path. Linux gives the file the socket's own mode, so that no other user can open it, not
/// even for the moment in which it is made.
pub fn listen(path: &Path, kind: Type, backlog: i32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, kind, None)?;
    fchmod(socket.as_raw_fd(), Mode::S_IRUSR | Mode::S_IWUSR)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(backlog)?;
    Ok(socket)
}

/// Whether the process at the other end of a Unix socket is of this process's user, or root's.
pub fn is_ours(socket: &impl AsFd) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    getsockopt(socket, PeerCredentials).is_ok_and(|peer| [0, own].contains(&peer.uid()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_is_its_owners_and_the_peer_is_known() {
        let path = std::env::temp_dir().join(format!("gf-private-{}", std::process::id()));
        let listener = listen(&path, Type::STREAM, 1).expect("it listens");
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let client = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
        client.connect(&SockAddr::unix(&path).expect("short")).expect("connected");
        let (served, _) = listener.accept().expect("accepted");
        assert!(is_ours(&served) && is_ours(&client));
        std::fs::remove_file(&path).expect("removed");
    }
}
