//! A client's stream at the server: its destination, a file that grows or nothing, and the server's end of
//! its stripes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use groupflow_base::reassembly::Reassembly;
use groupflow_base::{CodecError, StreamId};
use groupflow_host::error::plain;
use groupflow_host::link::{Channel, TcpLink};
use groupflow_host::poller::Registration;

use super::tune::AdvertisedWindow;
use crate::machine::frame::StripeReport;
use crate::machine::{ClientName, Epoch, GatherFrame, Side, StripeDecoder};

/// The client is told how much is delivered after this fraction of the room, this many bytes, or this time.
const PART: u64 = 8;
const MUCH: u64 = 32 << 10;
const SOON: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct GatherFlow {
    pub stream: StreamId,
    /// The epoch in which the server remembers the stream.
    pub epoch: Epoch,
    pub core: Reassembly,
    pub destination: Destination,
    pub stripes: BTreeSet<u64>,
    /// Since when the stream has had no connection.
    pub alone: Option<Instant>,
    pub began: Instant,
    /// The reason why the stream cannot be written, if it cannot.
    pub failure: Option<String>,
    /// Bytes that arrived in this round for the first time.
    pub fresh: u64,
    /// The largest segment of the stream in the last round, in bytes; 0: not known yet.
    pub segment: u64,
    /// Bytes delivered at the beginning of this round.
    pub before: u64,
    /// Segments sent and resent in this round.
    pub segments: (u64, u64),
    reported: u64,
    /// When the client is to be told how much is delivered.
    pub report_at: Option<Instant>,
    /// The connection that brought the last bytes: the news of delivered bytes goes back over it, as an
    /// acknowledgement does.
    pub last: u64,
}

impl GatherFlow {
    /// A stream of which `delivered` bytes are at its destination.
    pub fn new(
        stream: StreamId, epoch: Epoch, (destination, delivered): (Destination, u64), core: Reassembly,
    ) -> GatherFlow {
        GatherFlow {
            stream,
            epoch,
            core,
            destination,
            stripes: BTreeSet::new(),
            alone: None,
            began: Instant::now(),
            failure: None,
            fresh: 0,
            segment: 0,
            before: delivered,
            segments: (0, 0),
            reported: delivered,
            report_at: None,
            last: 0,
        }
    }

    /// Takes bytes of the stream that arrived over a stripe.
    pub fn receive(&mut self, offset: u64, bytes: &[u8]) -> Result<(), CodecError> {
        let (destination, failure) = (&mut self.destination, &mut self.failure);
        let mut write = |bytes: &[u8]| {
            if failure.is_none() {
                *failure = destination.write(bytes).err();
            }
            failure.as_ref().map_or(bytes.len(), |_| 0)
        };
        self.fresh += self.core.receive(offset, bytes, &mut write)?;
        Ok(())
    }

    /// The frame, if one is due, that tells the client how much is delivered.
    pub fn delivered_frame(&mut self, now: Instant) -> Option<GatherFrame> {
        let (delivered, limit) = (self.core.delivered, self.core.limit());
        if delivered == self.reported {
            return None;
        }
        let much = delivered - self.reported >= MUCH.min(self.core.room / PART);
        let due = *self.report_at.get_or_insert(now + SOON);
        if !much && now < due {
            return None;
        }
        self.reported = delivered;
        self.report_at = None;
        Some(GatherFrame::Delivered { delivered, limit })
    }
}

/// Bytes that may wait for a client that does not read: some hundred frames beyond the kernel's buffers.
const OUTBOX: usize = 8 << 10;

#[derive(Debug)]
pub struct ServerStripe {
    pub link: TcpLink,
    pub decoder: StripeDecoder,
    pub peer: SocketAddrV4,
    /// The client, known after its HELLO.
    pub client: Option<ClientName>,
    pub has_left: bool,
    /// Since when the connection is about to be closed: it closes when its last frame is sent and the peer
    /// has closed; bytes that arrive are discarded.
    pub farewell: Option<Instant>,
    /// Bytes that arrived after the farewell.
    pub discarded: usize,
    /// The client's last report on this connection.
    pub report: StripeReport,
    pub window: AdvertisedWindow,
}

impl ServerStripe {
    pub fn new(channel: Channel, registration: Registration, peer: SocketAddrV4) -> ServerStripe {
        ServerStripe {
            link: TcpLink::established(channel, registration, OUTBOX),
            decoder: StripeDecoder::new(Side::Client),
            peer,
            client: None,
            has_left: false,
            farewell: None,
            discarded: 0,
            report: StripeReport::default(),
            window: AdvertisedWindow::default(),
        }
    }

    /// Queues a frame. False: the client does not read, and there is no room.
    pub fn send(&mut self, frame: &GatherFrame) -> bool {
        let room = self.link.out.room() >= 1024;
        if room {
            frame.encode_into(self.link.out.bytes());
        }
        room
    }

    /// Writes as much as the connection takes; after the farewell, closes the sending side.
    pub fn flush(&mut self) -> io::Result<()> {
        self.link.flush(self.farewell.is_some())
    }
}

#[derive(Debug)]
pub enum Destination {
    /// A file under the temporary name `part`; complete, it gets the name `path`.
    Part {
        file: File,
        part: PathBuf,
        path: PathBuf,
    },
    /// A file that is complete already.
    Whole(PathBuf),
    Discard,
}

impl Destination {
    /// Opens the destination of a client's stream, in a folder if there is one; also returns how many bytes
    /// are there.
    pub fn open(
        folder: Option<&Path>, client: &ClientName, stream: StreamId,
    ) -> Result<(Destination, u64), String> {
        let Some(folder) = folder else { return Ok((Destination::Discard, 0)) };
        let path = folder.join(format!("{client}.{stream}"));
        if let Ok(about) = fs::metadata(&path) {
            return Ok((Destination::Whole(path), about.len()));
        }
        let part = folder.join(format!("{client}.{stream}.part"));
        let opened = File::options().write(true).create(true).truncate(false).open(&part);
        let opened = opened.and_then(|mut file| file.seek(io::SeekFrom::End(0)).map(|length| (file, length)));
        let (file, length) = opened.map_err(|e| failed(&part, &e))?;
        Ok((Destination::Part { file, part, path }, length))
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Destination::Discard => Ok(()),
            Destination::Whole(path) => Err(format!("{} is complete", path.display())),
            Destination::Part { file, part, .. } => file.write_all(bytes).map_err(|e| failed(part, &e)),
        }
    }

    /// Completes the stream: gives the file its final name.
    pub fn finish(&mut self) -> Result<(), String> {
        match self {
            Destination::Part { part, path, .. } => fs::rename(&*part, &*path).map_err(|e| failed(path, &e)),
            _ => Ok(()),
        }
    }

    /// The destination's path, with the name that the file has or will have.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Destination::Part { path, .. } | Destination::Whole(path) => Some(path),
            Destination::Discard => None,
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    let (path, error) = (path.display(), plain(error));
    format!("cannot write {path}: {error}; see its permissions and the disk's free space")
}
