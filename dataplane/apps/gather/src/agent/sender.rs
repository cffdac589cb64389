//! A stream to a server that gathers, for programs in Rust: write to it, then finish it.
//!
//! ```no_run
//! use std::io::Write;
//! use groupflow_gather::agent::args::GatherSendArgs;
//! use groupflow_host::secure::SecureSend;
//! use groupflow_gather::agent::sender::Sender;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let known = SecureSend::pinned("5e0c…").ok_or("no fingerprint")?;
//! let mut options = GatherSendArgs::new("10.0.0.1:26490".parse()?, "cam1", "c0ffee", known)?;
//! options.memory = 1 << 20;
//! let mut stream = Sender::start(options)?;
//! stream.write_all(b"hello")?;
//! println!("{} bytes delivered", stream.finish()?.bytes);
//! # Ok(())
//! # }
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use groupflow_host::error::AgentError;
use groupflow_host::input::Input;
use groupflow_host::process::system;
use groupflow_host::report::Reporter;
use nix::fcntl::OFlag;
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::args::GatherSendArgs;
use super::client::Client;
use crate::machine::StreamId;

/// A client needs little stack.
const STACK: usize = 256 << 10;

/// What became of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Its id, which is in the name of its file at the server.
    pub stream: StreamId,
    /// Bytes, all of them where they go.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// A stream; a thread of its own sends what is written. Dropped, it ends where it is, and nobody waits for it.
#[derive(Debug)]
pub struct Sender {
    pipe: File,
    thread: JoinHandle<Result<Summary, AgentError>>,
}

impl Sender {
    /// Begins a stream. What is wrong with the certificates is said here; the server is looked for as bytes
    /// come, for as long as `options.retry` says. `file` and `json` of the options are not used.
    pub fn start(options: GatherSendArgs) -> Result<Sender, AgentError> {
        let trust = options.secure.trust(options.to)?;
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|e| system(&e.into()))?;
        let run = move || {
            // No signal comes to it: those are the program's.
            let signals =
                SignalFd::with_flags(&SigSet::empty(), SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
            let signals = signals.map_err(|e| system(&e.into()))?;
            let stream = StreamId(rand::random());
            let input = Input::new(reader.into(), "what is written");
            let client = Client::new(&options, trust, stream, input, signals);
            let mut client = client.map_err(|e| system(&e))?;
            let seconds = client.run(&mut Reporter::quiet())?;
            Ok(Summary { stream, bytes: client.delivered(), seconds })
        };
        let thread = thread::Builder::new().name("gather".to_owned()).stack_size(STACK).spawn(run);
        Ok(Sender { pipe: writer.into(), thread: thread.map_err(|e| system(&e))? })
    }

    /// Ends the stream and waits until the server has all of it where it goes.
    pub fn finish(self) -> Result<Summary, AgentError> {
        drop(self.pipe);
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// The pipe that takes what is written, for who must not wait: `write` does.
    pub fn pipe(&self) -> &File {
        &self.pipe
    }
}

/// Waits while the server is slow. After a broken pipe, [`Sender::finish`] says why the stream is over.
impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pipe.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
