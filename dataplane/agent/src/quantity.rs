//! Rates and sizes as people write them.

use groupflow_protocol::BitRate;

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit))
}

fn scaled(text: &str, units: &[(&str, u64)], example: &str) -> Result<u64, String> {
    let found = split(text).and_then(|(number, unit)| {
        let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
        number.checked_mul(*factor)
    });
    found.ok_or_else(|| format!("{text:?} is not understood: write it like {example}"))
}

/// `1000000`, `100kbit`, `10mbit` or `1gbit`.
pub fn rate(text: &str) -> Result<BitRate, String> {
    let units = [("", 1), ("bit", 1), ("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];
    let bits = scaled(text, &units, "10mbit")?;
    if bits == 0 {
        return Err("a rate of 0 would never send anything".into());
    }
    Ok(BitRate(bits))
}

/// `1048576`, `64KiB`, `256MiB` or `1GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    scaled(text, &units, "256MiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let good = [("5", 5), ("100kbit", 100_000), ("10mbit", 10_000_000), ("1gbit", 1_000_000_000)];
        for (text, bits) in good {
            assert_eq!(rate(text), Ok(BitRate(bits)), "{text}");
        }
        for text in ["", "mbit", "10 mbit", "10mb", "-1", "0", "0kbit", "99999999999gbit", "1.5mbit"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("64KiB"), Ok(65536));
        assert_eq!(bytes("7"), Ok(7));
        for text in ["", "KiB", "1kb", "1TiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
