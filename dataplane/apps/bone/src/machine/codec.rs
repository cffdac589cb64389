//! Messages to bytes and back.

use groupflow_base::codec::{CodecError, Reader, Writer};

use super::coding::UNIT;
use super::message::{
    Body, DataPacket, Message, Method, Parameters, Reception, Repair, Round, Span, Verdict, MAX_AWAITED,
    MAX_BLOCK, MAX_PACKET, MAX_SPANS, SILENCES_S, VERSION, WAITS_MS,
};
use super::names::{FileName, RimId, TransferId};

impl Message {
    /// The message's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(VERSION).u8(0).u32(self.transfer.0);
        let (kind, _) = match &self.body {
            Body::IpmSend { spread_ms } => (1, w.u16(*spread_ms)),
            Body::Join { rim } => (2, w.u32(rim.0)),
            Body::Control(control) => (3, control.encode(&mut w)),
            Body::Round(m) => (4, w.u32(m.round).u16(m.packet).u16(m.count).u64(m.first)),
            Body::Data(m) => (5, w.u32(m.round).u16(m.number).u16(m.shard).u64(m.offset).bytes(&m.bytes)),
            Body::Result(m) => {
                w.u32(m.rim.0).u32(m.round).u8(m.complete.into()).u16(m.need).u64(m.rate);
                (6, encode_spans(&m.lacks, &mut w))
            }
            Body::Heard { round, lacks } => (7, encode_spans(lacks, w.u32(*round))),
            Body::Poll { round, awaited } => {
                let awaited = &awaited[..awaited.len().min(MAX_AWAITED)];
                w.u32(*round).u8(awaited.len() as u8);
                (8, awaited.iter().fold(&mut w, |w, rim| w.u32(rim.0)))
            }
            Body::Leave { rim } => (9, w.u32(rim.0)),
            Body::End { complete } => (10, w.u8((*complete).into())),
            Body::Ask { rim, name } => (11, w.u32(rim.0).text(name.as_str())),
            Body::Answer { rim, name, verdict } => (12, w.u32(rim.0).u8(*verdict as u8).text(name.as_str())),
            Body::Here => (13, &mut w),
        };
        let mut bytes = w.into_bytes();
        bytes[1] = kind;
        bytes
    }

    /// Parses a message; an error names the field that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Message, CodecError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8("version")?;
        if version != VERSION {
            return Err(CodecError::value("version", version));
        }
        let kind = reader.u8("kind")?;
        let transfer = TransferId(reader.u32("transfer")?);
        let body = match kind {
            1 => Body::IpmSend { spread_ms: reader.u16("ipm_send.spread_ms")? },
            2 => Body::Join { rim: RimId(reader.u32("join.rim")?) },
            3 => Body::Control(Parameters::parse(&mut reader)?),
            4 => Body::Round(parse_round(&mut reader)?),
            5 => Body::Data(parse_data(&mut reader)?),
            6 => Body::Result(parse_result(&mut reader)?),
            7 => Body::Heard {
                round: reader.u32("heard.round")?,
                lacks: parse_spans(&mut reader, "heard.lacks")?,
            },
            8 => parse_poll(&mut reader)?,
            9 => Body::Leave { rim: RimId(reader.u32("leave.rim")?) },
            10 => Body::End { complete: reader.flag("end.complete")? },
            11 => {
                let rim = RimId(reader.u32("ask.rim")?);
                Body::Ask { rim, name: parse_name(&mut reader, "ask.name")? }
            }
            12 => {
                let rim = RimId(reader.u32("answer.rim")?);
                let verdict = Verdict::parse(reader.u8("answer.verdict")?)?;
                Body::Answer { rim, name: parse_name(&mut reader, "answer.name")?, verdict }
            }
            13 => Body::Here,
            _ => return Err(CodecError::value("kind", kind)),
        };
        reader.end("message")?;
        Ok(Message { transfer, body })
    }
}

