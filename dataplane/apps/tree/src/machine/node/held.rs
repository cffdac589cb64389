//! The bytes of the stream that a node holds: those in order, and those that came beyond a gap.

use groupflow_base::reassembly::Reassembly;
use groupflow_base::stream::ByteQueue;
use groupflow_transport::fanout::Fanout;

use super::NodeConfig;
use crate::machine::frame::Reason;

/// The bytes that a node holds.
#[derive(Debug, Clone)]
pub(super) struct HeldBytes {
    bytes: ByteQueue,
    window: u64,
    /// Bytes from the parent; `None`: the node is the source, or does not know yet where it begins.
    pub(super) incoming: Option<Reassembly>,
    /// Whether the node lost its place: no host had the next bytes, so it skips to where the next parent
    /// serves.
    pub(super) is_lost: bool,
}

impl HeldBytes {
    /// Nothing; bytes from the offset `at` on are to come from a parent, if it is known.
    pub(super) fn new(config: &NodeConfig, at: Option<u64>) -> HeldBytes {
        HeldBytes {
            bytes: ByteQueue::at(at.unwrap_or(0)),
            window: config.window,
            incoming: at.map(|at| Reassembly::new(at, config.window)),
            is_lost: false,
        }
    }

    /// Begins anew at an offset; no earlier byte is held.
    pub(super) fn begin_at(&mut self, begin: u64) {
        self.bytes = ByteQueue::at(begin);
        self.incoming = Some(Reassembly::new(begin, self.window));
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64 + self.incoming.as_ref().map_or(0, Reassembly::held)
    }

    /// Offset of the next byte from a parent, if it is known.
    pub(super) fn delivered(&self) -> Option<u64> {
        self.incoming.as_ref().map(Reassembly::delivered)
    }

    /// Whether all bytes came from a parent, and the end.
    pub(super) fn is_complete(&self) -> bool {
        self.incoming.as_ref().is_some_and(Reassembly::is_complete)
    }

    /// Takes as many bytes in order as the stream has room for; returns how many.
    pub(super) fn write(&mut self, stream: &mut Fanout, bytes: &[u8]) -> usize {
        take(stream, &mut self.bytes, bytes)
    }

    pub(super) fn receive(&mut self, stream: &mut Fanout, offset: u64, bytes: &[u8]) -> Result<(), Reason> {
        let incoming = self.incoming.as_mut().ok_or(Reason::BadFrame)?;
        let mut sink = |bytes: &[u8]| take(stream, &mut self.bytes, bytes);
        incoming.receive(offset, bytes, &mut sink).map(drop).map_err(|_| Reason::BadFrame)
    }

    /// The stream's length; where it may be skipped, the record with which this node was to begin may not
    /// come any more.
    pub(super) fn end(&mut self, length: u64, skips: bool) -> Result<(), Reason> {
        let incoming = self.incoming.as_mut().ok_or(Reason::BadFrame)?;
        let length = if skips { length.max(incoming.delivered()) } else { length };
        incoming.end(length).map_err(|_| Reason::BadFrame)
    }

    /// Takes bytes that came and had no room; the end may be reached, too.
    pub(super) fn drain(&mut self, stream: &mut Fanout) {
        let Some(incoming) = self.incoming.as_mut() else { return };
        incoming.drain(&mut |bytes: &[u8]| take(stream, &mut self.bytes, bytes));
        if incoming.is_complete() {
            stream.on_upstream_end();
        }
    }

    /// At most `most` bytes from the offset `from` on, as two pieces that follow each other.
    pub(super) fn read(&self, from: u64, most: usize) -> (&[u8], &[u8]) {
        self.bytes.read(from, most)
    }

    pub(super) fn discard_below(&mut self, base: u64) {
        self.bytes.discard_below(base);
    }
}

/// Takes as many bytes as the stream has room for; returns how many.
fn take(stream: &mut Fanout, queue: &mut ByteQueue, bytes: &[u8]) -> usize {
    let room = usize::try_from(stream.intake()).unwrap_or(usize::MAX);
    let taken = bytes.len().min(room);
    match stream.on_received(taken as u64) {
        Ok(()) => {
            queue.push(&bytes[..taken]);
            taken
        }
        Err(_) => 0,
    }
}
