//! Messages to bytes and back.

use groupflow_transport::wire::{Reader, WireError};

use super::coding::UNIT;
use super::message::{
    Body, Control, Data, Message, MessageError, Method, Reception, Repair, Round, Span, Verdict, MAX_AWAITED,
    MAX_BLOCK, MAX_PACKET, MAX_SPANS, VERSION,
};
use super::names::{FileName, RimId, TransferId};

impl Message {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.body.kind()];
        out.extend(self.transfer.0.to_be_bytes());
        match &self.body {
            Body::IpmSend { spread_ms } => out.extend(spread_ms.to_be_bytes()),
            Body::Join { rim } | Body::Leave { rim } => out.extend(rim.0.to_be_bytes()),
            Body::Control(control) => control.encode(&mut out),
            Body::Round(round) => {
                out.extend(round.round.to_be_bytes());
                out.extend(round.packet.to_be_bytes());
                out.extend(round.count.to_be_bytes());
                out.extend(round.first.to_be_bytes());
            }
            Body::Data(data) => {
                out.extend(data.round.to_be_bytes());
                out.extend(data.number.to_be_bytes());
                out.extend(data.shard.to_be_bytes());
                out.extend(data.offset.to_be_bytes());
                out.extend(&data.bytes);
            }
            Body::Result(result) => {
                out.extend(result.rim.0.to_be_bytes());
                out.extend(result.round.to_be_bytes());
                out.push(result.complete.into());
                out.extend(result.need.to_be_bytes());
                out.extend(result.rate.to_be_bytes());
                encode_spans(&result.lacks, &mut out);
            }
            Body::Heard { round, lacks } => {
                out.extend(round.to_be_bytes());
                encode_spans(lacks, &mut out);
            }
            Body::Poll { round, awaited } => {
                out.extend(round.to_be_bytes());
                let awaited = &awaited[..awaited.len().min(MAX_AWAITED)];
                out.push(awaited.len() as u8);
                awaited.iter().for_each(|rim| out.extend(rim.0.to_be_bytes()));
            }
            Body::End { complete } => out.push((*complete).into()),
            Body::Ask { rim, name } => {
                out.extend(rim.0.to_be_bytes());
                encode_name(name, &mut out);
            }
            Body::Answer { rim, name, verdict } => {
                out.extend(rim.0.to_be_bytes());
                out.push(*verdict as u8);
                encode_name(name, &mut out);
            }
            Body::Here => {}
        }
        out
    }

    /// Reads a message; what is wrong is named by its field.
    pub fn parse(bytes: &[u8]) -> Result<Message, MessageError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(illegal("version", version));
        }
        let kind = reader.u8("kind")?;
        let transfer = TransferId(reader.u32("transfer")?);
        let body = match kind {
            1 => Body::IpmSend { spread_ms: reader.u16("ipm_send.spread_ms")? },
            2 => Body::Join { rim: RimId(reader.u32("join.rim")?) },
            3 => Body::Control(Control::parse(&mut reader)?),
            4 => Body::Round(parse_round(&mut reader)?),
            5 => Body::Data(parse_data(&mut reader)?),
            6 => Body::Result(parse_result(&mut reader)?),
            7 => Body::Heard {
                round: reader.u32("heard.round")?,
                lacks: parse_spans(&mut reader, "heard.lacks")?,
            },
            8 => parse_poll(&mut reader)?,
            9 => Body::Leave { rim: RimId(reader.u32("leave.rim")?) },
            10 => Body::End { complete: flag(&mut reader, "end.complete")? },
            11 => {
                let rim = RimId(reader.u32("ask.rim")?);
                Body::Ask { rim, name: parse_name(&mut reader, "ask.name")? }
            }
            12 => {
                let rim = RimId(reader.u32("answer.rim")?);
                let verdict = parse_verdict(&mut reader)?;
                Body::Answer { rim, name: parse_name(&mut reader, "answer.name")?, verdict }
            }
            13 => Body::Here,
            _ => return Err(illegal("kind", kind)),
        };
        reader.end("message")?;
        Ok(Message { transfer, body })
    }
}

impl Body {
    fn kind(&self) -> u8 {
        match self {
            Body::IpmSend { .. } => 1,
            Body::Join { .. } => 2,
            Body::Control(_) => 3,
            Body::Round(_) => 4,
            Body::Data(_) => 5,
            Body::Result(_) => 6,
            Body::Heard { .. } => 7,
            Body::Poll { .. } => 8,
            Body::Leave { .. } => 9,
            Body::End { .. } => 10,
            Body::Ask { .. } => 11,
            Body::Answer { .. } => 12,
            Body::Here => 13,
        }
    }
}

