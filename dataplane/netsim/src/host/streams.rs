//! The byte streams of a program at a host: those that it opens, and those that its port takes.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::ops::Bound::{Excluded, Unbounded};

use groupflow_base::Nanos;

use super::byte_stream::ByteStream;
use crate::tcp::{decode, TcpFlags};
use crate::wire::Addresses;

/// The ports from which streams are opened.
const FIRST_PORT: u16 = 49_152;

/// A stream's far end, and its port at this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamEnds {
    pub far: SocketAddrV4,
    pub port: u16,
}

/// The streams, each with its use to the program; `None`: the program is done with it.
#[derive(Debug)]
pub struct Streams<Use> {
    /// The host's addresses, with the port that takes streams; the destination varies.
    own: Addresses,
    /// The most packets in flight on a stream, each way.
    window: u32,
    streams: BTreeMap<StreamEnds, (ByteStream, Option<Use>)>,
    next_port: u16,
    /// The stream that sent last: the others have their turn first.
    last: Option<StreamEnds>,
    pub malformed: u64,
}

impl<Use> Streams<Use> {
    pub fn new(own: Addresses, window: u32) -> Streams<Use> {
        Streams { own, window, streams: BTreeMap::new(), next_port: FIRST_PORT, last: None, malformed: 0 }
    }

    pub fn get(&mut self, ends: StreamEnds) -> Option<(&mut ByteStream, &mut Use)> {
        let (stream, purpose) = self.streams.get_mut(&ends)?;
        Some((stream, purpose.as_mut()?))
    }

    /// All streams that have a use.
    pub fn iter(&mut self) -> impl Iterator<Item = (StreamEnds, &mut ByteStream, &mut Use)> {
        self.streams
            .iter_mut()
            .filter_map(|(&ends, (stream, purpose))| Some((ends, stream, purpose.as_mut()?)))
    }

    /// Opens a stream to a host's port.
    pub fn open(&mut self, now: Nanos, far: SocketAddrV4, purpose: Use) {
        let ends = StreamEnds { far, port: self.next_port };
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        self.insert(now, ends, Some(purpose));
    }

    fn insert(&mut self, now: Nanos, ends: StreamEnds, purpose: Option<Use>) {
        let addresses = Addresses {
            destination: *ends.far.ip(),
            source_port: ends.port,
            destination_port: ends.far.port(),
            ..self.own
        };
        if let Ok(stream) = ByteStream::new(now, &addresses, self.window) {
            self.streams.insert(ends, (stream, purpose));
        }
    }

    /// Ends a stream behind the bytes that were sent; returns its use.
    pub fn release(&mut self, ends: StreamEnds) -> Option<Use> {
        let (stream, purpose) = self.streams.get_mut(&ends)?;
        stream.finish();
        purpose.take()
    }

    /// Handles a segment. `admit` gives a stream that a peer opens its use; without one, it is ended. Returns
    /// the stream.
    pub fn receive(
        &mut self, now: Nanos, from: SocketAddrV4, bytes: &[u8], admit: impl FnOnce() -> Option<Use>,
    ) -> Option<StreamEnds> {
        let Ok(segment) = decode(bytes) else {
            self.malformed += 1;
            return None;
        };
        let ends = StreamEnds { far: from, port: segment.destination_port };
        let opens = segment.flags.has(TcpFlags::SYN) && !segment.flags.has(TcpFlags::ACK);
        if opens && ends.port == self.own.source_port && !self.streams.contains_key(&ends) {
            let purpose = admit();
            let is_admitted = purpose.is_some();
            self.insert(now, ends, purpose);
            if !is_admitted {
                self.release(ends);
            }
        }
        // A stream that is over has no answer.
        let payload = &bytes[bytes.len() - segment.payload as usize..];
        self.streams.get_mut(&ends)?.0.on_segment(now, segment, payload);
        Some(ends)
    }

    /// When [`Streams::on_timer`] is to be called.
    pub fn deadline(&self) -> Nanos {
        self.streams.values().map(|(stream, _)| stream.deadline()).min().unwrap_or(Nanos::MAX)
    }

    /// Carries out everything due. Returns the uses of the streams that are lost.
    pub fn on_timer(&mut self, now: Nanos) -> Vec<Use> {
        let due = self.streams.iter_mut().filter(|(_, (stream, _))| stream.deadline() <= now);
        let lost = due.filter_map(|(&ends, (stream, _))| stream.on_timer(now).then_some(ends));
        let lost: Vec<StreamEnds> = lost.collect();
        lost.iter().filter_map(|ends| self.streams.remove(ends)?.1).collect()
    }

    /// Writes the packet to send now, if a stream has one. Acknowledgements go first, since they wait for no
    /// window; then streams take turns.
    pub fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> bool {
        if self.streams.values_mut().any(|(stream, _)| stream.acknowledge(now, head)) {
            return true;
        }
        let order = self.in_turn(self.last);
        let sends =
            |ends: &StreamEnds| self.streams.get_mut(ends).is_some_and(|(stream, _)| stream.poll(now, head));
        let found = order.into_iter().find(sends);
        self.last = found.or(self.last);
        if found.is_none() {
            self.streams.retain(|_, (stream, _)| !stream.is_over());
        }
        found.is_some()
    }

    /// All streams in their turns: those after the last one come first.
    pub fn in_turn(&self, last: Option<StreamEnds>) -> Vec<StreamEnds> {
        let after = last.map_or(Unbounded, Excluded);
        let later = self.streams.range((after, Unbounded)).map(|(&ends, _)| ends);
        later.chain(self.streams.keys().copied()).take(self.streams.len()).collect()
    }
}
