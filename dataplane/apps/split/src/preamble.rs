//! The preamble of a connection to the next agent, which tells which stream follows.

use std::fmt;

use groupflow_session::fanout::Mode;
use thiserror::Error;

/// Bytes of a preamble.
pub const LENGTH: usize = 28;
const MAGIC: &[u8; 4] = b"GFSP";
const VERSION: u8 = 1;
const RESUME: u8 = 1;

/// A stream's number, the same at every agent, chosen by the agent to which its sender connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The stream that a connection between agents carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preamble {
    /// The session's id.
    pub session: u32,
    /// The stream's number.
    pub stream: StreamId,
    /// The offset at which the bytes that follow begin; with `resume`, the offset of the first byte that is
    /// available.
    pub offset: u64,
    /// The session's mode, so that agents notice when they disagree.
    pub mode: Mode,
    /// Whether the stream existed before: then its bytes follow only after [`crate::frame::Frame::Welcome`].
    pub resume: bool,
}

/// Why a preamble is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PreambleError {
    /// Another protocol.
    #[error("the first four bytes are not GFSP")]
    Magic,
    /// Another version.
    #[error("version {0} is unknown")]
    Version(u8),
    /// A value without meaning.
    #[error("field {field} has the unknown value {value}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u8,
    },
}

impl Preamble {
    /// As it is sent.
    pub fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4] = VERSION;
        bytes[5] = match self.mode {
            Mode::EndToEnd => 0,
            Mode::NodeToNode => 1,
        };
        bytes[6] = if self.resume { RESUME } else { 0 };
        bytes[8..12].copy_from_slice(&self.session.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.stream.0.to_be_bytes());
        bytes[20..28].copy_from_slice(&self.offset.to_be_bytes());
        bytes
    }

    /// From what was received.
    pub fn parse(bytes: &[u8; LENGTH]) -> Result<Preamble, PreambleError> {
        let [m0, m1, m2, m3, version, mode, flags, zero, rest @ ..] = bytes;
        if [*m0, *m1, *m2, *m3] != *MAGIC {
            return Err(PreambleError::Magic);
        }
        if *version != VERSION {
            return Err(PreambleError::Version(*version));
        }
        let mode = match mode {
            0 => Mode::EndToEnd,
            1 => Mode::NodeToNode,
            &value => return Err(PreambleError::Value { field: "mode", value }),
        };
        if flags & !RESUME != 0 {
            return Err(PreambleError::Value { field: "flags", value: *flags });
        }
        if *zero != 0 {
            return Err(PreambleError::Value { field: "reserved", value: *zero });
        }
        Ok(Preamble {
            session: rest[..4].iter().fold(0, |n, &b| n << 8 | u32::from(b)),
            stream: StreamId(number(&rest[4..12])),
            offset: number(&rest[12..20]),
            mode,
            resume: flags & RESUME != 0,
        })
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn preamble() -> Preamble {
        Preamble { session: 7, stream: StreamId(9), offset: 11, mode: Mode::NodeToNode, resume: true }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases: [(usize, u8, &str); 5] = [
            (0, b'H', "the first four bytes are not GFSP"),
            (4, 2, "version 2 is unknown"),
            (5, 2, "field mode has the unknown value 2"),
            (6, 5, "field flags has the unknown value 5"),
            (7, 1, "field reserved has the unknown value 1"),
        ];
        for (at, value, text) in cases {
            let mut bytes = preamble().encode();
            bytes[at] = value;
            assert_eq!(Preamble::parse(&bytes).map_err(|e| e.to_string()), Err(text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn preambles_round_trip(
            session: u32, stream: u64, offset: u64, end_to_end: bool, resume: bool,
        ) {
            let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
            let preamble = Preamble { session, stream: StreamId(stream), offset, mode, resume };
            prop_assert_eq!(Preamble::parse(&preamble.encode()), Ok(preamble));
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: [u8; LENGTH]) {
            if let Ok(preamble) = Preamble::parse(&bytes) {
                prop_assert_eq!(preamble.encode(), bytes);
            }
        }
    }
}
