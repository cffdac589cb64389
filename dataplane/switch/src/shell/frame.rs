//! Repairs of received frames: work that senders' kernels left to hardware that veth does not have.

use groupflow_base::codec::internet_checksum;

/// Bytes of a VLAN tag.
pub const VLAN_TAG: usize = 4;
/// Bytes of the two MAC addresses in front of it.
const ADDRESSES: usize = 12;
/// VIRTIO_NET_HDR_F_NEEDS_CSUM
const NEEDS_CHECKSUM: u8 = 1;

/// A VLAN tag that the kernel took off a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// The tag's ethertype.
    pub protocol: u16,
    /// Priority and VLAN id.
    pub control: u16,
}

/// Puts a tag back. The frame starts after the first four bytes of `bytes`, which get filled.
pub fn insert_vlan_tag(bytes: &mut [u8], tag: VlanTag) -> bool {
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
pub fn complete_checksum(header: &[u8], frame: &mut [u8]) {
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
#[path = "tests/frame.rs"]
mod tests;
