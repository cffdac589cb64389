//! `gfagent gather-send`: the input, signals, and what is told.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use groupflow_protocol::gather::StreamId;
use nix::errno::Errno;
use nix::poll::{PollFlags, PollTimeout};
use serde_json::json;

use super::args::GatherSendArgs;
use super::client::Client;
use super::lines::is_ready;
use crate::error::AgentError;
use crate::input::plain;
use crate::report::{Reporter, Weight};
use crate::split::{raise_descriptors, signals, system};

/// Sends it all; the exit code.
pub fn run(args: &GatherSendArgs, reporter: &mut Reporter) -> Result<u8, AgentError> {
    raise_descriptors();
    let signals = signals().map_err(|e| system(&e.into()))?;
    let input = Input::open(args.file.as_deref())?;
    let stream = StreamId(rand::random());
    let trust = args.secure.trust(args.to)?;
    let mut client = Client::new(args, trust, stream, input, signals).map_err(|e| system(&e))?;
    let seconds = client.run(reporter)?;
    let bytes = client.delivered();
    let fields = json!({"stream": stream.to_string(), "bytes": bytes, "seconds": seconds});
    let human = format!("{bytes} bytes delivered in {seconds:.1} s");
    reporter.event("complete", Weight::Lasting, fields, Some(human));
    Ok(0)
}

/// What is sent.
#[derive(Debug)]
pub struct Input {
    /// A file, a device, a pipe.
    pub(super) file: File,
    shown: String,
}

impl Input {
    /// An input that is open; `shown` names it in errors.
    pub fn new(file: File, shown: &str) -> Input {
        Input { file, shown: shown.to_owned() }
    }

    /// A file, or stdin.
    pub fn open(path: Option<&Path>) -> Result<Input, AgentError> {
        let opened = match path {
            Some(path) => File::open(path),
            None => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let shown = path.map_or("stdin".to_owned(), |path| path.display().to_string());
        match opened {
            Ok(file) if file.metadata().is_ok_and(|about| about.is_dir()) => {
                let cause = format!("{shown} is a directory");
                Err(AgentError::new("input", cause, "name a file, or pipe the data into stdin"))
            }
            Ok(file) => Ok(Input { file, shown }),
            Err(error) => {
                let cause = format!("cannot read {shown}: {}", plain(&error));
                Err(AgentError::new("input", cause, "check the path and its permissions"))
            }
        }
    }

    /// What becomes ready.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reads without waiting: `None`, nothing is there; 0, the end.
    pub fn read(&self, into: &mut [u8]) -> Result<Option<usize>, AgentError> {
        if !is_ready(self.file.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO) {
            return Ok(None);
        }
        match nix::unistd::read(self.file.as_raw_fd(), into) {
            Ok(count) => Ok(Some(count)),
            Err(Errno::EINTR | Errno::EAGAIN) => Ok(None),
            Err(error) => {
                let cause = format!("cannot read {}: {}", self.shown, error.desc().to_lowercase());
                Err(AgentError::new("input", cause, "check what is read"))
            }
        }
    }
}
