//! TCP header bytes (RFC 9293, section 3.1), with the SACK (RFC 2018) and timestamp (RFC 7323) options.
//!
//! The checksum is written as 0: payloads do not exist, and links in virtual time do not flip bits.

use super::segment::{Sack, SackBlock, Segment, TcpFlags, Timestamps};

/// The longest header: a data offset of 15 words.
pub const MAX_HEADER: usize = 60;

const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// The reason why bytes are not a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header has.
    #[error("TCP header: {have} bytes, but {need} are needed")]
    Truncated {
        /// The bytes that there are.
        have: usize,
        /// The bytes that the header has.
        need: usize,
    },
    /// The data offset is below 5 words.
    #[error("TCP data offset: {0} words, but a header has at least 5")]
    DataOffset(u8),
    /// An option's length is wrong.
    #[error("TCP option {kind}: length {length} is wrong")]
    OptionLength {
        kind: u8,
        /// Its length byte, or 0 where that is missing.
        length: u8,
    },
}

/// Writes the header of `segment` and returns its length, [`Segment::header_len`]; 0, and nothing written,
/// where `out` is too short or the options do not fit a header (four SACK blocks beside timestamps).
pub fn encode(segment: &Segment, out: &mut [u8]) -> usize {
    let length = segment.header_len();
    if length > MAX_HEADER || out.len() < length {
        return 0;
    }
    let mut writer = HeaderWriter { out, at: 0 };
    writer.put(&segment.source_port.to_be_bytes());
    writer.put(&segment.destination_port.to_be_bytes());
    writer.put(&segment.seq.to_be_bytes());
    writer.put(&segment.ack.to_be_bytes());
    writer.put(&[((length / 4) as u8) << 4, segment.flags.0]);
    writer.put(&segment.window.to_be_bytes());
    writer.put(&[0; 4]);
    if let Some(timestamps) = segment.timestamps {
        writer.put(&[OPTION_NOP, OPTION_NOP, OPTION_TIMESTAMPS, 10]);
        writer.put(&timestamps.value.to_be_bytes());
        writer.put(&timestamps.echo.to_be_bytes());
    }
    let blocks = segment.sack.blocks();
    if !blocks.is_empty() {
        writer.put(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            writer.put(&block.left.to_be_bytes());
            writer.put(&block.right.to_be_bytes());
        }
    }
    writer.at
}

/// Reads a header; the bytes that follow it in `bytes` count as payload. Options other than SACK and
/// timestamps are skipped. A caller whose payload is virtual adds it: `segment.payload += tail`.
pub fn decode(bytes: &[u8]) -> Result<Segment, DecodeError> {
    let Some(fixed) = bytes.get(..20) else {
        return Err(DecodeError::Truncated { have: bytes.len(), need: 20 });
    };
    let words = fixed[12] >> 4;
    if words < 5 {
        return Err(DecodeError::DataOffset(words));
    }
    let length = usize::from(words) * 4;
    let Some(options) = bytes.get(20..length) else {
        return Err(DecodeError::Truncated { have: bytes.len(), need: length });
    };
    let mut segment = Segment {
        source_port: be16(fixed, 0),
        destination_port: be16(fixed, 2),
        seq: be32(fixed, 4),
        ack: be32(fixed, 8),
        flags: TcpFlags(fixed[13]),
        window: be16(fixed, 14),
        payload: u32::try_from(bytes.len() - length).unwrap_or(u32::MAX),
        ..Segment::default()
    };
    read_options(options, &mut segment)?;
    Ok(segment)
}

