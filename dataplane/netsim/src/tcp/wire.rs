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
        /// The option's length byte, or 0 where that is missing.
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
