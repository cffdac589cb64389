//! Sends frames: one packet socket for all interfaces, written in batches.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

use libc::c_int;

use super::error::{system, ShellError};
use super::rx::{packet_socket, set_option};

/// Frames sent per call.
const BATCH: usize = 64;
/// Kernel buffer of the socket, in bytes.
const SEND_BUFFER: c_int = 8 << 20;

/// A packet socket that sends to any interface.
pub struct Transmitter {
    socket: OwnedFd,
    addresses: Vec<libc::sockaddr_ll>,
    vectors: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `vectors` and `messages` are only used within send(), which sets them first.
unsafe impl Send for Transmitter {}

impl Transmitter {
    /// A socket that receives nothing.
    pub fn open() -> Result<Transmitter, ShellError> {
        let socket = packet_socket(0)?;
        // Without the bypass frames go through the interface's queueing discipline: slower, not wrong.
        if let Err(error) = set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1) {
            tracing::info!(%error, "PACKET_QDISC_BYPASS is not available");
        }
        if set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER).is_err() {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER)
                .map_err(system("SO_SNDBUF"))?;
        }
        // SAFETY: these are integers and pointers, for which zero (null) is valid.
        let (mut address, vector, message): (libc::sockaddr_ll, libc::iovec, libc::mmsghdr) =
            unsafe { (zeroed(), zeroed(), zeroed()) };
        address.sll_family = libc::AF_PACKET as u16;
        Ok(Transmitter {
            socket,
            addresses: vec![address; BATCH],
            vectors: vec![vector; BATCH],
            messages: vec![message; BATCH],
        })
    }

    /// Sends frames to the interfaces with these indices, in order. Calls `failed` with the position and
    /// the cause of each that the interface did not take.
    pub fn send<'a, I>(&mut self, frames: I, mut failed: impl FnMut(usize, io::Error))
    where
        I: ExactSizeIterator<Item = (c_int, &'a [u8])>,
    {
        let total = frames.len();
        let mut frames = frames;
        let mut done = 0;
        while done < total {
            let count = BATCH.min(total - done);
            for (n, (index, bytes)) in frames.by_ref().take(count).enumerate() {
                self.prepare(n, index, bytes);
            }
            self.send_batch(count, |n, error| failed(done + n, error));
            done += count;
        }
    }

    fn prepare(&mut self, n: usize, index: c_int, bytes: &[u8]) {
        self.addresses[n].sll_ifindex = index;
        self.vectors[n] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let message = &mut self.messages[n].msg_hdr;
        let address: *mut libc::sockaddr_ll = &mut self.addresses[n];
        message.msg_name = address.cast();
        message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        message.msg_iov = &mut self.vectors[n];
        message.msg_iovlen = 1;
    }

    fn send_batch(&mut self, count: usize, mut failed: impl FnMut(usize, io::Error)) {
        let mut at = 0;
        while at < count {
            // SAFETY: prepare() set the messages up to `count` to live addresses, vectors and frames, and
            // sendmmsg only reads the frames.
            let sent = unsafe {
                libc::sendmmsg(
                    self.socket.as_raw_fd(),
                    self.messages[at..].as_mut_ptr(),
                    (count - at) as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                )
            };
            match usize::try_from(sent) {
                Ok(sent) if sent > 0 => at += sent,
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() == io::ErrorKind::Interrupted {
                        continue;
                    }
                    // The error is the first unsent message's; the others may still go.
                    failed(at, error);
                    at += 1;
                }
            }
        }
    }
}
