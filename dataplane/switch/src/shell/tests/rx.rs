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
