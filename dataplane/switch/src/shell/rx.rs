//! Reception of frames from interfaces: one packet socket with a ring for each port. Received frames are
//! repaired: senders' kernels leave work to hardware that veth does not have.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use groupflow_base::codec::internet_checksum;
use groupflow_host::sockopt::{option, set_option};
use libc::c_int;
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{getsockopt, recv, MsgFlags};

use super::error::ShellError;
use super::ring::{Ring, RingSlot, VNET_HEADER};
use super::socket::{bind, bound_index, interface_index, packet_socket};
use crate::core::MAX_FRAME;

/// The most and the fewest frames that the ring holds before the kernel drops frames.
const SLOTS: [usize; 3] = [4096, 1024, 256];
/// Kernel buffer for frames that are longer than a slot, in bytes.
const RECEIVE_BUFFER: c_int = 4 << 20;

const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;

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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RingRead {
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
        let failed = |what| move |error| ShellError::Interface(name.into(), what, error);
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
        let kind = libc::PACKET_MR_PROMISC as u16;
        let membership =
            libc::packet_mreq { mr_ifindex: index, mr_type: kind, mr_alen: 0, mr_address: [0; 8] };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
            .map_err(failed("promiscuous mode"))?;
        Ok(FrameReceiver { socket, index, ring, long: Vec::new() })
    }

    pub fn index(&self) -> c_int {
        self.index
    }

    /// Whether the interface with this index is the one that it attached to, and has been there since.
    pub fn is_attached_to(&self, index: c_int) -> bool {
        bound_index(&self.socket) == index
    }

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
        let code = getsockopt(&self.socket, SocketError).unwrap_or_else(|error| error as c_int);
        (code != 0).then(|| io::Error::from_raw_os_error(code))
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

    pub fn bytes(&self, frame: &ReceivedFrame) -> &[u8] {
        match frame.place {
            Buffer::Ring(start) => self.ring.bytes(start, frame.length),
            Buffer::Long(number, start) => &self.long[number][start..start + frame.length],
        }
    }

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
        let length = recv(self.fd(), &mut bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC)?;
        if length < VNET_HEADER {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let whole = length <= bytes.len();
        bytes.truncate(length);
        Ok(whole.then_some(bytes))
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

fn largest_ring(socket: &OwnedFd) -> io::Result<Ring> {
    let fits =
        |ring: &io::Result<Ring>| !matches!(ring, Err(error) if error.raw_os_error() == Some(libc::ENOMEM));
    let mut rings = SLOTS.into_iter().map(|slots| Ring::new(socket, slots));
    rings.find(fits).unwrap_or_else(|| Err(io::Error::from_raw_os_error(libc::ENOMEM)))
}

/// Bytes of a VLAN tag.
const VLAN_TAG: usize = 4;
/// Bytes of the two MAC addresses in front of it.
const ADDRESSES: usize = 12;
/// VIRTIO_NET_HDR_F_NEEDS_CSUM
const NEEDS_CHECKSUM: u8 = 1;

/// A VLAN tag that the kernel took off a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VlanTag {
    protocol: u16,
    /// Priority and VLAN id.
    control: u16,
}

/// Puts a tag back. The frame starts after the first four bytes of `bytes`, which get filled.
fn insert_vlan_tag(bytes: &mut [u8], tag: VlanTag) -> bool {
    if bytes.len() < VLAN_TAG + ADDRESSES {
        return false;
    }
    bytes.copy_within(VLAN_TAG..VLAN_TAG + ADDRESSES, 0);
    bytes[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tag.protocol.to_be_bytes());
    bytes[ADDRESSES + 2..ADDRESSES + 4].copy_from_slice(&tag.control.to_be_bytes());
    true
}

/// Completes a checksum that the sender left to its network card (CHECKSUM_PARTIAL): packets of a
/// host on veth arrive that way unless `tx-checksumming` is off. `header` is a virtio_net_hdr.
fn complete_checksum(header: &[u8], frame: &mut [u8]) {
    if header.len() < 10 || header[0] & NEEDS_CHECKSUM == 0 {
        return;
    }
    let start = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let field = start + usize::from(u16::from_ne_bytes([header[8], header[9]]));
    if start > frame.len() || field + 2 > frame.len() {
        return;
    }
    // The field holds the pseudo header's sum already, so it is summed with the rest.
    let checksum = match internet_checksum(&frame[start..]) {
        // Zero would mean "no checksum" in UDP (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
#[path = "tests/rx.rs"]
mod tests;
