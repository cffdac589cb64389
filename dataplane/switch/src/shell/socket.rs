//! Packet sockets: the part that receiving and sending share.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;
use nix::errno::Errno;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};

use super::error::ShellError;

/// A packet socket that is not bound yet, and receives nothing until it is.
pub fn packet_socket() -> Result<OwnedFd, ShellError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    // Without a protocol: otherwise frames of all interfaces come in before bind().
    socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(|error| match error {
        Errno::EPERM | Errno::EACCES => ShellError::NotRoot,
        error => ShellError::System("packet socket", error.into()),
    })
}

/// Binds to the interface with an index: frames of `protocol` come in (0 for none), and sent frames go
/// out there.
pub fn bind(socket: &OwnedFd, index: c_int, protocol: c_int) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain integers, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index;
    let pointer: *const libc::sockaddr_ll = &address;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer is to `length` readable bytes that outlive the call.
    succeeded(unsafe { libc::bind(socket.as_raw_fd(), pointer.cast(), length) })
}

/// The index of the interface that a socket is bound to: -1 once that has gone, for good.
pub fn bound_index(socket: &OwnedFd) -> c_int {
    // SAFETY: sockaddr_ll is plain integers, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let pointer: *mut libc::sockaddr_ll = &mut address;
    // nix takes no address of 18 bytes, as an Ethernet interface has.
    // SAFETY: the pointer is to `length` writable bytes that outlive the call.
    let asked = succeeded(unsafe { libc::getsockname(socket.as_raw_fd(), pointer.cast(), &mut length) });
    asked.map_or(-1, |()| address.sll_ifindex)
}

/// The index of an interface; `None` where there is no such interface.
pub fn interface_index(name: &str) -> Option<c_int> {
    c_int::try_from(nix::net::if_::if_nametoindex(name).ok()?).ok()
}

fn succeeded(result: c_int) -> io::Result<()> {
    Ok(Errno::result(result).map(drop)?)
}
