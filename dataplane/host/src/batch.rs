//! Many datagrams in one system call: recvmmsg and sendmmsg.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddrV4;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{mem, ptr};

use nix::sys::socket::{recvmmsg, MsgFlags, MultiHeaders, SockaddrIn, SockaddrLike};

/// The most datagrams moved by one call.
pub const BATCH: usize = 64;
/// Bytes of a receive buffer, more than any group packet has: a longer datagram is cut, and then refused by
/// the parser.
const SLOT: usize = 2048;

/// Buffers for received datagrams.
pub struct Inbox {
    buffers: Vec<u8>,
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox { buffers: vec![0; BATCH * SLOT] }
    }
}

impl Inbox {
    /// Hands waiting datagrams to `take`, without blocking; returns their number, at most [`BATCH`].
    pub fn receive(
        &mut self, socket: BorrowedFd<'_>, mut take: impl FnMut(SocketAddrV4, &[u8]),
    ) -> io::Result<usize> {
        let mut slots: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers.chunks_exact_mut(SLOT).map(|slot| [IoSliceMut::new(slot)]).collect();
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
        let received =
            recvmmsg(socket.as_raw_fd(), &mut headers, slots.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
        let mut count = 0;
        for datagram in received {
            if let Some(from) = datagram.address {
                take(from.into(), datagram.iovs().next().unwrap_or_default());
            }
            count += 1;
        }
        Ok(count)
    }
}

pub struct OutgoingDatagram {
    pub to: SocketAddrV4,
    pub bytes: Vec<u8>,
}

/// Sends the first [`BATCH`] datagrams, without waiting; returns how many were taken. (nix's sendmmsg gives
/// the count only by way of addresses that it never wrote.)
pub fn send(socket: BorrowedFd<'_>, datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
    let datagrams = &datagrams[..datagrams.len().min(BATCH)];
    let mut addresses: Vec<SockaddrIn> = datagrams.iter().map(|datagram| datagram.to.into()).collect();
    let mut payloads: Vec<IoSlice<'_>> =
        datagrams.iter().map(|datagram| IoSlice::new(&datagram.bytes)).collect();
    let mut messages: Vec<libc::mmsghdr> = addresses
        .iter_mut()
        .zip(&mut payloads)
        .map(|(address, payload)| {
            // SAFETY: mmsghdr is plain data for which all zeros is a valid value.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_name = ptr::addr_of_mut!(*address).cast();
            message.msg_hdr.msg_namelen = address.len();
            // An IoSlice has the layout of an iovec; the kernel only reads through it.
            message.msg_hdr.msg_iov = ptr::addr_of_mut!(*payload).cast();
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let (fd, count) = (socket.as_raw_fd(), messages.len() as libc::c_uint);
    // SAFETY: there are `count` messages; each points to an address and a payload of vectors that outlive the
    // call.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