fn read_options(mut options: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    while let [kind, rest @ ..] = options {
        match *kind {
            OPTION_END => break,
            OPTION_NOP => options = rest,
            kind => {
                let length = rest.first().copied().unwrap_or(0);
                let wrong = DecodeError::OptionLength { kind, length };
                if length < 2 {
                    return Err(wrong);
                }
                let body = options.get(2..usize::from(length)).ok_or(wrong)?;
                match kind {
                    OPTION_TIMESTAMPS if body.len() == 8 => {
                        segment.timestamps = Some(Timestamps { value: be32(body, 0), echo: be32(body, 4) });
                    }
                    OPTION_SACK if !body.is_empty() && body.len() % 8 == 0 => {
                        segment.sack = read_sack(body).ok_or(wrong)?;
                    }
                    OPTION_TIMESTAMPS | OPTION_SACK => return Err(wrong),
                    _ => {}
                }
                options = &options[usize::from(length)..];
            }
        }
    }
    Ok(())
}

fn read_sack(body: &[u8]) -> Option<Sack> {
    let mut sack = Sack::default();
    for block in body.chunks_exact(8) {
        if !sack.push(SackBlock { left: be32(block, 0), right: be32(block, 4) }) {
            return None;
        }
    }
    Some(sack)
}

/// Callers have checked that there are enough bytes.
fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

struct HeaderWriter<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl HeaderWriter<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test fails by panicking.
mod tests {
    use super::super::segment::Ecn;
    use super::*;
    use proptest::prelude::*;

    fn segments() -> impl Strategy<Value = Segment> {
        let timestamps = proptest::option::of((any::<u32>(), any::<u32>()));
        let blocks = proptest::collection::vec((any::<u32>(), any::<u32>()), 0..=4);
        let fixed = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>());
        (fixed, timestamps, blocks).prop_map(
            |((source, destination, seq, ack, flags, window), timestamps, blocks)| {
                let mut sack = Sack::default();
                let room = if timestamps.is_some() { 3 } else { 4 };
                for (left, right) in blocks.into_iter().take(room) {
                    sack.push(SackBlock { left, right });
                }
                Segment {
                    source_port: source,
                    destination_port: destination,
                    seq,
                    ack,
                    flags: TcpFlags(flags),
                    window,
                    payload: 0,
                    ecn: Ecn::NotEct,
                    timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                    sack,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(segment in segments(), payload in 0usize..100) {
            let mut bytes = [0; MAX_HEADER + 100];
            let length = encode(&segment, &mut bytes);
            prop_assert_eq!(length, segment.header_len());
            let decoded = Segment { payload: payload as u32, ..segment };
            prop_assert_eq!(decode(&bytes[..length + payload]), Ok(decoded));
            prop_assert_eq!(decode(&bytes[..length - 1]).is_err(), true);
        }

        #[test]
        fn anything_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(segment) = decode(&bytes) {
                prop_assert!(segment.payload as usize + 20 <= bytes.len());
            }
        }
    }

    #[test]
    fn a_header_is_byte_for_byte_tcp() {
        let mut sack = Sack::default();
        sack.push(SackBlock { left: 0x0102_0304, right: 0x0506_0708 });
        let segment = Segment {
            source_port: 80,
            destination_port: 40_000,
            seq: 1,
            ack: 0xFFFF_FFFE,
            flags: TcpFlags::ACK.with(TcpFlags::ECE),
            window: 65_535,
            sack,
            ..Segment::default()
        };
        let mut bytes = [0xAA; 32];
        assert_eq!(encode(&segment, &mut bytes), 32);
        let expected = [
            0, 80, 0x9C, 0x40, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE, 0x80, 0x50, 0xFF, 0xFF, 0, 0, 0, 0, 1, 1,
            5, 10, 1, 2, 3, 4, 5, 6, 7, 8,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(encode(&segment, &mut bytes[..31]), 0);
    }

    #[test]
    fn errors_name_the_field() {
        let mut bytes = [0; 24];
        assert_eq!(
            decode(&bytes).unwrap_err().to_string(),
            "TCP data offset: 0 words, but a header has at least 5"
        );
        bytes[12] = 0x60;
        bytes[20] = OPTION_SACK;
        bytes[21] = 3;
        assert_eq!(decode(&bytes).unwrap_err().to_string(), "TCP option 5: length 3 is wrong");
        assert_eq!(decode(&bytes[..22]).unwrap_err().to_string(), "TCP header: 22 bytes, but 24 are needed");
    }
}
