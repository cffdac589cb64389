//! A receive ring that the kernel writes into: TPACKET_V2, a frame a slot.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::socket::{bind, open, set_option};

/// Bytes of a slot: a frame of an interface with an MTU of 1500, and what the kernel puts in front.
const SLOT: usize = 2048;
const SLOTS: usize = 4096;
const BLOCK: usize = 1 << 16;

pub struct Ring {
    socket: OwnedFd,
    start: *mut u8,
    next: usize,
}

impl Ring {
    pub fn open(interface: &str) -> io::Result<Ring> {
        let socket = open()?;
        set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set_option(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        let size = SLOTS * SLOT;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (size / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set_option(&socket, libc::PACKET_RX_RING, &request)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of a size that the kernel checks against the ring's.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        bind(&socket, interface, libc::ETH_P_ALL)?;
        Ok(Ring { socket, start: start.cast(), next: 0 })
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: a slot begins with tp_status, which is aligned; kernel and we change it atomically.
        unsafe { &*self.start.add(slot % SLOTS * SLOT).cast::<AtomicU32>() }
    }

    /// Frames that are there, at most `most`.
    pub fn ready(&self, most: usize) -> usize {
        (0..most.min(SLOTS))
            .take_while(|n| self.status(self.next + n).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0)
            .count()
    }

    /// The `n`th of the frames that are there.
    pub fn frame(&self, n: usize) -> &[u8] {
        let at = (self.next + n) % SLOTS * SLOT;
        // SAFETY: the slot is ours until it is released, and begins with this header, which says where the
        // frame is within the slot.
        unsafe {
            let header = &*self.start.add(at).cast::<libc::tpacket2_hdr>();
            let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
            debug_assert!(size_of::<libc::tpacket2_hdr>() <= start && start + length <= SLOT);
            std::slice::from_raw_parts(self.start.add(at + start), length)
        }
    }

    /// Gives the first `count` frames' slots back.
    pub fn release(&mut self, count: usize) {
        for n in 0..count {
            self.status(self.next + n).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        self.next = (self.next + count) % SLOTS;
    }

    /// Waits for a frame.
    pub fn wait(&self) {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one pollfd that outlives the call.
        unsafe { libc::poll(&mut poll, 1, -1) };
    }
}
