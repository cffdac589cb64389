//! Hosts as programs: `gfagent tree-send` and `tree-recv`, with their data over pipes and their events as
//! JSON.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::dispatch::TOKEN;

/// Long enough for all that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The options of a host, and the values that they have.
#[derive(Clone)]
pub struct HostOptions {
    values: Vec<(String, String)>,
    /// Descriptors that the host may have; `None`: as many as this process.
    descriptors: Option<u32>,
}

impl HostOptions {
    pub fn new(to: &impl Display, pin: Option<&str>) -> HostOptions {
        let known = pin.map_or(("--plain", ""), |pin| ("--tls-pin", pin));
        let options =
            HostOptions { values: Vec::new(), descriptors: None }.with(known.0, known.1).with("--to", to);
        options.with("--listen", "127.0.0.1:0").with("--patience", 5)
    }

    /// The same, with this value of an option.
    pub fn with(mut self, option: &str, value: impl Display) -> HostOptions {
        self.values.retain(|(known, _)| known != option);
        self.values.push((option.to_owned(), value.to_string()));
        self
    }

    /// The same, of a host that may have no more descriptors than these.
    pub fn with_descriptors(self, limit: u32) -> HostOptions {
        HostOptions { descriptors: Some(limit), ..self }
    }

    fn command(&self, role: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_gfagent");
        let mut command = Command::new(if self.descriptors.is_some() { "sh" } else { program });
        if let Some(limit) = self.descriptors {
            command.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\""), program]);
        }
        command.args([role, "--json"]).env("GROUPFLOW_TOKEN", TOKEN);
        for (option, value) in &self.values {
            command.arg(option).args(Some(value).filter(|value| !value.is_empty()));
        }
        command
    }
}

/// Events of a host.
#[derive(Clone, Default)]
pub struct EventLog(Arc<Mutex<Vec<Value>>>);

impl EventLog {
    /// Whether the host has had such an event.
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    pub fn last(&self, name: &str) -> Option<Value> {
        self.all().into_iter().rev().find(|event| event["event"] == name)
    }

    pub fn all(&self) -> Vec<Value> {
        self.0.lock().expect("nobody panicked").clone()
    }
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: not in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A program, which is killed when it is dropped.
struct Program {
    child: Child,
    events: EventLog,
    /// Reads the events to their end.
    reader: Option<JoinHandle<()>>,
}

impl Program {
    fn of(mut child: Child, from: impl Read + Send + 'static) -> Program {
        let events = EventLog::default();
        let log = events.clone();
        let reader = thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line) {
                    log.0.lock().expect("nobody panicked").push(event);
                }
            }
        });
        if let Some(mut others) = child.stderr.take() {
            // A full pipe would hold the program up.
            thread::spawn(move || drop(io::copy(&mut others, &mut io::sink())));
        }
        Program { child, events, reader: Some(reader) }
    }

    /// Bytes of the whole stream once the program has ended, or the error with which it ended.
    fn finish(mut self) -> Result<u64, Value> {
        let status = self.child.wait().expect("it was started");
        self.reader.take().map(JoinHandle::join).expect("once").expect("it did not panic");
        match self.events.last("complete") {
            Some(complete) if status.success() => Ok(complete["bytes"].as_u64().expect("a number")),
            _ => Err(self.events.last("error").unwrap_or(Value::Null)),
        }
    }

    fn leave(&self) {
        let pid = i32::try_from(self.child.id()).expect("a number");
        kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it runs");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A source; bytes are written to it.
pub struct Source {
    program: Program,
    data: ChildStdin,
}

impl Source {
    pub fn start(options: &HostOptions) -> Source {
        let mut command = options.command("tree-send");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let data = child.stdin.take().expect("piped");
        let events = child.stdout.take().expect("piped");
        Source { program: Program::of(child, events), data }
    }

    pub fn events(&self) -> EventLog {
        self.program.events.clone()
    }

    /// Ends the stream, and waits until all hosts have it.
    pub fn finish(self) -> Result<u64, Value> {
        let Source { program, data } = self;
        drop(data);
        program.finish()
    }

    /// Ends the stream, which one host does not get.
    pub fn finish_without_one(self) {
        let Source { program, data } = self;
        let events = program.events.clone();
        drop(data);
        program.finish().expect_err("a host is lost");
        let lost = events.last("complete").map(|complete| complete["lost"].clone());
        assert!(lost.is_some_and(|lost| lost.as_array().is_some_and(|names| names.len() == 1)));
    }

    /// Leaves the tree before the stream ends.
    pub fn leave(self) -> Result<u64, Value> {
        let Source { program, data } = self;
        program.leave();
        let left = program.finish();
        drop(data);
        left
    }
}

impl Write for Source {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.data.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.data.flush()
    }
}

/// A host that receives; bytes are read from it.
pub struct Receiver {
    program: Program,
    data: ChildStdout,
}

impl Receiver {
    pub fn start(options: &HostOptions) -> Receiver {
        let mut command = options.command("tree-recv");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let data = child.stdout.take().expect("piped");
        let events = child.stderr.take().expect("piped");
        Receiver { program: Program::of(child, events), data }
    }

    pub fn events(&self) -> EventLog {
        self.program.events.clone()
    }

    /// Waits until all hosts below have the whole stream.
    pub fn finish(self) -> Result<u64, Value> {
        self.program.finish()
    }

    /// Leaves the tree before the stream ends.
    pub fn leave(self) -> Result<u64, Value> {
        self.program.leave();
        self.program.finish()
    }

    /// All bytes from here on.
    pub fn rest(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        self.read_to_end(&mut all).expect("read");
        self.finish().expect("complete");
        all
    }
}

impl Read for Receiver {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.data.read(into)
    }
}

/// The text with which a program refuses its options.
pub fn refused(role: &str, options: &HostOptions) -> String {
    let mut command = options.command(role);
    let done = command.stdin(Stdio::null()).output().expect("run");
    assert_eq!(done.status.code(), Some(2));
    String::from_utf8_lossy(&done.stderr).into_owned()
}
