//! Socket options with an int as value that neither socket2 nor nix offers.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;

/// Sets an option.
pub fn set_int(
    socket: &impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which lives through the call.
    let result = unsafe { libc::setsockopt(fd, level, name, std::ptr::addr_of!(value).cast(), length) };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// Reads an option.
pub fn get_int(socket: &impl AsFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let (fd, mut value) = (socket.as_fd().as_raw_fd(), 0);
    let mut length = std::mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many.
    let result =
        unsafe { libc::getsockopt(fd, level, name, std::ptr::addr_of_mut!(value).cast(), &mut length) };
    Errno::result(result).map_err(io::Error::from)?;
    Ok(value)
}
