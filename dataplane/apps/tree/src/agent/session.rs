//! A host of a tree within a program in Rust: write to a [`TreeWriter`], read from a [`TreeReader`].
//!
//! ```no_run
//! use std::io::{self, Write};
//! use groupflow_host::secure::SecureSend;
//! use groupflow_tree::agent::session::{HostOptions, TreeReader, TreeWriter};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = || {
//!     let known = SecureSend::pinned("5e0c…").ok_or("no fingerprint")?;
//!     HostOptions::new("10.0.0.1:26495".parse()?, "c0ffee", known)
//!         .map_err(Box::<dyn std::error::Error>::from)
//! };
//! // The source; it begins when two hosts are in the tree.
//! let mut options_of_source = options()?;
//! options_of_source.members = 2;
//! let mut stream = TreeWriter::start(options_of_source)?;
//! stream.write_all(b"hello")?;
//! println!("{} bytes sent", stream.finish()?.bytes);
//!
//! // Another host.
//! let mut stream = TreeReader::start(options()?.on_event(|event, fields| eprintln!("{event} {fields}")))?;
//! io::copy(&mut stream, &mut io::stdout())?;
//! stream.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! The host runs in a thread of its own, with the loop of `gfagent tree-send` and `tree-recv`. A socket pair
//! connects it to the program: a write blocks while the tree takes no more, and while the program does not
//! read, the host is slow and is treated as its option `slow` says. The thread takes no signals, and changes
//! nothing in the process.
//!
//! If a session is dropped, it ends early: the host leaves the tree, and the drop does not wait for that.
//! Other hosts take over its children; if it is the source, receivers are told that it has left.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use groupflow_host::error::{plain, AgentError};
use groupflow_host::input::Input;
use groupflow_host::options::StreamStart;
use groupflow_host::process::system;
use groupflow_host::report::Reporter;
use groupflow_host::secure::SecureSend;
use nix::errno::Errno;
use nix::sys::socket::{recv, send, socketpair, AddressFamily, MsgFlags, SockFlag, SockType};
use serde_json::Value;

use super::args::TreeArgs;
use super::run::{self, Sink};
use super::stop::Stop;
use super::tcp_link::BATCH;

pub use groupflow_host::progress::Summary;

/// Bytes of the offset with which a record begins.
const OFFSET: usize = 8;

pub struct HostOptions {
    /// The host's options as on the command line. `json` is not used.
    pub host: TreeArgs,
    /// The source begins when this many hosts are in the tree.
    pub members: usize,
    /// The source's bound on the delay of each host, in milliseconds; `None`: that of the dispatchers.
    pub delay_ms: Option<f64>,
    /// The place in the stream at which a receiving host begins.
    pub from: StreamStart,
    reporter: Reporter,
}

impl HostOptions {
    /// The options of a host of the tree with these dispatchers; all other options have the command line's
    /// defaults. An invalid token is refused.
    pub fn new(to: SocketAddrV4, token: &str, secure: SecureSend) -> Result<HostOptions, AgentError> {
        let host = TreeArgs::new(to, token, secure)?;
        Ok(HostOptions {
            host,
            members: 1,
            delay_ms: None,
            from: StreamStart::Now,
            reporter: Reporter::quiet(),
        })
    }

    /// Sets a callback for events, which gets an event's name and its fields, as `--json` writes them
    /// (`joined`, `progress`, `skipped`, `complete`). It runs in the host's thread, which does nothing else
    /// meanwhile.
    pub fn on_event(self, told: impl FnMut(&str, &Value) + Send + 'static) -> HostOptions {
        HostOptions { reporter: Reporter::told(told), ..self }
    }

    /// Refuses options that are already known to be wrong.
    fn checked(self) -> Result<HostOptions, AgentError> {
        self.host.check()?;
        self.host.secure.trust(self.host.first()?)?;
        Ok(self)
    }
}

type HostThread = JoinHandle<Result<Summary, AgentError>>;

fn spawn(
    run: impl FnOnce() -> Result<Summary, AgentError> + Send + 'static,
) -> Result<HostThread, AgentError> {
    thread::Builder::new().name("tree".to_owned()).spawn(run).map_err(|e| system(&e))
}

