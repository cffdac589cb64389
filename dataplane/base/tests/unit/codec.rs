use groupflow_base::codec::{Envelope, Envelopes, Reader, Writer};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn every_error_names_the_field() {
    let cases: [(&[u8], &str); 5] = [
        (&[0], "number: 1 bytes where 2 are needed"),
        (&[0, 1, 2], "flag: 2 is not a legal value"),
        (&[0, 1, 1, 2, 0xff, 0xff], "text: not UTF-8"),
        (&[0, 1, 1, 2, b'a'], "text: 1 bytes where 2 are needed"),
        (&[0, 1, 1, 1, b'a', 0], "message: 1 bytes too many"),
    ];
    for (bytes, expected) in cases {
        let mut r = Reader::new(bytes);
        let mut read = || {
            r.u16("number")?;
            r.flag("flag")?;
            r.text("text")?;
            r.end("message")
        };
        assert_eq!(read().map_err(|e| e.to_string()), Err(expected.to_owned()));
    }
    let error = Reader::new(b"abc").rest_text(2, "why").expect_err("too long");
    assert_eq!(error.to_string(), "why: more than 2 bytes");
}

#[test]
fn an_envelope_is_refused_before_its_body_is_held() {
    let next = |bytes: &[u8]| {
        let mut envelopes = Envelopes::default();
        let result = envelopes.next_whole(&mut &bytes[..], |_| 8).map(|found| found.is_some());
        (result.map_err(|e| e.to_string()), envelopes.held())
    };
    assert_eq!(next(&[1, 0, 0, 9, 0, 0]), (Err("frame.length: 9 is too long for kind 1".to_owned()), 4));
    assert_eq!(next(&[1, 3, 0, 0]), (Err("frame.reserved: 3 is not a legal value".to_owned()), 4));
    assert_eq!(next(&[1, 0, 0, 8, 0]), (Ok(false), 5));
}

proptest! {
    #[test]
    fn fields_round_trip(a: u8, b: u16, c: u32, d: u64, short in ".{0,60}", long in ".{0,300}") {
        let mut w = Writer::default();
        w.u8(a).u16(b).u32(c).u64(d).text(&short).text(&long).rest_text(&long, 100);
        let bytes = w.into_bytes();
        let mut r = Reader::new(&bytes);
        let numbers = (r.u8("a"), r.u16("b"), r.u32("c"), r.u64("d"));
        prop_assert_eq!(numbers, (Ok(a), Ok(b), Ok(c), Ok(d)));
        prop_assert_eq!(r.text("short"), Ok(&short[..]));
        let kept = r.text("long").expect("cut between characters");
        prop_assert!(long.starts_with(kept) && (kept.len() == long.len() || kept.len() > 255 - 4));
        prop_assert!(long.starts_with(r.rest_text(100, "rest").expect("cut between characters")));
        prop_assert_eq!(r.end("message"), Ok(()));
    }

    #[test]
    fn envelopes_come_as_they_were_sealed_however_they_are_cut(
        bodies in vec((any::<u8>(), vec(any::<u8>(), 0..100)), 0..20), piece in 1..50_usize,
    ) {
        let mut bytes = Vec::new();
        for (kind, body) in &bodies {
            let mut w = Writer::default();
            Envelope::seal(*kind, w.bytes(body), &mut bytes);
        }
        let (mut envelopes, mut got) = (Envelopes::default(), Vec::new());
        for mut input in bytes.chunks(piece) {
            while let Some(found) = envelopes.next_whole(&mut input, |_| 100).expect("envelopes") {
                prop_assert_eq!(found.length, found.body.len());
                got.push((found.kind, found.body.to_vec()));
            }
        }
        prop_assert_eq!(got, bodies);
        prop_assert_eq!(envelopes.next_whole(&mut &[][..], |_| 100), Ok(None));
        prop_assert_eq!(envelopes.held(), 0, "nothing is left over");
    }
}
