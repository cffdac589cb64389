//! Events for programs (JSON lines) and for people (short lines on stderr); and the progress of a transfer:
//! when it is reported, and its rate.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use groupflow_base::{BitRate, Nanos};
use nix::poll::{PollFlags, PollTimeout};
use serde::Serialize;
use serde_json::json;

use crate::error::{plain, AgentError};
use crate::files::write_stdout;
use crate::poller::is_ready;

/// Milliseconds that a lasting event waits for a slow reader.
const PATIENCE_MS: u16 = 1000;
/// Bytes that may wait in a queue; events beyond are counted and dropped.
const WAITING: usize = 32 << 20;
/// Bytes of memory that an empty queue keeps.
const KEPT: usize = 64 << 10;

/// Whether an event may be dropped when its reader is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The event may be dropped, since a newer one will follow.
    Passing,
    /// The event must not be dropped.
    Lasting,
}

/// An event in its JSON form.
#[derive(Serialize)]
struct EventLine<'a, T> {
    event: &'a str,
    time: f64,
    role: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<u32>,
    #[serde(flatten)]
    fields: T,
    /// The event's text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    human: Option<String>,
}

/// Lines that wait for the reader of stdout.
#[derive(Debug, Default)]
struct Queue {
    bytes: VecDeque<u8>,
    /// Events for which there was no room.
    dropped: u64,
}

/// Reports events on stdout, or on stderr if stdout carries the data.
#[derive(Debug)]
pub struct Reporter {
    json: bool,
    to_stderr: bool,
    quiet: bool,
    role: String,
    pub name: String,
    session: Option<u32>,
    /// The queue of an agent whose loop must not wait for the reader.
    queue: Option<Queue>,
    /// The first failure to write an event, if the reader is not just gone.
    unwritten: Option<io::Error>,
}

impl Reporter {
    pub fn new(json: bool, to_stderr: bool, role: &str, name: &str, session: Option<u32>) -> Reporter {
        let (role, name) = (role.to_owned(), name.to_owned());
        Reporter { json, to_stderr, quiet: false, role, name, session, queue: None, unwritten: None }
    }

    /// Reports nothing, for programs that query instead.
    pub fn quiet() -> Reporter {
        Reporter { quiet: true, ..Reporter::new(false, false, "", "", None) }
    }

    /// From now on events wait in a queue for [`Reporter::flush`].
    pub fn queue(&mut self) {
        self.queue = Some(Queue::default());
    }

    /// Writes an event as JSON, or as its line for people, `human`, if it has one. The JSON has that line,
    /// too. The fields are a struct or a map.
    pub fn event(&mut self, event: &str, weight: Weight, fields: impl Serialize, human: Option<String>) {
        if self.quiet {
            return;
        }
        if !self.json {
            if let Some(line) = human {
                // `eprintln` would panic where standard error is a file on a full disk.
                let _ = writeln!(io::stderr(), "gfagent: {line}");
            }
            return;
        }
        let text = self.line(event, fields, human);
        let Some(mut queue) = self.queue.take() else {
            let written = match self.to_stderr {
                true => Self::write(&mut io::stderr(), weight, &text),
                false => Self::write(&mut io::stdout(), weight, &text),
            };
            return self.keep(written);
        };
        if queue.bytes.len() > WAITING {
            queue.dropped += 1;
        } else {
            if queue.dropped > 0 {
                let fields = json!({"count": std::mem::take(&mut queue.dropped)});
                queue.bytes.extend(self.line("events_dropped", fields, None));
            }
            queue.bytes.extend(text);
        }
        self.queue = Some(queue);
    }

