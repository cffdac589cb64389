//! Numbers: `10`, `0xFF`, `8w0b1010_1010`, `16s1` (section 6.4.3.2).

use num_bigint::BigInt;

use super::tree::Number;

/// The widest number that a program may write: larger ones would only use memory.
pub const WIDEST: u32 = 65_536;

/// Reads a number, or says what is wrong with it (section 6.4.3.2).
pub fn number(text: &str) -> Result<Number, String> {
    let (width, digits) =
        match text.find(['w', 's']).filter(|&end| text[..end].bytes().all(|b| b.is_ascii_digit())) {
            Some(end) => (Some((&text[..end], text.as_bytes()[end] == b's')), &text[end + 1..]),
            None => (None, text),
        };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'd' | b'D', ..] => (10, &digits[2..]),
        _ => (10, digits),
    };
    let plain: String = digits.chars().filter(|&digit| digit != '_').collect();
    if plain.is_empty() {
        return Err(format!("the number `{text}` has no digits"));
    }
    if plain.len() > WIDEST as usize {
        return Err("this number is too long".to_owned());
    }
    let value = BigInt::parse_bytes(plain.as_bytes(), base)
        .ok_or_else(|| format!("`{text}` is no number: a digit is not one of base {base}"))?;
    let width = match width {
        None => None,
        Some((bits, signed)) => {
            let bits = bits.parse().ok().filter(|&bits: &u32| bits <= WIDEST && (bits > 0 || !signed));
            Some((bits.ok_or_else(|| format!("`{text}` has no bit, or more than {WIDEST}"))?, signed))
        }
    };
    Ok(Number { value, width, base })
}
