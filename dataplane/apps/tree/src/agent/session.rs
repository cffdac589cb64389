//! A host of a tree within a program in Rust: write to a [`Sender`], read from a [`Receiver`].
//!
//! ```no_run
//! use std::io::{self, Write};
//! use groupflow_host::secure::SecureSend;
//! use groupflow_tree::agent::session::{Options, Receiver, Sender};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = || {
//!     let known = SecureSend::pinned("5e0c…").ok_or("no fingerprint")?;
//!     Options::new("10.0.0.1:26495".parse()?, "c0ffee", known).map_err(Box::<dyn std::error::Error>::from)
//! };
//! // The source; it begins when two hosts are in the tree.
//! let mut options_of_source = options()?;
//! options_of_source.members = 2;
//! let mut stream = Sender::start(options_of_source)?;
//! stream.write_all(b"hello")?;
//! println!("{} bytes sent", stream.finish()?.bytes);
//!
//! // Another host.
//! let mut stream = Receiver::start(options()?.on_event(|event, fields| eprintln!("{event} {fields}")))?;
//! io::copy(&mut stream, &mut io::stdout())?;
//! stream.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! The host runs in a thread of its own, with the loop of `gfagent tree-send` and `tree-recv`. Between it and the program is a
//! socket pair: a write waits when the tree takes no more, and when the program does not read, the host is slow, with what
//! `slow` of its options makes of that. No signals are taken, and nothing of the process is changed.
//!
//! Dropped, a session ends early: the host takes its leave, which the drop does not wait for. Others take over those that it
//! serves; when it is the source, receivers are told that it has left.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use groupflow_host::error::plain;
use groupflow_host::error::AgentError;
use groupflow_host::input::Input;
use groupflow_host::options::From;
use groupflow_host::process::system;
use groupflow_host::report::Reporter;
use groupflow_host::secure::SecureSend;
use nix::errno::Errno;
use nix::sys::socket::{recv, send, socketpair, AddressFamily, MsgFlags, SockFlag, SockType};
use serde_json::Value;

use super::args::TreeArgs;
use super::edge::BATCH;
use super::run::{self, Sink};
use super::stop::Stop;

pub use super::run::Summary;

/// Bytes before the stream's in a record: where they belong.
const OFFSET: usize = 8;

/// What a host is to be.
pub struct Options {
    /// As on the command line. `json` is not used.
    pub host: TreeArgs,
    /// A sender begins when so many hosts are in the tree.
    pub members: usize,
    /// Where a receiver begins.
    pub from: From,
    reporter: Reporter,
}

impl Options {
    /// Of a host of the tree whose dispatchers are there; all else is as the command line has it when it is not said. A token
    /// that is none is refused.
    pub fn new(to: SocketAddrV4, token: &str, secure: SecureSend) -> Result<Options, AgentError> {
        let host = TreeArgs::new(to, token, secure)?;
        Ok(Options { host, members: 1, from: From::Now, reporter: Reporter::quiet() })
    }

    /// Is told what happens, in the host's thread: an event's name and its fields, as `--json` writes them (`joined`,
    /// `progress`, `skipped`, `complete`). As long as it takes, nothing else is done.
    pub fn on_event(self, told: impl FnMut(&str, &Value) + Send + 'static) -> Options {
        Options { reporter: Reporter::told(told), ..self }
    }

    /// What can be known to be wrong is said at once.
    fn checked(self) -> Result<Options, AgentError> {
        self.host.check()?;
        self.host.secure.trust(self.host.first()?)?;
        Ok(self)
    }
}

type Host = JoinHandle<Result<Summary, AgentError>>;

fn spawn(run: impl FnOnce() -> Result<Summary, AgentError> + Send + 'static) -> Result<Host, AgentError> {
    thread::Builder::new().name("tree".to_owned()).spawn(run).map_err(|e| system(&e))
}

fn join(host: Host) -> Result<Summary, AgentError> {
    host.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The source of a stream.
#[derive(Debug)]
pub struct Sender {
    // Dropped in this order: who sees the end of the stream sees whether it was meant.
    stop: UnixStream,
    data: OwnedFd,
    host: Host,
}

impl Sender {
    /// Begins a stream. The dispatchers are looked for as long as `patience` of the options says.
    pub fn start(options: Options) -> Result<Sender, AgentError> {
        let mut options = options.checked()?;
        let (stop, held) = Stop::pair()?;
        let (reader, data) = UnixStream::pair().map_err(|e| system(&e))?;
        let host = spawn(move || {
            let input = Input::new(File::from(OwnedFd::from(reader)), "what is written");
            run::source(&options.host, options.members, &input, stop, &mut options.reporter)
        })?;
        Ok(Sender { stop: held, data: data.into(), host })
    }

    /// Ends the stream, and waits until all hosts have all of it.
    pub fn finish(self) -> Result<Summary, AgentError> {
        let Sender { stop, data, host } = self;
        drop(data);
        let result = join(host);
        drop(stop);
        result
    }
}

/// Waits while the tree is slow. After a broken pipe [`Sender::finish`] says why the stream is over.
impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A program that does not ignore SIGPIPE is not to die of it.
        Ok(send(self.data.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A host that receives the stream, and passes it on.
#[derive(Debug)]
pub struct Receiver {
    stop: UnixStream,
    data: OwnedFd,
    host: Option<Host>,
    failed: Option<AgentError>,
    ended: bool,
    record: Box<[u8]>,
    /// What of the record was not read yet.
    begin: usize,
    end: usize,
    /// Where in the stream that belongs.
    offset: u64,
}

impl Receiver {
    /// Joins the tree. The dispatchers are looked for as long as `patience` of the options says.
    pub fn start(options: Options) -> Result<Receiver, AgentError> {
        let mut options = options.checked()?;
        let (stop, held) = Stop::pair()?;
        let kind = (AddressFamily::Unix, SockType::SeqPacket);
        let (there, data) =
            socketpair(kind.0, kind.1, None, SockFlag::SOCK_CLOEXEC).map_err(|e| system(&e.into()))?;
        let host = spawn(move || {
            let mut records = Records { socket: there, record: Vec::with_capacity(OFFSET + BATCH) };
            run::receiver(&options.host, options.from, &mut records, stop, &mut options.reporter)
        })?;
        Ok(Receiver {
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

    /// As [`Read::read`], and where in the stream the first of the bytes belongs. What is read at once has no gap: with
    /// `Slow::Skip`, and for who begins with what comes now, the offset tells how many bytes are not there.
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
            // It ended without a last word: the host says why.
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

    /// After the end: waits until all that this host serves have all of it. Before the end: ends early, as a drop does, waits
    /// until the host has taken its leave, and is an error.
    pub fn finish(self) -> Result<Summary, AgentError> {
        let Receiver { stop, data, host, failed, ended, .. } = self;
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

/// 0 is the end of the stream; what ends it early is an error. Bytes that were skipped are left out:
/// [`Receiver::read_with_offset`] tells where.
impl Read for Receiver {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.read_with_offset(into).map(|(_, count)| count)
    }
}

/// The host's end: each record is where in the stream its bytes belong, and the bytes; none are the end.
struct Records {
    socket: OwnedFd,
    record: Vec<u8>,
}

impl Records {
    /// False: it is to be tried again when the socket can be written to.
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
                // The program has let go of it, which the host hears of at once.
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Ok(false),
                Err(error) => {
                    let cause = format!("cannot hand over what came: {}", plain(&error.into()));
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
