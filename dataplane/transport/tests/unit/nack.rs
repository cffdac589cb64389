use groupflow_transport::ids::Seq;
use groupflow_transport::nack::{Nack, PacketRange};

fn payload(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

#[test]
fn ranges_must_ascend() {
    let cases: [(&[u32], Result<usize, &str>); 8] = [
        (&[1], Ok(0)),
        (&[1, 1, 1], Ok(1)),
        (&[1, 1, 3, 5, 5], Ok(2)),
        (&[1, 0, 3], Err("first: 0 is not a legal value")),
        (&[1, 4, 3], Err("last: 3 is not a legal value")),
        (&[1, 1, 3, 3, 5], Err("first: 3 is not a legal value")),
        (&[1, 1, u32::MAX], Err("last: 4294967295 is not a legal value")),
        (&[1, 1], Err("last: 0 bytes where 4 are needed")),
    ];
    for (words, expected) in cases {
        let got = Nack::parse(&payload(words)).map(|n| n.ranges.len());
        assert_eq!(got.map_err(|e| e.to_string()), expected.map_err(str::to_owned));
    }
}

#[test]
fn at_most_64_ranges() {
    let words =
        |n: u32| -> Vec<u32> { std::iter::once(1).chain((1..=n).flat_map(|i| [2 * i, 2 * i])).collect() };
    assert_eq!(Nack::parse(&payload(&words(64))).map(|n| n.ranges.len()), Ok(64));
    assert!(Nack::parse(&payload(&words(65))).is_err());
    let long = Nack::parse(&payload(&words(64))).map(|mut n| {
        n.ranges.push(PacketRange { first: Seq(1000), last: Seq(1000) });
        Nack::parse(&n.encode()).map(|n| n.ranges.len())
    });
    assert_eq!(long, Ok(Ok(64)));
}
