//! What sender and forwarder need of packet sockets.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::c_int;

/// Frames a call of sendmmsg.
pub const BATCH: usize = 64;

/// A packet socket bound to an interface. It receives nothing while `protocol` is 0.
pub fn packet_socket(interface: &str, protocol: c_int) -> io::Result<OwnedFd> {
    let socket = open()?;
    bind(&socket, interface, protocol)?;
    Ok(socket)
}

/// A packet socket that is not bound yet.
pub fn open() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is new and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Binds to an interface.
pub fn bind(socket: &OwnedFd, interface: &str, protocol: c_int) -> io::Result<()> {
    let name = CString::new(interface).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: name is a string that ends with a zero byte and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: sockaddr_ll is plain integers, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index as c_int;
    let pointer: *const libc::sockaddr_ll = &address;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: pointer is to `length` readable bytes that outlive the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), pointer.cast(), length) })?;
    Ok(())
}

/// Sets an option of level SOL_PACKET.
pub fn set_option<T: Copy>(socket: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    let pointer: *const T = value;
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: pointer is to size_of::<T>() readable bytes that outlive the call.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, pointer.cast(), length) };
    check(result)?;
    Ok(())
}

/// The error of a call that returned -1.
pub fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Sends frames out of one interface, a batch a call, past the queueing discipline.
pub struct Sender {
    socket: OwnedFd,
    vectors: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

impl Sender {
    pub fn open(interface: &str) -> io::Result<Sender> {
        let socket = packet_socket(interface, 0)?;
        set_option(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
        // SAFETY: these are integers and pointers, for which zero (null) is valid.
        let (vector, message): (libc::iovec, libc::mmsghdr) = unsafe { (zeroed(), zeroed()) };
        Ok(Sender { socket, vectors: vec![vector; BATCH], messages: vec![message; BATCH] })
    }

    /// Sends at most [`BATCH`] frames; those that the interface refuses are lost.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) {
        let mut count = 0;
        for (n, frame) in frames.take(BATCH).enumerate() {
            self.vectors[n] =
                libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            self.messages[n].msg_hdr.msg_iov = &mut self.vectors[n];
            self.messages[n].msg_hdr.msg_iovlen = 1;
            count = n + 1;
        }
        let mut at = 0;
        while at < count {
            let left = (count - at) as libc::c_uint;
            let messages = self.messages[at..].as_mut_ptr();
            // SAFETY: the messages from `at` to `count` were set above to frames that outlive the call.
            let sent = unsafe { libc::sendmmsg(self.fd(), messages, left, libc::MSG_DONTWAIT as _) };
            // The error is the first message's; the others may still go.
            at += usize::try_from(sent).unwrap_or(0).max(1);
        }
    }

    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
