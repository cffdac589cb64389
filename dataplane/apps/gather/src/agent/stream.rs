//! A stream to a server that gathers, for programs in Rust: write to it, then finish it.
//!
//! ```no_run
//! use std::io::Write;
//! use groupflow_gather::agent::args::GatherSendArgs;
//! use groupflow_host::secure::SecureSend;
//! use groupflow_gather::agent::stream::GatherStream;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let known = SecureSend::pinned("5e0c…").ok_or("no fingerprint")?;
//! let mut options = GatherSendArgs::new("10.0.0.1:26490".parse()?, "cam1", "c0ffee", known)?;
//! options.memory = 1 << 20;
//! let mut stream = GatherStream::start(options)?;
//! stream.write_all(b"hello")?;
//! println!("{} bytes delivered", stream.finish()?.bytes);
//! # Ok(())
//! # }
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use groupflow_base::StreamId;
use groupflow_host::error::AgentError;
use groupflow_host::input::Input;
use groupflow_host::process::system;
use groupflow_host::progress::Summary;
use groupflow_host::report::Reporter;
use nix::fcntl::OFlag;
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::args::GatherSendArgs;
use super::client::Client;

/// A client thread needs little stack.
const STACK: usize = 256 << 10;

/// A stream; a thread of its own sends the bytes written. If it is dropped, the stream ends there without
/// being awaited.
#[derive(Debug)]
pub struct GatherStream {
    id: StreamId,
    pipe: File,
    thread: JoinHandle<Result<Summary, AgentError>>,
}

impl GatherStream {
    /// Begins a stream. Faulty certificates are reported here; the client looks for the server only when
    /// bytes are written, for as long as `options.retry` says. `file` and `json` of the options are not used.
    pub fn start(options: GatherSendArgs) -> Result<GatherStream, AgentError> {
        let trust = options.secure.trust(options.to)?;
        let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|e| system(&e.into()))?;
        let id = StreamId(rand::random());
        let run = move || {
            // The thread takes no signals: they belong to the program.
            let signals =
                SignalFd::with_flags(&SigSet::empty(), SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
            let signals = signals.map_err(|e| system(&e.into()))?;
            let input = Input::new(reader.into(), "the bytes written");
            let client = Client::new(&options, trust, id, input, signals);
            let mut client = client.map_err(|e| system(&e))?;
            let seconds = client.run(&mut Reporter::quiet())?;
            Ok(Summary { bytes: client.delivered(), seconds })
        };
        let thread = thread::Builder::new().name("gather".to_owned()).stack_size(STACK).spawn(run);
        Ok(GatherStream { id, pipe: writer.into(), thread: thread.map_err(|e| system(&e))? })
    }

    /// The stream's id, which is in the name of its file at the server.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Ends the stream and waits until the server has delivered all of it.
    pub fn finish(self) -> Result<Summary, AgentError> {
        drop(self.pipe);
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// The pipe that takes the bytes, for a caller that must not block, as `write` does.
    pub fn pipe(&self) -> &File {
        &self.pipe
    }
}

/// Blocks while the server is slow. After a broken pipe, [`GatherStream::finish`] says why the stream ended.
impl Write for GatherStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pipe.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
