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
#[path = "tests/p4info_file.rs"]
mod tests;
