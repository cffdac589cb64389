//! TCP header bytes (RFC 9293, section 3.1), with the SACK (RFC 2018) and timestamp (RFC 7323) options.
//!
//! The checksum is written as 0: payloads do not exist, and links in virtual time do not flip bits.

use groupflow_base::codec::{CodecError, Reader};

use super::segment::{Sack, SackBlock, Segment, TcpFlags, Timestamps};

/// The longest header: a data offset of 15 words.
pub const MAX_HEADER: usize = 60;

const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

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
pub fn decode(bytes: &[u8]) -> Result<Segment, CodecError> {
    let mut r = Reader::new(bytes);
    let mut segment = Segment {
        source_port: r.u16("TCP source port")?,
        destination_port: r.u16("TCP destination port")?,
        seq: r.u32("TCP sequence number")?,
        ack: r.u32("TCP acknowledgement")?,
        ..Segment::default()
    };
    let words = r.u8("TCP data offset")? >> 4;
    segment.flags = TcpFlags(r.u8("TCP flags")?);
    segment.window = r.u16("TCP window")?;
    r.u32("TCP checksum")?; // and the urgent pointer
    let options = words.checked_sub(5).ok_or_else(|| CodecError::value("TCP data offset", words))?;
    read_options(r.take(4 * usize::from(options), "TCP options")?, &mut segment)?;
    segment.payload = u32::try_from(r.rest().len()).unwrap_or(u32::MAX);
    Ok(segment)
}

fn read_options(bytes: &[u8], segment: &mut Segment) -> Result<(), CodecError> {
    const FIELD: &str = "TCP option";
    let mut r = Reader::new(bytes);
    while !r.is_empty() {
        let kind = match r.u8(FIELD)? {
            OPTION_END => break,
            OPTION_NOP => continue,
            kind => kind,
        };
        let length = r.u8(FIELD)?;
        let wrong = || CodecError::new(FIELD, format!("{kind} has the length {length}"));
        let body = r.take(usize::from(length).checked_sub(2).ok_or_else(wrong)?, FIELD)?;
        let mut fields = Reader::new(body);
        match (kind, body.len()) {
            (OPTION_TIMESTAMPS, 8) => {
                segment.timestamps = Some(Timestamps { value: fields.u32(FIELD)?, echo: fields.u32(FIELD)? });
            }
            (OPTION_SACK, 8..) if body.len() % 8 == 0 => {
                segment.sack = Sack::default();
                while !fields.is_empty() {
                    let block = SackBlock { left: fields.u32(FIELD)?, right: fields.u32(FIELD)? };
                    if !segment.sack.push(block) {
                        return Err(wrong());
                    }
                }
            }
            (OPTION_TIMESTAMPS | OPTION_SACK, _) => return Err(wrong()),
            _ => {}
        }
    }
    Ok(())
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
