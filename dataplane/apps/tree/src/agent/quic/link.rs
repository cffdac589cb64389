//! One QUIC connection.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{
    Connection, ConnectionEvent, Dir, Event, ReadError, Side, StreamEvent, Transmit, VarInt, WriteError,
};

use super::links::{QuicCounts, WRITE};
use crate::machine::ConnId;

/// Bytes that wait besides those on the way: bytes that wait here cannot go over another connection.
const UNSENT: u64 = 128 << 10;
/// Bytes of datagrams that may wait, whatever their deadline.
const WAITING: usize = 1 << 20;

/// A connection that is to end waits at most so long for the next acknowledgement of its last bytes,
const LAST_WORD: Duration = Duration::from_secs(1);
/// and so long for all of them, so that a peer that takes them slowly does not hold it for ever.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The news of an event, for the connection's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkChange {
    Nothing,
    Connected,
    Closed,
}

/// A connection, its stream and its datagrams.
pub struct QuicLink {
    connection: Connection,
    /// The connection's name; `None`: it is a stranger's.
    pub(super) conn: Option<ConnId>,
    /// Datagrams that have waited for longer are dropped.
    pub patience: Duration,
    /// The least round trip, once it is known.
    pub(super) round_trip: Option<Duration>,
    stream: Option<quinn_proto::StreamId>,
    /// Bytes that were written, and not given to the connection yet.
    pending: Bytes,
    datagrams: VecDeque<(Instant, Bytes)>,
    waiting: usize,
    late: u64,
    /// When the connection ends if no further acknowledgement comes, and when it ends at the latest.
    ends: Option<(Instant, Instant)>,
    /// Acknowledgements that came.
    acks: u64,
    /// Whether an event came that was not looked at yet.
    touched: bool,
    /// Whether there may be packets to send.
    speaks: bool,
    /// Frames that came; a forged packet has none.
    frames: u64,
}

impl QuicLink {
    pub(super) fn new(connection: Connection, conn: Option<ConnId>) -> QuicLink {
        QuicLink {
            connection,
            conn,
            patience: Duration::MAX,
            round_trip: None,
            stream: None,
            pending: Bytes::new(),
            datagrams: VecDeque::new(),
            waiting: 0,
            late: 0,
            ends: None,
            acks: 0,
            touched: true,
            speaks: true,
            frames: 0,
        }
    }

    /// The connection, for its endpoint's events.
    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub(super) fn handle(&mut self, event: ConnectionEvent) {
        self.connection.handle_event(event);
        (self.touched, self.speaks) = (true, true);
    }

