//! Transmission of frames: one packet socket for each interface, written in batches.
//!
//! A ring in shared memory (PACKET_TX_RING) would save a copy, but veth hands the far end pages of the ring
//! and at once reports them free: frames that wait there would change.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use groupflow_host::sockopt::set_option;
use libc::c_int;

use super::error::{system, ShellError};
use super::socket::{bind, packet_socket};

const BATCH: usize = 64;
/// Kernel buffer of the socket, in bytes.
const SEND_BUFFER: c_int = 8 << 20;

/// Sends frames to one interface. No frame is held between calls of [`Transmitter::send`].
pub struct Transmitter {
    socket: OwnedFd,
    vectors: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `vectors` and `messages` are only used within send(), which sets them first.
unsafe impl Send for Transmitter {}

impl Transmitter {
    /// A transmitter for the interface with this index. The socket receives nothing.
    pub fn open(index: c_int) -> Result<Transmitter, ShellError> {
        let socket = packet_socket()?;
        // Without the bypass, frames go through the interface's queueing discipline, which is slower but
        // correct.
        if let Err(error) = set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1) {
            tracing::info!(%error, "PACKET_QDISC_BYPASS is not available");
        }
        if set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER).is_err() {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER)
                .map_err(system("SO_SNDBUF"))?;
        }
        // The kernel then looks the interface up once, not for each frame.
        bind(&socket, index, 0).map_err(system("binding a socket to send"))?;
        // SAFETY: these are integers and pointers, for which zero (null) is valid.
        let (vector, message): (libc::iovec, libc::mmsghdr) = unsafe { (zeroed(), zeroed()) };
        Ok(Transmitter { socket, vectors: vec![vector; BATCH], messages: vec![message; BATCH] })
    }

    /// Sends frames in order. Calls `failed` with each that the interface did not take, and the cause.
    pub fn send<'a>(
        &mut self, mut frames: impl Iterator<Item = &'a [u8]>, mut failed: impl FnMut(usize, io::Error),
    ) {
        loop {
            let mut count = 0;
            for frame in frames.by_ref().take(BATCH) {
                let iov_base = frame.as_ptr().cast_mut().cast();
                self.vectors[count] = libc::iovec { iov_base, iov_len: frame.len() };
                count += 1;
            }
            // One pointer for all, once they are set: each new borrow of the vector would end the pointers
            // before.
            let vectors = self.vectors.as_mut_ptr();
            for (n, message) in self.messages[..count].iter_mut().enumerate() {
                message.msg_hdr.msg_iov = vectors.wrapping_add(n);
                message.msg_hdr.msg_iovlen = 1;
            }
            self.send_batch(count, &mut failed);
            if count < BATCH {
                return;
            }
        }
    }

    fn send_batch(&mut self, count: usize, failed: &mut impl FnMut(usize, io::Error)) {
        let mut at = 0;
        while at < count {
            // SAFETY: send() set the messages up to `count` to live vectors and frames, and sendmmsg only
            // reads the frames.
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
                    failed(self.vectors[at].iov_len, error);
                    at += 1;
                }
            }
        }
    }
}
