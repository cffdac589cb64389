use clap::Parser;
use groupflow_host::subcommand::{parse_bytes, parse_rate, parse_session, CommonArgs};

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    _common: CommonArgs,
}

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

#[test]
fn ids_and_tokens() {
    for (text, ok) in [("1", true), ("16777215", true), ("0", false), ("16777216", false), ("x", false)] {
        assert_eq!(parse_session(text).is_ok(), ok, "{text}");
    }
    for (text, ok) in [("", true), ("c0FFee", true), ("xyz", false)] {
        let line = ["", "--name", "ma1", "--token-file", text];
        assert_eq!(CommandLine::try_parse_from(line).is_ok(), ok, "{text}");
    }
}