fn join(host: HostThread) -> Result<Summary, AgentError> {
    host.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The source of a stream.
#[derive(Debug)]
pub struct TreeWriter {
    // The fields are dropped in this order: a host that sees the end of the stream can tell whether it was
    // meant.
    stop: UnixStream,
    data: OwnedFd,
    host: HostThread,
}

impl TreeWriter {
    /// Begins a stream. The dispatchers are looked for as long as the option `patience` says.
    pub fn start(options: HostOptions) -> Result<TreeWriter, AgentError> {
        let mut options = options.checked()?;
        let (stop, held) = Stop::pair()?;
        let (reader, data) = UnixStream::pair().map_err(|e| system(&e))?;
        let host = spawn(move || {
            let input = Input::new(File::from(OwnedFd::from(reader)), "the bytes written");
            let terms = (options.members, options.delay_ms);
            run::source(&options.host, terms, &input, stop, &mut options.reporter)
        })?;
        Ok(TreeWriter { stop: held, data: data.into(), host })
    }

    /// Ends the stream, and waits until all hosts have the whole stream.
    pub fn finish(self) -> Result<Summary, AgentError> {
        let TreeWriter { stop, data, host } = self;
        drop(data);
        let result = join(host);
        drop(stop);
        result
    }
}

/// Blocks while the tree is slow. After a broken pipe, [`TreeWriter::finish`] says why the stream is over.
impl Write for TreeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SIGPIPE must not kill a program that does not ignore it.
        Ok(send(self.data.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A host that receives the stream, and passes it on.
#[derive(Debug)]
pub struct TreeReader {
    stop: UnixStream,
    data: OwnedFd,
    host: Option<HostThread>,
    failed: Option<AgentError>,
    ended: bool,
    record: Box<[u8]>,
    /// The part of the record that is not read yet.
    begin: usize,
    end: usize,
    /// The offset of that part in the stream.
    offset: u64,
}

impl TreeReader {
    /// Joins the tree. The dispatchers are looked for as long as the option `patience` says.
    pub fn start(options: HostOptions) -> Result<TreeReader, AgentError> {
        let mut options = options.checked()?;
        let (stop, held) = Stop::pair()?;
        let kind = (AddressFamily::Unix, SockType::SeqPacket);
        let (there, data) =
            socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC).map_err(|e| system(&e.into()))?;
        let host = spawn(move || {
            let mut records = Records { socket: there, record: Vec::with_capacity(OFFSET + BATCH) };
            run::receiver(&options.host, options.from, &mut records, stop, &mut options.reporter)
        })?;
        Ok(TreeReader {
            stop: held,
            data,
            host: Some(host),
            failed: None,
            ended: false,
            record: vec![0; OFFSET + BATCH].into_boxed_slice(),
            begin: 0,
            end: 0,
            offset: 0,
        })
    }

    /// Reads like [`Read::read`], and also returns the offset of the first byte in the stream. The bytes of
    /// one read have no gap between them. With `Slow::Skip`, or if the host begins in the middle of the
    /// stream, the offset shows how many bytes are missing.
    pub fn read_with_offset(&mut self, into: &mut [u8]) -> io::Result<(u64, usize)> {
        while self.begin == self.end && !self.ended && !into.is_empty() {
            self.next_record()?;
        }
        let (count, at) = (into.len().min(self.end - self.begin), self.offset);
        into[..count].copy_from_slice(&self.record[self.begin..self.begin + count]);
        self.begin += count;
        self.offset += count as u64;
        Ok((at, count))
    }

    fn next_record(&mut self) -> io::Result<()> {
        let count = match recv(self.data.as_raw_fd(), &mut self.record, MsgFlags::empty()) {
            Err(Errno::EINTR) => return Ok(()),
            other => other?,
        };
        let mut offset = [0; OFFSET];
        match self.record[..count].get(..OFFSET) {
            Some(bytes) => offset.copy_from_slice(bytes),
            // The host ended without an end record: its result says why.
            None => return Err(io::Error::other(self.fail())),
        }
        (self.begin, self.end, self.offset) = (OFFSET, count, u64::from_ne_bytes(offset));
        self.ended = count == OFFSET;
        Ok(())
    }

    fn fail(&mut self) -> AgentError {
        if let Some(host) = self.host.take() {
            self.failed = join(host).err();
        }
        self.failed.get_or_insert_with(over).clone()
    }

    /// After the end of the stream, waits until all hosts below this one have the whole stream. Before the
    /// end, leaves the tree early, as a drop does, waits for that, and returns an error.
    pub fn finish(self) -> Result<Summary, AgentError> {
        let TreeReader { stop, data, host, failed, ended, .. } = self;
        let (kept, let_go) = if ended { (Some((stop, data)), None) } else { (None, Some((stop, data))) };
        drop(let_go);
        let result = match (host, failed) {
            (Some(host), _) => join(host),
            (None, failed) => Err(failed.unwrap_or_else(over)),
        };
        drop(kept);
        result
    }
}

fn over() -> AgentError {
    AgentError::new("left", "the stream is over", "start another session")
}

/// A read of 0 bytes is the end of the stream; an early end is an error. Skipped bytes are left out:
/// [`TreeReader::read_with_offset`] shows where.
impl Read for TreeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read_with_offset(into).map(|(_, count)| count)
    }
}

/// The host's end of the socket: each record has the offset of its bytes in the stream, then the bytes; a
/// record without bytes is the end.
struct Records {
    socket: OwnedFd,
    record: Vec<u8>,
}

impl Records {
    /// Sends a record. False: the record must be sent again when the socket takes more.
    fn send(&mut self, at: u64, bytes: &[u8]) -> Result<bool, AgentError> {
        self.record.clear();
        self.record.extend(at.to_ne_bytes());
        self.record.extend(bytes);
        let how = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        loop {
            match send(self.socket.as_raw_fd(), &self.record, how) {
                Ok(_) => return Ok(true),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(false),
                // The program has dropped the session, which the host notices at once.
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Ok(false),
                Err(error) => {
                    let cause = format!("cannot hand over received bytes: {}", plain(&error.into()));
                    return Err(AgentError::new("output", cause, "check the system's limits"));
                }
            }
        }
    }
}

impl Sink for Records {
    fn write(&mut self, at: u64, bytes: &mut Vec<u8>) -> Result<(), AgentError> {
        let count = bytes.len().min(BATCH);
        if count > 0 && self.send(at, &bytes[..count])? {
            bytes.drain(..count);
        }
        Ok(())
    }

    fn finish(&mut self, at: u64) -> Result<bool, AgentError> {
        self.send(at, &[])
    }
}

impl AsFd for Records {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