    /// Whether an event came, the time included, since the last call.
    pub(super) fn is_touched(&mut self, now: Instant) -> bool {
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
            (self.touched, self.speaks) = (true, true);
        }
        std::mem::take(&mut self.touched) || self.is_over(now)
    }

    fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|(ends, _)| ends <= now)
    }

    pub(super) fn deadline(&mut self) -> Option<Instant> {
        self.ends.map(|(ends, _)| ends).into_iter().chain(self.connection.poll_timeout()).min()
    }

    pub(super) fn on_event(&mut self, now: Instant, event: &Event) -> LinkChange {
        match event {
            Event::Connected => {
                if self.connection.side() == Side::Client {
                    self.stream = self.connection.streams().open(Dir::Bi);
                }
                LinkChange::Connected
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                self.stream = self.stream.or_else(|| self.connection.streams().accept(Dir::Bi));
                LinkChange::Nothing
            }
            // The peer has all bytes of the stream, or does not read it.
            Event::Stream(StreamEvent::Finished { .. } | StreamEvent::Stopped { .. }) => {
                self.close(now);
                LinkChange::Closed
            }
            Event::ConnectionLost { .. } => LinkChange::Closed,
            _ => LinkChange::Nothing,
        }
    }

    /// Whether any frame came, even a bare PING, since the last call.
    pub(super) fn was_heard(&mut self) -> bool {
        let came = self.connection.stats().frame_rx;
        let frames = came.acks + came.stream + came.datagram + came.ping;
        std::mem::replace(&mut self.frames, frames) != frames
    }

    /// Gives written bytes to the connection, as it has room for them.
    pub(super) fn give(&mut self, now: Instant) {
        let acks = self.connection.stats().frame_rx.acks;
        if std::mem::replace(&mut self.acks, acks) != acks {
            self.ends = self.ends.map(|(ends, latest)| (ends.max(now + LAST_WORD).min(latest), latest));
        }
        if self.is_over(now) {
            return self.close(now);
        }
        if !self.connection.is_handshaking() {
            let now = self.connection.rtt();
            self.round_trip = Some(self.round_trip.map_or(now, |least| least.min(now)));
        }
        let (Some(stream), false) = (self.stream, self.pending.is_empty()) else { return };
        let window = self.connection.congestion_state().window();
        self.connection.set_send_window(window + UNSENT);
        let mut chunks = [std::mem::take(&mut self.pending)];
        match self.connection.send_stream(stream).write_chunks(&mut chunks) {
            Ok(written) if written.chunks == chunks.len() => {}
            Ok(_) | Err(WriteError::Blocked) => [self.pending] = chunks,
            // A peer that stopped the stream will be gone soon.
            Err(_) => {}
        }
        self.speaks = true;
    }

    pub(super) fn poll_transmit(&mut self, now: Instant, most: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.speaks {
            return None;
        }
        self.give_datagrams(now);
        let most = most.min(WRITE / usize::from(self.connection.current_mtu())).max(1);
        let transmit = self.connection.poll_transmit(now, most, out);
        self.speaks = transmit.is_some();
        transmit
    }

    fn give_datagrams(&mut self, now: Instant) {
        while let Some((since, bytes)) = self.datagrams.front() {
            let is_late = now.saturating_duration_since(*since) > self.patience;
            if !is_late && self.connection.datagrams().send_buffer_space() < bytes.len() {
                return;
            }
            let Some((_, bytes)) = self.datagrams.pop_front() else { return };
            self.waiting -= bytes.len();
            if is_late || self.connection.datagrams().send(bytes, false).is_err() {
                self.late += 1;
            }
        }
    }

    /// Appends bytes that came, at most `most`; `None`: the stream has ended, or the connection has.
    pub fn read(&mut self, most: usize, into: &mut Vec<u8>) -> Option<()> {
        let Some(stream) = self.stream else { return Some(()) };
        let mut receiving = self.connection.recv_stream(stream);
        let mut chunks = receiving.read(true).ok()?;
        let more = loop {
            match chunks.next(most.saturating_sub(into.len())) {
                Ok(Some(chunk)) => into.extend_from_slice(&chunk.bytes),
                Err(ReadError::Blocked) => break Some(()),
                // Bytes that came before the end are taken first.
                Ok(None) => break (!into.is_empty()).then_some(()),
                Err(ReadError::Reset(_)) => break None,
            }
            if into.len() >= most {
                break Some(());
            }
        };
        self.speaks |= chunks.finalize().should_transmit();
        more
    }

    /// The next datagram that came.
    pub fn read_datagram(&mut self) -> Option<Bytes> {
        self.connection.datagrams().recv()
    }

    /// Whether the stream takes a write of any length: not while datagrams wait, which it would delay until
    /// they are late.
    pub fn takes(&self) -> bool {
        self.stream.is_some() && self.pending.is_empty() && self.datagrams.is_empty()
    }

    /// Writes to the stream; only while [`QuicLink::takes`].
    pub fn write(&mut self, now: Instant, bytes: Bytes) {
        self.pending = bytes;
        self.give(now);
    }

    /// Sends a datagram, or drops it.
    pub fn write_datagram(&mut self, now: Instant, bytes: Bytes) {
        self.waiting += bytes.len();
        self.datagrams.push_back((now, bytes));
        while self.waiting > WAITING {
            let Some((_, oldest)) = self.datagrams.pop_front() else { break };
            self.waiting -= oldest.len();
            self.late += 1;
        }
        self.speaks = true;
    }

    /// Closes the connection if [`QuicLink::finish`] was called and the peer has all bytes or takes no more.
    pub fn end(&mut self, now: Instant) {
        self.ends.get_or_insert((now + LAST_WORD, now + LAST_WORDS));
    }

    /// Ends the stream if the connection is to end: the last bytes were written.
    pub fn finish(&mut self, now: Instant) {
        match self.stream {
            _ if self.ends.is_none() => {}
            Some(stream) => {
                // The stream may be finished already.
                let _ = self.connection.send_stream(stream).finish();
                self.speaks = true;
            }
            None => self.close(now),
        }
    }

    /// Closes the connection at once.
    pub(super) fn close(&mut self, now: Instant) {
        self.connection.close(now, VarInt::from_u32(0), Bytes::new());
        self.datagrams.clear();
        (self.waiting, self.pending, self.ends) = (0, Bytes::new(), None);
        (self.touched, self.speaks) = (true, true);
    }

    pub(super) fn source(&self) -> IpAddr {
        self.connection.remote_address().ip()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    pub(super) fn counts(&self) -> QuicCounts {
        let stats = self.connection.stats();
        QuicCounts {
            sent: stats.path.sent_packets,
            lost: stats.path.lost_packets,
            received: stats.udp_rx.datagrams,
            datagrams: stats.frame_rx.datagram,
            late: self.late,
        }
    }
}
