//! A ring of frames in memory that the kernel shares with the process (PACKET_RX_RING, TPACKET_V2): a frame
//! is received without a system call, and its time of arrival costs nothing.
//!
//! TPACKET_V3 packs frames more tightly, but shows them a block at a time, up to milliseconds late.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use groupflow_host::sockopt::set_option;

/// Bytes of a slot: room for a frame of an interface with the usual MTU, and for the header that the kernel
/// puts in front of it. Of a longer frame the ring has the beginning.
const SLOT: usize = 2048;
/// Memory of the ring is allocated in such pieces; every slot is within one.
const BLOCK: usize = 1 << 16;
/// The header of a slot and the address behind it (TPACKET2_HDRLEN).
const HEADER: usize = 52;
/// struct virtio_net_hdr, which is in front of each frame.
pub const VNET_HEADER: usize = 10;

#[derive(Debug, Clone, Copy)]
pub struct RingSlot {
    /// `TP_STATUS_…`
    pub status: u32,
    /// The frame's bytes on the wire; fewer may be captured.
    pub length: usize,
    /// Bytes of the frame in the ring.
    pub captured: usize,
    /// When the frame arrived: ns since 1970.
    pub received_at: u64,
    /// The tag that the kernel took off, and its ethertype, as far as `status` says that they are valid.
    pub vlan_control: u16,
    /// See `vlan_control`.
    pub vlan_protocol: u16,
    pub start: usize,
}

/// The ring. Frames are taken in order, stay where they are, and are given back together.
#[derive(Debug)]
pub struct Ring {
    memory: NonNull<u8>,
    /// The number of slots less one, a mask that turns a slot's running number into its place.
    mask: usize,
    /// The oldest slot that was taken and is not given back yet.
    first: usize,
    next: usize,
}

// SAFETY: the mapping is this value's alone, and may be used from any thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives a socket, which must not be bound yet, a ring of `slots` slots: a power of two, at least a
    /// block.
    pub fn new(socket: &OwnedFd, slots: usize) -> io::Result<Ring> {
        let size = SLOT * slots;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (size / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: slots as u32,
        };
        set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of the size that was just asked for; the kernel checks it.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { memory, mask: slots - 1, first: 0, next: 0 })
    }

    pub fn take(&mut self) -> Option<RingSlot> {
        let status = self.status(self.next).load(Ordering::Acquire);
        // A slot that was taken still has the status with which it came.
        if status & libc::TP_STATUS_USER == 0 || self.next - self.first > self.mask {
            return None;
        }
        let at = (self.next & self.mask) * SLOT;
        // SAFETY: the slot is within the mapping, aligned for its header, and ours until it is given back.
        let header = unsafe { self.memory.as_ptr().add(at).cast::<libc::tpacket2_hdr>().read() };
        self.next += 1;
        let (offset, captured) = frame_in_slot(header.tp_mac, header.tp_snaplen);
        Some(RingSlot {
            status,
            length: header.tp_len as usize,
            captured,
            received_at: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            vlan_control: header.tp_vlan_tci,
            vlan_protocol: header.tp_vlan_tpid,
            start: at + offset,
        })
    }

    /// Bytes of a slot that was taken and not given back. `start` and `length` are those of the frame in it,
    /// or reach over the bytes in front of it, which are free for use up to the slot's header.
    pub fn bytes(&self, start: usize, length: usize) -> &[u8] {
        self.check(start, length);
        // SAFETY: within a slot that is ours, as checked; no code writes while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), length) }
    }

    /// Does the same as [`Ring::bytes`], for changes.
    pub fn bytes_mut(&mut self, start: usize, length: usize) -> &mut [u8] {
        self.check(start, length);
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().add(start), length) }
    }

    pub fn release(&mut self) {
        for slot in self.first..self.next {
            self.status(slot).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        self.first = self.next;
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: a slot within the mapping begins with tp_status, which is aligned; both sides only change
        // it as a whole.
        unsafe { &*self.memory.as_ptr().add((slot & self.mask) * SLOT).cast::<AtomicU32>() }
    }

    /// Panics where bytes are not those of one taken slot behind its header.
    fn check(&self, start: usize, length: usize) {
        let (slot, offset) = (start / SLOT, start % SLOT);
        let age = slot.wrapping_sub(self.first) & self.mask;
        assert!(slot <= self.mask && age < self.next - self.first, "slot {slot} is the kernel's");
        assert!(offset >= HEADER && offset + length <= SLOT, "more than a slot's frame");
    }
}

/// Where in its slot a frame begins behind the headers, and how many bytes of it are there. Of a frame that
/// would begin elsewhere there are none.
fn frame_in_slot(begin: u16, captured: u32) -> (usize, usize) {
    match usize::from(begin) {
        begin @ 0..=SLOT if begin >= HEADER + VNET_HEADER => (begin, (captured as usize).min(SLOT - begin)),
        _ => (SLOT, 0),
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is as it was made, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), SLOT * (self.mask + 1)) };
    }
}

#[cfg(test)]
#[path = "tests/ring.rs"]
mod tests;