impl Control {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([self.method as u8, self.repair as u8]);
        out.extend(self.size.to_be_bytes());
        out.extend(self.mode.to_be_bytes());
        out.extend(self.packet.to_be_bytes());
        out.extend(self.per_round.to_be_bytes());
        out.extend(self.interval_us.to_be_bytes());
        out.extend(self.grace_ms.to_be_bytes());
        out.extend(self.window_ms.to_be_bytes());
        out.extend(self.digest);
        encode_name(&self.name, out);
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Control, MessageError> {
        let method = match reader.u8("control.method")? {
            1 => Method::Scheduled,
            2 => Method::Unscheduled,
            3 => Method::Unicast,
            other => return Err(illegal("control.method", other)),
        };
        let repair = match reader.u8("control.repair")? {
            1 => Repair::GoBackN,
            2 => Repair::Selective,
            3 => Repair::Erasure,
            other => return Err(illegal("control.repair", other)),
        };
        let size = reader.u64("control.size")?;
        let mode = reader.u16("control.mode")?;
        if mode > 0o777 {
            return Err(illegal("control.mode", mode));
        }
        let packet = packet_size(reader, "control.packet")?;
        let per_round = reader.u16("control.per_round")?;
        if per_round == 0 {
            return Err(illegal("control.per_round", per_round));
        }
        if repair == Repair::Erasure && packet % UNIT != 0 {
            let problem = "erasure coding wants a multiple of 64 bytes";
            return Err(MessageError::Contradiction { field: "control.packet", problem });
        }
        if repair == Repair::Erasure && usize::from(packet) * usize::from(per_round) > MAX_BLOCK {
            let problem = "a block of so many packets is too large";
            return Err(MessageError::Contradiction { field: "control.per_round", problem });
        }
        let interval_us = reader.u32("control.interval_us")?;
        let grace_ms = reader.u16("control.grace_ms")?;
        let window_ms = reader.u16("control.window_ms")?;
        let mut digest = [0; 32];
        digest.copy_from_slice(reader.take(32, "control.digest")?);
        let name = parse_name(reader, "control.name")?;
        Ok(Control {
            method,
            repair,
            size,
            mode,
            packet,
            per_round,
            interval_us,
            grace_ms,
            window_ms,
            digest,
            name,
        })
    }
}

fn parse_round(reader: &mut Reader<'_>) -> Result<Round, MessageError> {
    let round = reader.u32("round.round")?;
    let packet = packet_size(reader, "round.packet")?;
    let count = reader.u16("round.count")?;
    if count == 0 {
        return Err(illegal("round.count", count));
    }
    Ok(Round { round, packet, count, first: reader.u64("round.first")? })
}

fn parse_data(reader: &mut Reader<'_>) -> Result<Data, MessageError> {
    let round = reader.u32("data.round")?;
    let number = reader.u16("data.number")?;
    let shard = reader.u16("data.shard")?;
    let offset = reader.u64("data.offset")?;
    let bytes = reader.rest().to_vec();
    if bytes.is_empty() || bytes.len() > usize::from(MAX_PACKET) {
        return Err(illegal("data.length", bytes.len() as u64));
    }
    if offset.checked_add(bytes.len() as u64).is_none() {
        return Err(illegal("data.offset", offset));
    }
    Ok(Data { round, number, shard, offset, bytes })
}

fn parse_result(reader: &mut Reader<'_>) -> Result<Reception, MessageError> {
    let rim = RimId(reader.u32("result.rim")?);
    let round = reader.u32("result.round")?;
    let complete = flag(reader, "result.complete")?;
    let need = reader.u16("result.need")?;
    let rate = reader.u64("result.rate")?;
    let lacks = parse_spans(reader, "result.lacks")?;
    if complete != lacks.is_empty() {
        let problem = "says that the file is complete, and what is lacking, or neither";
        return Err(MessageError::Contradiction { field: "result.complete", problem });
    }
    Ok(Reception { rim, round, complete, need, rate, lacks })
}

fn encode_name(name: &FileName, out: &mut Vec<u8>) {
    out.push(name.as_str().len() as u8);
    out.extend(name.as_str().as_bytes());
}

fn parse_name(reader: &mut Reader<'_>, field: &'static str) -> Result<FileName, MessageError> {
    FileName::parse(&reader.text(field)?).map_err(|problem| MessageError::Name { field, problem })
}

fn parse_verdict(reader: &mut Reader<'_>) -> Result<Verdict, MessageError> {
    match reader.u8("answer.verdict")? {
        1 => Ok(Verdict::Queued),
        2 => Ok(Verdict::Unknown),
        3 => Ok(Verdict::Busy),
        4 => Ok(Verdict::Unreadable),
        other => Err(illegal("answer.verdict", other)),
    }
}

fn parse_poll(reader: &mut Reader<'_>) -> Result<Body, MessageError> {
    let round = reader.u32("poll.round")?;
    let count = reader.u8("poll.count")?;
    if usize::from(count) > MAX_AWAITED {
        return Err(illegal("poll.count", count));
    }
    let awaited = (0..count).map(|_| Ok(RimId(reader.u32("poll.rim")?))).collect::<Result<_, WireError>>()?;
    Ok(Body::Poll { round, awaited })
}

fn encode_spans(spans: &[Span], out: &mut Vec<u8>) {
    let spans = &spans[..spans.len().min(MAX_SPANS)];
    out.push(spans.len() as u8);
    for span in spans {
        out.extend(span.offset.to_be_bytes());
        out.extend(span.length.to_be_bytes());
    }
}

/// Ascending, apart from each other, none empty.
fn parse_spans(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<Span>, MessageError> {
    let count = reader.u8(field)?;
    if usize::from(count) > MAX_SPANS {
        return Err(illegal(field, count));
    }
    let (mut spans, mut from) = (Vec::with_capacity(count.into()), 0);
    for _ in 0..count {
        let (offset, length) = (reader.u64(field)?, reader.u64(field)?);
        let end = offset.checked_add(length).filter(|_| length > 0 && offset >= from);
        let problem = "spans are empty, overlap or end beyond the longest file";
        from = end.ok_or(MessageError::Contradiction { field, problem })?;
        spans.push(Span { offset, length });
    }
    Ok(spans)
}

fn packet_size(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, MessageError> {
    match reader.u16(field)? {
        size @ 1..=MAX_PACKET => Ok(size),
        size => Err(illegal(field, size)),
    }
}

fn flag(reader: &mut Reader<'_>, field: &'static str) -> Result<bool, MessageError> {
    match reader.u8(field)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(illegal(field, other)),
    }
}

fn illegal(field: &'static str, value: impl Into<u64>) -> MessageError {
    MessageError::Wire(WireError::Value { field, value: value.into() })
}
