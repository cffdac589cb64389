//! The preamble of a connection to the next agent, which tells which stream follows.

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::StreamId;
use groupflow_transport::fanout::Mode;

/// Bytes of a preamble.
pub const LENGTH: usize = 28;
const MAGIC: &[u8; 4] = b"GFSP";
const VERSION: u8 = 1;

/// The stream that a connection between agents carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preamble {
    pub session: u32,
    /// The stream's number, the same at every agent, chosen by the agent to which its sender connected.
    pub stream: StreamId,
    /// The offset at which the bytes that follow begin.
    pub offset: u64,
    /// The session's mode, so that agents notice when they disagree.
    pub mode: Mode,
}

impl Preamble {
    /// As it is sent.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(LENGTH);
        w.bytes(MAGIC).u8(VERSION).u8(self.mode as u8).u16(0);
        w.u32(self.session).u64(self.stream.0).u64(self.offset);
        w.into_bytes()
    }

    /// From [`LENGTH`] bytes that were received.
    pub fn parse(bytes: &[u8]) -> Result<Preamble, CodecError> {
        let mut r = Reader::new(bytes);
        if r.array("magic")? != *MAGIC {
            return Err(CodecError::new("magic", "the first four bytes are not GFSP"));
        }
        match r.u8("version")? {
            VERSION => {}
            other => return Err(CodecError::value("version", other)),
        }
        let mode = Mode::parse(r.u8("mode")?)?;
        r.u16_in(0..=0, "reserved")?;
        let (session, stream) = (r.u32("session")?, StreamId(r.u64("stream")?));
        let preamble = Preamble { session, stream, offset: r.u64("offset")?, mode };
        r.end("preamble")?;
        Ok(preamble)
    }
}
