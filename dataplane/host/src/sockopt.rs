//! Socket options that neither socket2 nor nix offers, and Unix sockets for processes of this user and of
//! root alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::stat::{fchmod, Mode};
use socket2::{Domain, SockAddr, Socket, Type};

/// Sets an option whose value is an int.
pub fn set_int(
    socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: libc::c_int,
) -> io::Result<()> {
    set(socket, level, name, &value)
}

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
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &member)
}

/// Sets an option to plain data.
fn set<T: Copy>(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = std::mem::size_of::<T>() as libc::socklen_t;
    let pointer: *const T = value;
    // SAFETY: the pointer and the length are those of `value`, which lives through the call.
    let result = unsafe { libc::setsockopt(fd, level, name, pointer.cast(), length) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

pub fn get_int(socket: &impl AsFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let (fd, mut value) = (socket.as_fd().as_raw_fd(), 0);
    let mut length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many.
    let result =
        unsafe { libc::getsockopt(fd, level, name, std::ptr::addr_of_mut!(value).cast(), &mut length) };
    Errno::result(result).map_err(io::Error::from)?;
    Ok(value)
}

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
