//! Socket options that neither socket2 nor nix offers, and Unix sockets for processes of this user and of
//! root alone.

use std::fs::{remove_file, symlink_metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::stat::{fchmod, Mode};
use socket2::{Domain, SockAddr, Socket, Type};

/// Has a packet socket receive frames for a group address on an interface, which its card may filter out.
pub fn join_link_group(socket: &impl AsFd, interface: u32, group: [u8; 6]) -> io::Result<()> {
    let mut address = [0; 8];
    address[..6].copy_from_slice(&group);
    let member = libc::packet_mreq {
        mr_ifindex: interface as libc::c_int,
        mr_type: libc::PACKET_MR_MULTICAST as u16,
        mr_alen: 6,
        mr_address: address,
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)
}

/// Sets an option to plain data.
pub fn set_option<T: Copy>(
    socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &T,
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = std::mem::size_of::<T>() as libc::socklen_t;
    let pointer: *const T = value;
    // SAFETY: the pointer and the length are those of `value`, which lives through the call.
    let result = unsafe { libc::setsockopt(fd, level, name, pointer.cast(), length) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Reads an option whose value is plain integers, for which every pattern of bits is valid.
pub fn option<T: Copy + Default>(socket: &impl AsFd, level: libc::c_int, name: libc::c_int) -> io::Result<T> {
    let (fd, mut value) = (socket.as_fd().as_raw_fd(), T::default());
    let mut length = std::mem::size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many.
    let result =
        unsafe { libc::getsockopt(fd, level, name, std::ptr::addr_of_mut!(value).cast(), &mut length) };
    Errno::result(result).map_err(io::Error::from)?;
    Ok(value)
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// A Unix socket for processes of this user and of root, which does not block. Its file is removed at the
/// end.
#[derive(Debug)]
pub struct PrivateListener {
    listener: UnixListener,
    path: PathBuf,
}

impl PrivateListener {
    /// Begins to listen. A socket that a dead program left there is replaced.
    pub fn open(path: &Path) -> io::Result<PrivateListener> {
        let is_socket = symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
        let answer = is_socket.then(|| UnixStream::connect(path));
        if matches!(answer, Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused) {
            remove_file(path)?;
        }
        // Linux gives the file the socket's own mode, so that no other user can open it, not even for the
        // moment in which it is made.
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        fchmod(socket.as_raw_fd(), Mode::S_IRUSR | Mode::S_IWUSR)?;
        socket.bind(&SockAddr::unix(path)?)?;
        socket.listen(BACKLOG)?;
        Ok(PrivateListener { listener: socket.into(), path: path.to_owned() })
    }

    /// The listener for a runtime's own loop, which asks [`is_ours`] of each client.
    pub fn for_runtime(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Accepts the next client. Clients of other users are closed: the file's mode keeps them out only where
    /// nobody has changed it.
    pub fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (client, _) = self.listener.accept()?;
            if is_ours(&client) {
                client.set_nonblocking(true)?;
                return Ok(client);
            }
        }
    }
}

impl AsFd for PrivateListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for PrivateListener {
    fn drop(&mut self) {
        // Another process may have removed the file.
        let _ = remove_file(&self.path);
    }
}

/// Whether the process at the other end of a Unix socket is of this process's user, or root's.
pub fn is_ours(socket: &impl AsFd) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    getsockopt(socket, PeerCredentials).is_ok_and(|peer| [0, own].contains(&peer.uid()))
}
