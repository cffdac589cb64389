//! Events for programs (JSON lines) and for people (short lines on stderr); and the progress of a transfer:
//! when it is reported, and its rate.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use groupflow_base::{BitRate, Nanos};
use nix::poll::{PollFlags, PollTimeout};
use serde_json::{json, Map, Value};

use crate::error::{plain, AgentError};
use crate::poller::is_ready;

/// Milliseconds that a lasting event waits for a slow reader.
const PATIENCE_MS: u16 = 1000;

/// Whether an event may be dropped when its reader is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// The event may be dropped, since a newer one will follow.
    Passing,
    /// The event must not be dropped.
    Lasting,
}

pub struct Reporter {
    json: bool,
    to_stderr: bool,
    quiet: bool,
    base: Map<String, Value>,
    /// The first failure to write an event, if the reader is not just gone.
    unwritten: Option<io::Error>,
}

impl Reporter {
    /// Reports the events of an agent in this role; on stdout, or on stderr if stdout carries the data.
    pub fn new(json: bool, to_stderr: bool, role: &str, name: &str, session: Option<u32>) -> Reporter {
        let mut base = Map::new();
        base.insert("role".to_owned(), json!(role));
        base.insert("name".to_owned(), json!(name));
        if let Some(session) = session {
            base.insert("session".to_owned(), json!(session));
        }
        Reporter { json, to_stderr, quiet: false, base, unwritten: None }
    }

    /// Reports nothing, for programs that query instead.
    pub fn quiet() -> Reporter {
        Reporter { quiet: true, ..Reporter::new(false, false, "", "", None) }
    }

    /// Writes an event as JSON; `human` is its line for people, if it has one.
    pub fn event(&mut self, event: &str, weight: Weight, fields: Value, human: Option<String>) {
        if self.quiet {
            return;
        }
        if !self.json {
            if let Some(line) = human {
                let _ = writeln!(io::stderr(), "gfagent: {line}");
            }
            return;
        }
        let mut line = Map::new();
        line.insert("event".to_owned(), json!(event));
        line.insert("time".to_owned(), json!(unix_seconds()));
        line.extend(self.base.clone());
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        let text = format!("{}\n", Value::Object(line));
        let written = if self.to_stderr {
            Self::write(&mut io::stderr(), weight, &text)
        } else {
            Self::write(&mut io::stdout(), weight, &text)
        };
        // The process that started this one may have stopped reading: that is no reason to stop, nor an error.
        let lost = written.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        self.unwritten = self.unwritten.take().or(lost);
    }

    fn write<W: Write + AsFd>(out: &mut W, weight: Weight, text: &str) -> io::Result<()> {
        let patience = if weight == Weight::Lasting { PATIENCE_MS } else { 0 };
        if !is_ready(out.as_fd(), PollFlags::POLLOUT, PollTimeout::from(patience)) {
            return Ok(());
        }
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
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
        let fields = json!({
            "code": error.code,
            "cause": error.cause,
            "cure": error.cure,
            "exit": error.exit,
        });
        self.event("error", Weight::Lasting, fields, None);
        let _ = writeln!(io::stderr(), "gfagent: {error}");
    }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64())
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

    /// Ends the measurement.
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
