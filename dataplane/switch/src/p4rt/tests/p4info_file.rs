use super::*;
use proptest::prelude::*;

const TEXT: &str = r#"
    # proto-file: p4/config/v1/p4info.proto
    pkg_info { arch: "v1model" }
    tables {
      preamble { id: 33554433 name: "Ingress.route" alias: "route" }
      match_fields { id: 1 name: "hdr.ipv4.dst" bitwidth: 32 match_type: LPM }
      action_refs { id: 16777217 }
      size: 1024
    }
"#;

#[test]
fn text_and_binary_forms_are_the_same() {
    let info = parse_p4info(TEXT.as_bytes()).expect("valid");
    assert_eq!(info.tables[0].preamble.as_ref().map(|p| p.name.as_str()), Some("Ingress.route"));
    assert_eq!(parse_p4info(&info.encode_to_vec()), Ok(info));
}

#[test]
fn other_files_are_refused() {
    let message = |bytes: &[u8]| parse_p4info(bytes).expect_err("refused").to_string();
    assert_eq!(message(b""), "this P4Info is empty");
    assert_eq!(message(&[0xff, 0xfe, 0x00]), "not P4Info in text or binary form");
    assert!(message(b"{\"program\": 1}").starts_with("not P4Info: "), "{}", message(b"{\"program\": 1}"));
    assert!(message(b"tables { sise: 3 }").contains("sise"), "{}", message(b"tables { sise: 3 }"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_p4info(&bytes);
    }

    #[test]
    fn no_cut_text_panics(cut in 0..TEXT.len()) {
        let _ = parse_p4info(&TEXT.as_bytes()[..cut]);
    }
}