impl Parameters {
    fn encode<'w>(&self, w: &'w mut Writer) -> &'w mut Writer {
        w.u8(self.method as u8).u8(self.repair as u8).u64(self.size).u16(self.mode);
        w.u16(self.packet).u16(self.per_round).u32(self.interval_us).u16(self.grace_ms).u16(self.window_ms);
        w.u16(self.join_ms).u16(self.result_ms).u16(self.silence_s);
        w.bytes(&self.digest).text(self.name.as_str())
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Parameters, CodecError> {
        let control = Parameters {
            method: Method::parse(reader.u8("control.method")?)?,
            repair: Repair::parse(reader.u8("control.repair")?)?,
            size: reader.u64("control.size")?,
            mode: reader.u16_in(0..=0o777, "control.mode")?,
            packet: reader.u16_in(1..=MAX_PACKET, "control.packet")?,
            per_round: reader.u16_in(1..=u16::MAX, "control.per_round")?,
            interval_us: reader.u32("control.interval_us")?,
            grace_ms: reader.u16("control.grace_ms")?,
            window_ms: reader.u16("control.window_ms")?,
            join_ms: reader.u16_in(WAITS_MS, "control.join_ms")?,
            result_ms: reader.u16_in(WAITS_MS, "control.result_ms")?,
            silence_s: reader.u16_in(SILENCES_S, "control.silence_s")?,
            digest: reader.array("control.digest")?,
            name: parse_name(reader, "control.name")?,
        };
        let Parameters { packet, per_round, .. } = control;
        if control.repair == Repair::Erasure && packet % UNIT != 0 {
            return Err(CodecError::new("control.packet", "erasure coding wants a multiple of 64 bytes"));
        }
        if control.repair == Repair::Erasure && usize::from(packet) * usize::from(per_round) > MAX_BLOCK {
            return Err(CodecError::new("control.per_round", "a block of so many packets is too large"));
        }
        Ok(control)
    }
}

fn parse_round(reader: &mut Reader<'_>) -> Result<Round, CodecError> {
    Ok(Round {
        round: reader.u32("round.round")?,
        packet: reader.u16_in(1..=MAX_PACKET, "round.packet")?,
        count: reader.u16_in(1..=u16::MAX, "round.count")?,
        first: reader.u64("round.first")?,
    })
}

fn parse_data(reader: &mut Reader<'_>) -> Result<DataPacket, CodecError> {
    let round = reader.u32("data.round")?;
    let number = reader.u16("data.number")?;
    let shard = reader.u16("data.shard")?;
    let offset = reader.u64("data.offset")?;
    let bytes = reader.rest().to_vec();
    if bytes.is_empty() || bytes.len() > usize::from(MAX_PACKET) {
        return Err(CodecError::value("data.length", bytes.len() as u64));
    }
    if offset.checked_add(bytes.len() as u64).is_none() {
        return Err(CodecError::value("data.offset", offset));
    }
    Ok(DataPacket { round, number, shard, offset, bytes })
}

fn parse_result(reader: &mut Reader<'_>) -> Result<Reception, CodecError> {
    let result = Reception {
        rim: RimId(reader.u32("result.rim")?),
        round: reader.u32("result.round")?,
        complete: reader.flag("result.complete")?,
        need: reader.u16("result.need")?,
        rate: reader.u64("result.rate")?,
        lacks: parse_spans(reader, "result.lacks")?,
    };
    if result.complete != result.lacks.is_empty() {
        let problem = "must be 1 where no byte is lacking, and 0 where one is";
        return Err(CodecError::new("result.complete", problem));
    }
    Ok(result)
}

fn parse_name(reader: &mut Reader<'_>, field: &'static str) -> Result<FileName, CodecError> {
    FileName::parse(reader.text(field)?).map_err(|problem| CodecError::new(field, problem))
}

fn parse_poll(reader: &mut Reader<'_>) -> Result<Body, CodecError> {
    let round = reader.u32("poll.round")?;
    let count = reader.u8("poll.count")?;
    if usize::from(count) > MAX_AWAITED {
        return Err(CodecError::value("poll.count", count));
    }
    let awaited =
        (0..count).map(|_| Ok(RimId(reader.u32("poll.rim")?))).collect::<Result<_, CodecError>>()?;
    Ok(Body::Poll { round, awaited })
}

fn encode_spans<'w>(spans: &[Span], w: &'w mut Writer) -> &'w mut Writer {
    let spans = &spans[..spans.len().min(MAX_SPANS)];
    w.u8(spans.len() as u8);
    spans.iter().fold(w, |w, span| w.u64(span.offset).u64(span.length))
}

/// Parses spans, which must be in ascending order, apart from each other, and not empty.
fn parse_spans(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<Span>, CodecError> {
    let count = reader.u8(field)?;
    if usize::from(count) > MAX_SPANS {
        return Err(CodecError::value(field, count));
    }
    let (mut spans, mut from) = (Vec::with_capacity(count.into()), 0);
    for _ in 0..count {
        let (offset, length) = (reader.u64(field)?, reader.u64(field)?);
        let end = offset.checked_add(length).filter(|_| length > 0 && offset >= from);
        let problem = "spans are empty, overlap or end beyond the longest file";
        from = end.ok_or(CodecError::new(field, problem))?;
        spans.push(Span { offset, length });
    }
    Ok(spans)
}
