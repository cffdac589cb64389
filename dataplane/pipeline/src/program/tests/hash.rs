use super::*;

#[test]
fn check_values() {
    // The "check" values of the CRC catalogue: the CRC of the digits 1 to 9.
    let digits = b"123456789";
    assert_eq!(Algorithm::Crc16.apply(digits), 0xbb3d);
    assert_eq!(Algorithm::CrcCcitt.apply(digits), 0x29b1);
    assert_eq!(Algorithm::Crc32.apply(digits), 0xcbf4_3926);
    // RFC 1071, section 3.
    assert_eq!(Algorithm::Csum16.apply(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2u16 as u64);
    assert_eq!(Algorithm::Csum16.apply(&[0xab]), u64::from(!0xab00u16));
    assert_eq!(Algorithm::Xor16.apply(&[0x12, 0x34, 0xff, 0x00, 0x01]), 0x1234 ^ 0xff00 ^ 0x0100);
    assert_eq!(Algorithm::Identity.apply(&[1, 2, 3]), 0x01_0203);
    assert_eq!(Algorithm::Identity.apply(&[0xff; 9]), u64::MAX);
    assert_eq!(Algorithm::Csum16.apply(&[]), 0xffff);
}

#[test]
fn an_internet_checksum_verifies_itself() {
    let mut header =
        [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
    let sum = Algorithm::Csum16.apply(&header);
    assert_eq!(sum, 0xb861);
    header[10..12].copy_from_slice(&(sum as u16).to_be_bytes());
    assert_eq!(Algorithm::Csum16.apply(&header), 0);
}
