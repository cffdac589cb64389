//! Reads P4Info files, in text or binary form.

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use thiserror::Error;

use crate::proto::p4::config::v1::P4Info;
use crate::proto::DESCRIPTORS;

/// The reason why bytes are no P4Info.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum P4InfoError {
    /// The bytes are text, but not P4Info's text form.
    #[error("not P4Info: {0}")]
    Text(String),
    /// The bytes are neither the text nor the binary form.
    #[error("not P4Info in text or binary form")]
    Neither,
    /// The P4Info describes nothing.
    #[error("this P4Info is empty")]
    Empty,
}

/// Parses P4Info's text (`.txtpb`) or binary form.
pub fn parse_p4info(bytes: &[u8]) -> Result<P4Info, P4InfoError> {
    let binary = P4Info::decode(bytes).ok().filter(|info| *info != P4Info::default());
    if let Some(info) = binary {
        return Ok(info);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| P4InfoError::Neither)?;
    let info = parse_text(text)?;
    if info == P4Info::default() {
        return Err(P4InfoError::Empty);
    }
    Ok(info)
}

fn parse_text(text: &str) -> Result<P4Info, P4InfoError> {
    let error = |message: String| P4InfoError::Text(message.lines().next().unwrap_or_default().into());
    let pool = DescriptorPool::decode(DESCRIPTORS).map_err(|e| error(e.to_string()))?;
    let descriptor = pool
        .get_message_by_name("p4.config.v1.P4Info")
        .ok_or_else(|| error("the descriptor of P4Info is missing".into()))?;
    let message = DynamicMessage::parse_text_format(descriptor, text).map_err(|e| error(e.to_string()))?;
    P4Info::decode(&message.encode_to_vec()[..]).map_err(|e| error(e.to_string()))
}

#[cfg(test)]
mod tests {
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
}
