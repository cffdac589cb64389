use groupflow_transport::assembly::{Assembly, FormatError, Placed};
use groupflow_transport::ids::Seq;
use groupflow_transport::wire::Flags;

#[test]
fn delivers_in_order_and_once() {
    let mut a = Assembly::new(Seq::FIRST, 8, false);
    assert_eq!(a.insert(Seq(2), Flags::NONE, b"b"), Ok(Placed::New));
    assert_eq!(a.ready, b"");
    assert_eq!(a.insert(Seq(1), Flags::NONE, b"a"), Ok(Placed::New));
    assert_eq!(a.ready, b"ab");
    assert_eq!(a.insert(Seq(2), Flags::NONE, b"b"), Ok(Placed::Duplicate));
    assert_eq!(a.insert(Seq(3), Flags::FIN, b""), Ok(Placed::New));
    assert_eq!(a.insert(Seq(4), Flags::NONE, b"x"), Ok(Placed::Duplicate));
}

#[test]
fn what_is_not_taken_uses_the_capacity() {
    let mut a = Assembly::new(Seq::FIRST, 4, false);
    assert_eq!(a.insert(Seq(5), Flags::NONE, b"x"), Ok(Placed::NoRoom));
    assert_eq!(a.insert(Seq(1), Flags::NONE, &[0; 1448]), Ok(Placed::New));
    assert_eq!((a.room(), a.limit()), (3, Seq(5)));
    a.take(&mut Vec::new());
    assert_eq!((a.room(), a.limit()), (4, Seq(6)));
}

#[test]
fn datagrams_are_checked() {
    const B: Flags = Flags::BOUNDARY;
    const N: Flags = Flags::NONE;
    type Case<'a> = (&'a str, &'a [(Flags, &'a [u8])], Result<&'a [u8], FormatError>);
    let cases: [Case<'_>; 8] = [
        ("one", &[(B, &[0, 0, 0, 1, 7])], Ok(&[0, 0, 0, 1, 7])),
        ("two packets", &[(B, &[0, 0, 0, 2, 7]), (N, &[8])], Ok(&[0, 0, 0, 2, 7, 8])),
        ("empty", &[(B, &[0, 0, 0, 0]), (Flags::FIN, &[])], Ok(&[0, 0, 0, 0])),
        ("no prefix", &[(B, &[0, 0])], Err(FormatError::Length)),
        ("longer than said", &[(B, &[0, 0, 0, 1, 7, 8])], Err(FormatError::Length)),
        ("cut off", &[(B, &[0, 0, 0, 2, 7]), (B, &[0, 0, 0, 0])], Err(FormatError::Length)),
        ("too long", &[(B, &[255, 0, 0, 0])], Err(FormatError::TooLong(0xff00_0000))),
        ("bytes", &[(N, b"abc")], Err(FormatError::NoDatagrams)),
    ];
    for (what, packets, expected) in cases {
        let mut a = Assembly::new(Seq::FIRST, 8, true);
        let inserted = packets
            .iter()
            .zip(1..)
            .try_for_each(|(&(flags, bytes), seq)| a.insert(Seq(seq), flags, bytes).map(|_| ()));
        assert_eq!(inserted.map(|()| &a.ready[..]), expected, "{what}");
    }
    let mut bytes = Assembly::new(Seq::FIRST, 8, false);
    assert_eq!(bytes.insert(Seq(1), B, &[0; 4]), Err(FormatError::Datagrams));
}

#[test]
fn joining_amid_a_datagram_skips_the_rest_of_it() {
    let mut a = Assembly::new(Seq(5), 8, true);
    assert_eq!(a.insert(Seq(5), Flags::NONE, b"tail"), Ok(Placed::New));
    assert_eq!(a.insert(Seq(6), Flags::BOUNDARY, &[0, 0, 0, 1, 9]), Ok(Placed::New));
    assert_eq!(a.ready, [0, 0, 0, 1, 9]);
}
