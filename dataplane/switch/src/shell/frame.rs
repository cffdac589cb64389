//! Repairs of received frames: work that senders' kernels left to hardware that veth does not have.

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
    let checksum = match !internet_sum(&frame[start..]) {
        // Zero would mean "no checksum" in UDP (RFC 768).
        0 => 0xffff,
        checksum => checksum,
    };
    frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The one's complement sum of RFC 1071, two words at a time.
fn internet_sum(bytes: &[u8]) -> u16 {
    let mut chunks = bytes.chunks_exact(4);
    let double = |chunk: &[u8]| u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    let mut sum: u64 = chunks.by_ref().map(double).sum();
    let mut last = [0; 4];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    sum += double(&last);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_goes_between_addresses_and_ethertype() {
        let mut bytes: Vec<u8> = [0; 4].into_iter().chain(1..=16).collect();
        assert!(insert_vlan_tag(&mut bytes, VlanTag { protocol: 0x8100, control: 0x2005 }));
        let expected: Vec<u8> = (1..=12).chain([0x81, 0x00, 0x20, 0x05]).chain(13..=16).collect();
        assert_eq!(bytes, expected);
        assert!(!insert_vlan_tag(&mut [0; 15], VlanTag { protocol: 0x8100, control: 1 }));
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        // UDP header 0x0001 0x0002 0x000b, field with the pseudo header's sum 0x1234, data "abc".
        let mut frame = vec![0xee, 0xee, 0x00, 0x01, 0x00, 0x02, 0x00, 0x0b, 0x12, 0x34, b'a', b'b', b'c'];
        let mut header = [0u8; 10];
        header[0] = NEEDS_CHECKSUM;
        header[6..8].copy_from_slice(&2u16.to_ne_bytes());
        header[8..10].copy_from_slice(&6u16.to_ne_bytes());
        complete_checksum(&header, &mut frame);
        let expected = !(0x0001u16 + 0x0002 + 0x000b + 0x1234 + 0x6162 + 0x6300);
        assert_eq!(u16::from_be_bytes([frame[8], frame[9]]), expected);
    }

    #[test]
    fn other_frames_and_bad_offsets_are_left_alone() {
        let frame = vec![7; 20];
        for (flag, start, offset) in [(0u8, 2u16, 6u16), (1, 21, 0), (1, 10, 9), (1, u16::MAX, u16::MAX)] {
            let mut header = [0u8; 10];
            header[0] = flag;
            header[6..8].copy_from_slice(&start.to_ne_bytes());
            header[8..10].copy_from_slice(&offset.to_ne_bytes());
            let mut copy = frame.clone();
            complete_checksum(&header, &mut copy);
            assert_eq!(copy, frame, "flag {flag}, start {start}, offset {offset}");
        }
    }
}
