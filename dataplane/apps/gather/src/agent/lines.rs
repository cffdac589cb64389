//! JSON lines on stdout; the loop never waits for a slow process at the other end.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use groupflow_host::poller::is_ready;
use nix::errno::Errno;
use nix::poll::{PollFlags, PollTimeout};
use serde::Serialize;
use serde_json::json;

/// Bytes that may wait for a reader; lines beyond are counted and dropped.
const WAITING: usize = 32 << 20;
/// Bytes that a pipe ready for writing takes without blocking (PIPE_BUF).
const PIPE: usize = 4096;
/// Bytes of memory that an empty queue keeps.
const KEPT: usize = 64 << 10;

/// An event in its JSON form.
#[derive(Debug, Serialize)]
struct EventLine<'a, T> {
    event: &'a str,
    time: f64,
    role: &'a str,
    name: &'a str,
    #[serde(flatten)]
    fields: T,
}

/// Events as JSON lines on stdout, or as text for people on stderr.
#[derive(Debug)]
pub struct EventWriter {
    json: bool,
    role: &'static str,
    name: String,
    waiting: VecDeque<u8>,
    dropped: u64,
    /// The first failure to write an event, if the reader is not just gone.
    unwritten: Option<Errno>,
}

impl EventWriter {
    pub fn new(json: bool, role: &'static str, name: &str) -> EventWriter {
        EventWriter {
            json,
            role,
            name: name.to_owned(),
            waiting: VecDeque::new(),
            dropped: 0,
            unwritten: None,
        }
    }

    /// Reports an event, whose `fields` are an object; `human` is its text for people, if it has one.
    pub fn event(&mut self, event: &str, fields: impl Serialize, human: Option<String>) {
        if !self.json {
            if let Some(line) = human {
                eprintln!("gfagent: {line}");
            }
            return;
        }
        if self.waiting.len() > WAITING {
            self.dropped += 1;
            return;
        }
        if self.dropped > 0 {
            let count = std::mem::take(&mut self.dropped);
            self.line("events_dropped", json!({"count": count}));
        }
        self.line(event, fields);
    }

    fn line(&mut self, event: &str, fields: impl Serialize) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64());
        let line = EventLine { event, time, role: self.role, name: &self.name, fields };
        // The structs are serialized directly: a round of a thousand clients builds no tree of values first.
        let written = serde_json::to_writer(&mut self.waiting, &line);
        debug_assert!(written.is_ok(), "{event} has fields that are no object: {written:?}");
        self.waiting.push_back(b'\n');
    }

    /// Writes as much as the pipe takes without blocking; true: more is to be written.
    pub fn flush(&mut self) -> bool {
        let stdout = io::stdout();
        while !self.waiting.is_empty() && is_ready(stdout.as_fd(), PollFlags::POLLOUT, PollTimeout::ZERO) {
            let front = self.waiting.as_slices().0;
            match nix::unistd::write(stdout.as_fd(), &front[..front.len().min(PIPE)]) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(Errno::EINTR | Errno::EAGAIN) => break,
                // The process that started this one has stopped reading: that is no reason to stop.
                Err(error) => {
                    self.unwritten = self.unwritten.or(Some(error)).filter(|error| *error != Errno::EPIPE);
                    self.waiting.clear();
                }
            }
        }
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT {
            self.waiting.shrink_to_fit();
        }
        !self.waiting.is_empty()
    }

    /// Writes the waiting lines before the process ends, for at most so many milliseconds. Fails where some
    /// could not be written, as to a full disk.
    pub fn finish(&mut self, patience_ms: u16) -> io::Result<()> {
        let stdout = io::stdout();
        while self.flush() {
            if !is_ready(stdout.as_fd(), PollFlags::POLLOUT, PollTimeout::from(patience_ms)) {
                break;
            }
        }
        self.unwritten.map_or(Ok(()), |error| Err(error.into()))
    }
}
