//! TCP header bytes (RFC 9293, section 3.1), with the SACK (RFC 2018) and timestamp (RFC 7323) options.
//!
//! The checksum is written as 0: payloads do not exist, and links in virtual time do not flip bits.

use groupflow_base::codec::{CodecError, Reader};

use super::segment::{Sack, SackBlock, Segment, TcpFlags, Timestamps};

const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// Appends the header of `segment`, [`Segment::header_len`] bytes, which must fit a header: beside timestamps
/// at most three SACK blocks do.
pub fn encode(segment: &Segment, out: &mut Vec<u8>) {
    let length = segment.header_len();
    debug_assert!(length <= 60, "a header of {length} bytes");
    out.extend_from_slice(&segment.source_port.to_be_bytes());
    out.extend_from_slice(&segment.destination_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    out.extend_from_slice(&[((length / 4) as u8) << 4, segment.flags.0]);
    out.extend_from_slice(&segment.window.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    if let Some(timestamps) = segment.timestamps {
        out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    let blocks = segment.sack.blocks();
    if !blocks.is_empty() {
        out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            out.extend_from_slice(&block.left.to_be_bytes());
            out.extend_from_slice(&block.right.to_be_bytes());
        }
    }
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
