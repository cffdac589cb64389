use groupflow_base::quantity::{parse_rate, parse_size, parse_span};
use groupflow_base::Nanos;
use proptest::prelude::*;

#[test]
fn quantities_are_read_as_written() {
    let rates = [("100mbit", 100_000_000), ("1.5Gbit", 1_500_000_000), ("9600bit", 9600), ("0bit", 0)];
    for (text, expected) in rates {
        assert_eq!(parse_rate(text), Ok(expected), "{text}");
    }
    for (text, expected) in [("256MiB", 256 << 20), ("1.5KiB", 1536), ("0.0009765625kib", 1), ("7B", 7)] {
        assert_eq!(parse_size(text), Ok(expected), "{text}");
    }
    for (text, expected) in [("10ms", 10_000_000), ("0.25us", 250), ("0", 0), (".5s", 500_000_000)] {
        assert_eq!(parse_span(text), Ok(Nanos(expected)), "{text}");
    }
}

#[test]
fn nonsense_is_refused_with_the_text() {
    for text in ["", "mbit", "-1mbit", "1e3mbit", "100", "0.5bit", "99999999999gbit", "1mbit/s", "1mb"] {
        assert!(parse_rate(text).is_err(), "{text:?}");
    }
    for text in ["", "10", "ms", "-1ms", "1.ms.", "0.1ns", "10 ms", "99999999999999s"] {
        assert!(parse_span(text).is_err(), "{text:?}");
    }
    for text in ["", "10", "0.3KiB", "1KB", "99999999999GiB", "."] {
        assert!(parse_size(text).is_err(), "{text:?}");
    }
    let error = parse_size("1KB").expect_err("no such unit");
    assert_eq!(error.to_string(), "\"1KB\" is not a size such as 64KiB or 1.5GiB (B, KiB, MiB or GiB)");
}

proptest! {
    #[test]
    fn decimals_are_exact(whole in 0..1_000_000_u64, fraction in 0..1_000_000_000_u64) {
        let text = format!("{whole}.{fraction:09}gbit");
        prop_assert_eq!(parse_rate(&text), Ok(whole * 1_000_000_000 + fraction));
        prop_assert_eq!(parse_rate(&format!("{whole}bit")), Ok(whole));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9.]{0,30}[a-zA-Z ]{0,5}") {
        let _ = (parse_rate(&text), parse_size(&text), parse_span(&text));
    }
}
