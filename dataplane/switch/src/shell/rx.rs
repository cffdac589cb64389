//! Reception of frames from interfaces: one packet socket with a ring for each port.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::c_int;

use super::error::ShellError;
use super::frame::{complete_checksum, insert_vlan_tag, VlanTag, VLAN_TAG};
use super::ring::{Ring, RingSlot, VNET_HEADER};
use super::socket::{bind, bound_index, interface_index, option, packet_socket, set_option};
use crate::core::MAX_FRAME;

/// The most and the fewest frames that the ring holds before the kernel drops frames.
const SLOTS: [usize; 3] = [4096, 1024, 256];
/// Kernel buffer for frames that are longer than a slot, in bytes.
const RECEIVE_BUFFER: c_int = 4 << 20;

const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;

/// Receives the frames that arrive at one interface.
#[derive(Debug)]
pub struct FrameReceiver {
    socket: OwnedFd,
    index: c_int,
    ring: Ring,
    /// Frames that were longer than a slot, each with a virtio_net_hdr in front.
    long: Vec<Vec<u8>>,
}

/// A frame that a receiver holds until [`FrameReceiver::release`].
#[derive(Debug, Clone, Copy)]
pub struct ReceivedFrame {
    /// The number that the caller gave the receiver of the frame.
    pub source: usize,
    /// The wall clock's reading when the kernel got the frame, ns since 1970.
    pub received_at: u64,
    place: Buffer,
    length: usize,
}

#[derive(Debug, Clone, Copy)]
enum Buffer {
    /// A frame that begins at this offset in the ring.
    Ring(usize),
    /// The frame with this number of those that were too long, and where it begins.
    Long(usize, usize),
}

/// The result of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RingRead {
    /// Frames looked at.
    pub frames: usize,
    /// Frames longer than [`MAX_FRAME`], which are left out.
    pub oversize: u64,
    /// Frames of which the kernel kept only a part.
    pub lost: u64,
}

