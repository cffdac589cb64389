use groupflow_transport::ids::{Seq, SessionId};

#[test]
fn group_address_is_the_low_24_bits() {
    let cases = [
        (1, [239, 0, 0, 1]),
        (0x01_02_03, [239, 1, 2, 3]),
        (0x00ff_ffff, [239, 255, 255, 255]),
        (0, [239, 0, 0, 0]),
    ];
    for (id, address) in cases {
        assert_eq!(SessionId(id).group().ip().octets(), address, "session {id}");
    }
}

#[test]
fn packet_numbers_saturate() {
    assert_eq!(Seq::LAST.next(), Seq(u32::MAX));
    assert_eq!(Seq(u32::MAX).next(), Seq(u32::MAX));
    assert_eq!(Seq::ZERO.prev(), Seq::ZERO);
    assert_eq!(Seq(5).since(Seq(7)), 0);
    assert_eq!(Seq(7).since(Seq(5)), 2);
}
