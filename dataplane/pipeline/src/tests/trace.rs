use super::*;

#[test]
fn values_are_numbers_and_addresses() {
    let all = u128::MAX;
    let cases = [
        ("17", Some((17, all))),
        ("0x800/0xff00", Some((0x800, 0xff00))),
        ("10.0.2.1", Some((0x0a00_0201, all))),
        ("10.0.2.0/255.255.255.0", Some((0x0a00_0200, 0xffff_ff00))),
        ("02:00:0a:00:02:01", Some((0x0200_0a00_0201, all))),
        ("10.0.2", None),
        ("0x", None),
        ("1/", None),
    ];
    for (text, expected) in cases {
        assert_eq!(masked(text), expected, "{text}");
    }
    let (value, bits) = masked("10.0.2.0/24").expect("a prefix");
    assert_eq!((value, bits & 0xffff_ffff), (0x0a00_0200, 0xffff_ff00));
}