impl FrameReceiver {
    /// Attaches to an interface, in promiscuous mode.
    pub fn open(name: &str) -> Result<FrameReceiver, ShellError> {
        let index = interface_index(name).ok_or_else(|| ShellError::NoInterface(name.into()))?;
        let socket = packet_socket()?;
        let failed = |what| {
            let name = name.to_string();
            move |error| ShellError::Interface(name, what, error)
        };
        let enable = |option| set_option(&socket, libc::SOL_PACKET, option, &1);
        enable(libc::PACKET_IGNORE_OUTGOING)
            .map_err(failed("PACKET_IGNORE_OUTGOING (Linux 4.20 or newer is needed)"))?;
        enable(libc::PACKET_VNET_HDR).map_err(failed("PACKET_VNET_HDR"))?;
        enable(libc::PACKET_COPY_THRESH).map_err(failed("PACKET_COPY_THRESH"))?;
        // Without CAP_NET_ADMIN, the plain option still gives as much as sysctl allows.
        if set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER).is_err() {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER)
                .map_err(failed("SO_RCVBUF"))?;
        }
        let ring = largest_ring(&socket).map_err(failed("PACKET_RX_RING"))?;
        bind(&socket, index, libc::ETH_P_ALL).map_err(failed("bind"))?;
        // SAFETY: packet_mreq is plain integers, for which zero is valid.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
            .map_err(failed("promiscuous mode"))?;
        Ok(FrameReceiver { socket, index, ring, long: Vec::new() })
    }

    /// The interface's index.
    pub fn index(&self) -> c_int {
        self.index
    }

    /// Whether the interface with this index is the one that it attached to, and has been there since.
    pub fn is_attached_to(&self, index: c_int) -> bool {
        bound_index(&self.socket) == index
    }

    /// The descriptor to poll.
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Frames that the kernel dropped for want of buffers since the last call.
    pub fn take_kernel_drops(&self) -> u64 {
        // struct tpacket_stats: packets and drops.
        let stats = option::<[u32; 2]>(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS);
        stats.map_or(0, |[_, drops]| drops.into())
    }

    /// The error that poll reports, for example that the interface went down. The kernel tells each error
    /// once.
    pub fn take_error(&self) -> Option<io::Error> {
        match option::<c_int>(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR) {
            Ok(0) => None,
            Ok(code) => Some(io::Error::from_raw_os_error(code)),
            Err(error) => Some(error),
        }
    }

    /// Adds up to `most` frames that are there, as of `source`.
    pub fn read(&mut self, source: usize, most: usize, frames: &mut Vec<ReceivedFrame>) -> RingRead {
        let mut read = RingRead::default();
        while read.frames < most {
            let Some(slot) = self.ring.take() else { break };
            read.frames += 1;
            if slot.captured == slot.length {
                frames.push(self.repaired(source, slot));
            } else if slot.status & libc::TP_STATUS_COPY == 0 {
                read.lost += 1;
            } else {
                match self.read_long() {
                    Ok(Some(bytes)) => frames.push(self.repaired_long(source, slot, bytes)),
                    Ok(None) => read.oversize += 1,
                    Err(_) => read.lost += 1,
                }
            }
        }
        read
    }

    /// The bytes of a frame.
    pub fn bytes(&self, frame: &ReceivedFrame) -> &[u8] {
        match frame.place {
            Buffer::Ring(start) => self.ring.bytes(start, frame.length),
            Buffer::Long(number, start) => &self.long[number][start..start + frame.length],
        }
    }

    /// Gives the room of the frames back to the kernel.
    pub fn release(&mut self) {
        self.ring.release();
        self.long.clear();
    }

    fn repaired(&mut self, source: usize, slot: RingSlot) -> ReceivedFrame {
        let start = slot.start - VNET_HEADER;
        let bytes = self.ring.bytes_mut(start, VNET_HEADER + slot.captured);
        let skip = repair(bytes, vlan_tag(&slot));
        let length = bytes.len() - skip;
        ReceivedFrame { source, received_at: slot.received_at, place: Buffer::Ring(start + skip), length }
    }

    /// Reads a frame that did not fit its slot; `None` if it is longer than [`MAX_FRAME`].
    fn read_long(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; VNET_HEADER + MAX_FRAME];
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the pointer is to as many writable bytes as the call is told of.
        let length = unsafe { libc::recv(self.fd(), bytes.as_mut_ptr().cast(), bytes.len(), flags) };
        match usize::try_from(length) {
            Ok(length) if length > bytes.len() => Ok(None),
            Ok(length) if length < VNET_HEADER => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                bytes.truncate(length);
                Ok(Some(bytes))
            }
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    fn repaired_long(&mut self, source: usize, slot: RingSlot, mut bytes: Vec<u8>) -> ReceivedFrame {
        let room = MAX_FRAME + VNET_HEADER - bytes.len();
        let skip = repair(&mut bytes, vlan_tag(&slot).filter(|_| room >= VLAN_TAG));
        let place = Buffer::Long(self.long.len(), skip);
        let length = bytes.len() - skip;
        self.long.push(bytes);
        ReceivedFrame { source, received_at: slot.received_at, place, length }
    }
}

/// Completes a frame with a virtio_net_hdr in front; returns where the frame begins then.
fn repair(bytes: &mut [u8], vlan: Option<VlanTag>) -> usize {
    let (header, frame) = bytes.split_at_mut(VNET_HEADER);
    complete_checksum(header, frame);
    match vlan {
        Some(tag) if insert_vlan_tag(&mut bytes[VNET_HEADER - VLAN_TAG..], tag) => VNET_HEADER - VLAN_TAG,
        _ => VNET_HEADER,
    }
}

fn vlan_tag(slot: &RingSlot) -> Option<VlanTag> {
    let has_protocol = slot.status & TP_STATUS_VLAN_TPID_VALID != 0;
    let protocol = if has_protocol { slot.vlan_protocol } else { 0x8100 };
    (slot.status & TP_STATUS_VLAN_VALID != 0).then_some(VlanTag { protocol, control: slot.vlan_control })
}

/// The largest ring for which there is memory.
fn largest_ring(socket: &OwnedFd) -> io::Result<Ring> {
    let mut result = Err(io::ErrorKind::OutOfMemory.into());
    for slots in SLOTS {
        result = Ring::new(socket, slots);
        if !matches!(&result, Err(error) if error.raw_os_error() == Some(libc::ENOMEM)) {
            break;
        }
    }
    result
}
