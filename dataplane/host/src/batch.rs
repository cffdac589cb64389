//! Many datagrams in one system call: recvmmsg and sendmmsg over buffers that are reused.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{io, mem, ptr};

/// Datagrams a call moves at most.
pub const BATCH: usize = 64;
/// Larger than any group packet: a longer datagram is cut and then refused by the parser.
const SLOT: usize = 2048;

fn no_address() -> libc::sockaddr_in {
    to_raw(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0))
}

fn to_raw(address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

fn from_raw(raw: &libc::sockaddr_in) -> SocketAddrV4 {
    let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
    SocketAddrV4::new(ip, u16::from_be(raw.sin_port))
}

fn header(name: *mut libc::sockaddr_in, iov: *mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: mmsghdr is plain data for which all zeros is a valid value.
    let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
    message.msg_hdr.msg_name = name.cast();
    message.msg_hdr.msg_namelen = mem::size_of::<libc::sockaddr_in>() as libc::socklen_t;
    message.msg_hdr.msg_iov = iov;
    message.msg_hdr.msg_iovlen = 1;
    message
}

/// Buffers for received datagrams.
pub struct Inbox {
    buffers: Vec<u8>,
    addresses: Vec<libc::sockaddr_in>,
    lengths: [usize; BATCH],
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox { buffers: vec![0; BATCH * SLOT], addresses: vec![no_address(); BATCH], lengths: [0; BATCH] }
    }
}

impl Inbox {
    /// Receives what is there, without waiting; returns how many datagrams.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: SLOT }; BATCH];
        for (vector, slot) in vectors.iter_mut().zip(self.buffers.chunks_exact_mut(SLOT)) {
            vector.iov_base = slot.as_mut_ptr().cast();
        }
        let mut messages = [header(ptr::null_mut(), ptr::null_mut()); BATCH];
        for ((message, vector), address) in messages.iter_mut().zip(&mut vectors).zip(&mut self.addresses) {
            *message = header(address, vector);
        }
        // SAFETY: every header points to one vector and one address of arrays that outlive the
        // call, every vector to its own SLOT bytes of `buffers`; BATCH is the length of them all.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (length, message) in self.lengths.iter_mut().zip(&messages[..count]) {
            *length = (message.msg_len as usize).min(SLOT);
        }
        Ok(count)
    }

    /// A datagram of the last call.
    pub fn get(&self, index: usize) -> (SocketAddrV4, &[u8]) {
        let start = index * SLOT;
        (from_raw(&self.addresses[index]), &self.buffers[start..start + self.lengths[index]])
    }
}

/// A datagram to send.
pub struct Outgoing {
    /// Where to.
    pub to: SocketAddrV4,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// Sends the first [`BATCH`] datagrams, without waiting; returns how many were taken.
pub fn send(socket: BorrowedFd<'_>, datagrams: &[Outgoing]) -> io::Result<usize> {
    let datagrams = &datagrams[..datagrams.len().min(BATCH)];
    let mut addresses = [no_address(); BATCH];
    let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BATCH];
    let mut messages = [header(ptr::null_mut(), ptr::null_mut()); BATCH];
    for (i, datagram) in datagrams.iter().enumerate() {
        addresses[i] = to_raw(datagram.to);
        // The kernel only reads through this pointer.
        vectors[i].iov_base = datagram.bytes.as_ptr().cast_mut().cast();
        vectors[i].iov_len = datagram.bytes.len();
        messages[i] = header(&mut addresses[i], &mut vectors[i]);
    }
    // SAFETY: the first `datagrams.len()` headers point to addresses and vectors of arrays that
    // outlive the call, and the vectors to the datagrams' bytes, which are borrowed meanwhile.
    let count = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            datagrams.len() as libc::c_uint,
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn batches_arrive_with_their_senders() {
        let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a loopback socket"));
        let address = |socket: &UdpSocket| match socket.local_addr() {
            Ok(std::net::SocketAddr::V4(address)) => address,
            other => panic!("{other:?}"),
        };
        let out: Vec<Outgoing> = (0..BATCH as u8 + 1)
            .map(|i| Outgoing { to: address(&b), bytes: vec![i; usize::from(i)] })
            .collect();
        assert_eq!(send(a.as_fd(), &out).expect("sent"), BATCH);
        let mut inbox = Inbox::default();
        let count = inbox.receive(b.as_fd()).expect("received");
        assert_eq!(count, BATCH);
        for i in 0..count {
            assert_eq!(inbox.get(i), (address(&a), &vec![i as u8; i][..]));
        }
        let empty = inbox.receive(b.as_fd()).map_err(|e| e.kind());
        assert_eq!(empty, Err(io::ErrorKind::WouldBlock));
    }
}
