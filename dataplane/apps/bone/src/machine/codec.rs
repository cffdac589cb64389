//! Messages to bytes and back: what the declarations in `message` do not say.

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::wire::WireField;

use super::message::{
    Body, DataPacket, Message, Reception, Span, MAX_AWAITED, MAX_PACKET, MAX_SPANS, VERSION,
};
use super::message::{FileName, RimId, TransferId};

impl Message {
    /// The message's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u8(VERSION).u8(self.body.number()).u32(self.transfer.0);
        self.body.write_body(&mut w);
        w.into_bytes()
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
        Ok(Message { transfer, body: Body::parse_body(kind, reader.rest())? })
    }
}

/// Between number and offset are two bytes that are 0.
impl WireField for DataPacket {
    fn write(&self, w: &mut Writer) {
        w.u32(self.round).u16(self.number).u16(0).u64(self.offset).bytes(&self.bytes);
    }

    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<DataPacket, CodecError> {
        let round = reader.u32("data.round")?;
        let number = reader.u16("data.number")?;
        reader.u16_in(0..=0, "data.reserved")?;
        let offset = reader.u64("data.offset")?;
        let bytes = reader.rest().to_vec();
        if bytes.is_empty() || bytes.len() > usize::from(MAX_PACKET) {
            return Err(CodecError::value("data.length", bytes.len() as u64));
        }
        if offset.checked_add(bytes.len() as u64).is_none() {
            return Err(CodecError::value("data.offset", offset));
        }
        Ok(DataPacket { round, number, offset, bytes })
    }
}

/// Between `complete` and `rate` are two bytes that are 0.
impl WireField for Reception {
    fn write(&self, w: &mut Writer) {
        w.u32(self.rim.0).u32(self.round).u8(self.complete.into()).u16(0).u64(self.rate);
        spans::write(&self.lacks, w);
    }

    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Reception, CodecError> {
        let rim = RimId(reader.u32("result.rim")?);
        let round = reader.u32("result.round")?;
        let complete = reader.flag("result.complete")?;
        reader.u16_in(0..=0, "result.reserved")?;
        let rate = reader.u64("result.rate")?;
        let lacks = spans::read(reader, "result.lacks")?;
        if complete != lacks.is_empty() {
            let problem = "must be 1 where no byte is lacking, and 0 where one is";
            return Err(CodecError::new("result.complete", problem));
        }
        Ok(Reception { rim, round, complete, rate, lacks })
    }
}

impl WireField for FileName {
    fn write(&self, w: &mut Writer) {
        w.text(self.as_str());
    }

    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<FileName, CodecError> {
        FileName::parse(reader.text(field)?).map_err(|problem| CodecError::new(field, problem))
    }
}

/// The rims that a POLL names.
pub(super) mod awaited {
    use super::{CodecError, Reader, RimId, WireField, Writer, MAX_AWAITED};

    pub fn write(awaited: &[RimId], w: &mut Writer) {
        let awaited = &awaited[..awaited.len().min(MAX_AWAITED)];
        w.u8(awaited.len() as u8);
        awaited.iter().for_each(|rim| rim.write(w));
    }

    pub fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Vec<RimId>, CodecError> {
        let count = reader.u8("poll.count")?;
        if usize::from(count) > MAX_AWAITED {
            return Err(CodecError::value("poll.count", count));
        }
        (0..count).map(|_| RimId::read(reader, "poll.rim")).collect()
    }
}

/// Spans in ascending order, apart from each other, and not empty.
pub(super) mod spans {
    use super::{CodecError, Reader, Span, Writer, MAX_SPANS};

    pub fn write(spans: &[Span], w: &mut Writer) {
        let spans = &spans[..spans.len().min(MAX_SPANS)];
        w.u8(spans.len() as u8);
        for span in spans {
            w.u64(span.offset).u64(span.length);
        }
    }

    pub fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Vec<Span>, CodecError> {
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
}
