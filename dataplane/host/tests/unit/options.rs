use groupflow_host::subcommand::{parse_bytes, parse_rate};

#[test]
fn quantities() {
    let rates = [("0", Ok(0)), ("100mbit", Ok(100_000_000)), ("5bit", Ok(5)), ("1.5mbit", Ok(1_500_000))];
    for (text, expected) in rates {
        assert_eq!(parse_rate(text), expected, "{text}");
    }
    for text in ["", "mbit", "-1", "1.5bit", "1mb", "99999999999gbit"] {
        assert!(parse_rate(text).is_err(), "{text}");
    }
    assert_eq!(parse_bytes("256MiB"), Ok(256 << 20));
    assert!(parse_bytes("0").is_err());
}
