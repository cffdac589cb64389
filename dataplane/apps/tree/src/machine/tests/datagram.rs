use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn bodies_come_as_they_were_sent(
        offset in 0..u64::MAX / 2, bytes in proptest::collection::vec(any::<u8>(), 1..=MAX_PAYLOAD),
    ) {
        let sent = body(offset, &bytes);
        prop_assert_eq!(parse_body(&sent), Some((offset, &bytes[..])));
    }

    #[test]
    fn any_bytes_are_a_body_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..1300)) {
        if let Some((offset, bytes)) = parse_body(&bytes) {
            prop_assert!(!bytes.is_empty() && bytes.len() <= MAX_PAYLOAD);
            prop_assert!(offset <= u64::MAX - bytes.len() as u64);
        }
    }
}

#[test]
fn a_body_that_makes_no_sense_is_none() {
    for body in [vec![0; 7], vec![0; 8], vec![0; PLACE + MAX_PAYLOAD + 1], vec![255; 9]] {
        assert_eq!(parse_body(&body), None, "{} bytes", body.len());
    }
}