    fn line(&self, event: &str, fields: impl Serialize, human: Option<String>) -> Vec<u8> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64());
        let (role, name, session) = (&*self.role, &*self.name, self.session);
        let line = EventLine { event, time, role, name, session, fields, human };
        let text = match self.queue {
            // A round of a thousand clients builds no tree of values first.
            Some(_) => serde_json::to_vec(&line),
            // In a tree a field of the event replaces one of the agent: a branch has a `name`, too.
            None => serde_json::to_value(&line).and_then(|line| serde_json::to_vec(&line)),
        };
        debug_assert!(text.is_ok(), "{event} has fields that are no object: {text:?}");
        let mut text = text.unwrap_or_default();
        text.push(b'\n');
        text
    }

    fn write<W: Write + AsFd>(out: &mut W, weight: Weight, text: &[u8]) -> io::Result<()> {
        let patience = if weight == Weight::Lasting { PATIENCE_MS } else { 0 };
        if !is_ready(out.as_fd(), PollFlags::POLLOUT, PollTimeout::from(patience)) {
            return Ok(());
        }
        out.write_all(text).and_then(|()| out.flush())
    }

    /// Keeps the first error of writing. The process that started this one may have stopped reading: that is
    /// no reason to stop, nor an error.
    fn keep(&mut self, written: io::Result<()>) {
        let lost = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        self.unwritten = self.unwritten.take().or(lost);
    }

    /// Writes as much of the queue as stdout takes without blocking; true: more is to be written.
    pub fn flush(&mut self) -> bool {
        let Some(Queue { bytes, .. }) = &mut self.queue else { return false };
        let mut written = Ok(());
        while !bytes.is_empty() {
            match write_stdout(bytes.as_slices().0) {
                Ok(0) => break,
                Ok(count) => drop(bytes.drain(..count)),
                Err(error) => {
                    written = Err(error);
                    bytes.clear();
                }
            }
        }
        if bytes.is_empty() && bytes.capacity() > KEPT {
            bytes.shrink_to_fit();
        }
        let more = !bytes.is_empty();
        self.keep(written);
        more
    }

    /// Writes the queue before the process ends, as long as the reader takes some of it each second.
    pub fn finish(&mut self) {
        let stdout = io::stdout();
        while self.flush() && is_ready(stdout.as_fd(), PollFlags::POLLOUT, PollTimeout::from(PATIENCE_MS)) {}
        self.queue = None;
    }

    /// The error of events that could not be written, as on a full disk.
    pub fn unwritten(&mut self) -> Option<AgentError> {
        let cause = format!("events were not written: {}", plain(&self.unwritten.take()?));
        Some(AgentError::new("output", cause, "free some room where standard output goes"))
    }

    pub fn ready(&mut self, address: std::net::SocketAddrV4) {
        let fields = json!({"addr": address.ip().to_string(), "port": address.port()});
        self.event("ready", Weight::Lasting, fields, None);
    }

    /// Reports the error that ends the agent: one line on stderr, and an event.
    pub fn error(&mut self, error: &AgentError) {
        let AgentError { code, cause, cure, exit } = error;
        let fields = json!({"code": code, "cause": cause, "cure": cure, "exit": exit});
        self.event("error", Weight::Lasting, fields, None);
        let _ = writeln!(io::stderr(), "gfagent: {error}");
    }
}

/// A time in seconds, only for events; nothing is computed from it.
pub fn seconds(span: Nanos) -> f64 {
    std::time::Duration::from_nanos(span.0).as_secs_f64()
}

/// The mean rate of a transfer in bit/s; `None`: it carried no bytes, or took no time that was measured.
pub fn goodput(bytes: u64, span: Nanos) -> Option<u64> {
    (bytes > 0 && span > Nanos::ZERO).then(|| BitRate::of(bytes, span).0)
}

/// Time between progress reports.
pub const PROGRESS: Nanos = Nanos::from_millis(200);

/// One report on a transfer's progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressSample {
    /// Time since the start.
    pub elapsed: Nanos,
    /// Mean rate since the last report.
    pub rate: BitRate,
}

/// Measures progress between start and stop.
#[derive(Debug, Default)]
pub struct ProgressMeter {
    running: Option<RunningTotals>,
}

#[derive(Debug, Clone, Copy)]
struct RunningTotals {
    began: Nanos,
    last: Nanos,
    bytes: u64,
}

impl ProgressMeter {
    /// Begins to measure a transfer.
    pub fn start(&mut self, now: Nanos) {
        self.running = Some(RunningTotals { began: now, last: now, bytes: 0 });
    }

    pub fn stop(&mut self) {
        self.running = None;
    }

    /// When the next report is due.
    pub fn due(&self) -> Option<Nanos> {
        self.running.map(|r| r.last + PROGRESS)
    }

    /// A report, if one is due; `bytes` is the progress so far.
    pub fn sample(&mut self, now: Nanos, bytes: u64) -> Option<ProgressSample> {
        let running = self.running.as_mut().filter(|r| now >= r.last + PROGRESS)?;
        let rate = BitRate::of(bytes.saturating_sub(running.bytes), now - running.last);
        running.last = now;
        running.bytes = bytes;
        Some(ProgressSample { elapsed: now - running.began, rate })
    }
}

/// The end of a line for people that names the members that lack data.
pub fn lost_text(lost: &[String]) -> String {
    match lost {
        [] => String::new(),
        lost => format!("; lost on the way: {}", lost.join(", ")),
    }
}

#[cfg(test)]
#[path = "tests/report.rs"]
mod tests;
