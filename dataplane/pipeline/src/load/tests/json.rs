use super::*;
use serde_json::json;

#[test]
fn errors_name_the_place() {
    let value = json!({"a": [{"b": 1}, {"b": "x"}]});
    let root = Json::root(&value);
    let second = root.get("a").unwrap().items().unwrap()[1].clone();
    let error = second.get("b").unwrap().int::<u32>().unwrap_err();
    assert_eq!(error.to_string(), "a[1].b: expected a whole number");
    assert_eq!(second.get("c").unwrap_err().to_string(), "a[1].c: missing");
    assert_eq!(root.int::<u8>().unwrap_err().to_string(), "the document: expected a whole number");
}

#[test]
fn hexadecimal_strings() {
    let cases = [
        ("0x0800", Some((false, 0x800))),
        ("7", Some((false, 7))),
        ("-0x01", Some((true, 1))),
        ("0x-1", Some((true, 1))),
        ("-0x0", Some((false, 0))),
        ("0x", None),
        ("0xzz", None),
        ("", None),
    ];
    for (text, expected) in cases {
        let value = json!(text);
        let expected = expected.map(|(negative, magnitude): (bool, u32)| (negative, magnitude.into()));
        assert_eq!(Json::root(&value).number().ok(), expected, "{text}");
    }
    assert!(Json::root(&json!("0x1ffffffffffffffffffffffffffffffff")).unsigned_hex().is_err());
}

#[test]
fn widths_are_bounded() {
    for (bits, ok) in
        [(0u64, true), (129, true), (MOST_BITS, true), (MOST_BITS + 1, false), (u64::MAX, false)]
    {
        let value = json!(bits);
        assert_eq!(Json::root(&value).width().is_ok(), ok, "{bits}");
    }
}
