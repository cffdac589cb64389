//! The window that a live connection advertises.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::errno::Errno;

/// The least that the kernel lets a window be clamped to (half of SOCK_MIN_RCVBUF).
pub const LEAST: u64 = 1152;
/// The most that is set.
pub const MOST: u64 = 1 << 30;
/// Not in libc: gives SO_RCVBUF back to the kernel (asm-generic/socket.h, since Linux 5.15).
const SO_BUF_LOCK: libc::c_int = 72;

/// Lets the connection advertise `window` bytes from now on; `None`: what the kernel finds right.
pub fn set(stream: &TcpStream, window: Option<u64>) -> io::Result<()> {
    let Some(window) = window else {
        option(stream, libc::SOL_SOCKET, SO_BUF_LOCK, 0)?;
        return option(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, libc::c_int::MAX);
    };
    // At most MOST.
    let window = window.clamp(LEAST, MOST) as libc::c_int;
    option(stream, libc::SOL_SOCKET, libc::SO_RCVBUF, window)?;
    option(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window)
}

fn option(stream: &TcpStream, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`, which lives through the call.
    let result = unsafe {
        let (pointer, length) =
            (std::ptr::addr_of!(value).cast::<libc::c_void>(), std::mem::size_of_val(&value));
        libc::setsockopt(stream.as_raw_fd(), level, name, pointer, length as libc::socklen_t)
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}
