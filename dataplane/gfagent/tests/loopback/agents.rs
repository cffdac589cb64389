//! gfagent processes and their events.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nothing here takes this long.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct GroupProcess {
    child: Child,
    events: Receiver<Value>,
    seen: Vec<Value>,
    data: Option<JoinHandle<Vec<u8>>>,
}

/// The end of a process.
pub struct Ended {
    pub code: Option<i32>,
    pub events: Vec<Value>,
    pub stdout: Vec<u8>,
}

impl Ended {
    pub fn event(&self, name: &str) -> &Value {
        let found = self.events.iter().rev().find(|e| e["event"] == name);
        found.unwrap_or_else(|| panic!("no event {name} in {:?}", self.events))
    }
}

impl GroupProcess {
    /// Starts gfagent on loopback, connected to the relay at `via`. Its events come from stderr
    /// when `data_on_stdout`, else from stdout.
    pub fn start(via: SocketAddrV4, args: &[&str], data_on_stdout: bool) -> GroupProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gfagent"));
        command.args(args).args(["--addr", "127.0.0.1", "--port", "0", "--json", "--seed", "1"]);
        command.args(["--via", &via.to_string()]).env("GROUPFLOW_TOKEN", "c0ffee");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("gfagent starts");
        let stdout: Box<dyn Read + Send> = Box::new(child.stdout.take().expect("stdout"));
        let stderr: Box<dyn Read + Send> = Box::new(child.stderr.take().expect("stderr"));
        let (events, mut data) = match data_on_stdout {
            true => (stderr, stdout),
            false => (stdout, stderr),
        };
        let (send, receive) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(events).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line) {
                    let _ = send.send(event);
                }
            }
        });
        let data = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = data.read_to_end(&mut bytes);
            bytes
        });
        GroupProcess { child, events: receive, seen: Vec::new(), data: Some(data) }
    }

    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("stdin is taken once")
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for an event.
    pub fn wait_for(&mut self, name: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        while let Ok(event) = self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.seen.push(event.clone());
            if event["event"] == name {
                return event;
            }
        }
        panic!("no event {name} in {:?}", self.seen);
    }

    /// Waits for the end of the process.
    pub fn finish(mut self) -> Ended {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(event) => self.seen.push(event),
                // It has closed its end of the pipe.
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("gfagent does not end; events: {:?}", self.seen);
                }
            }
        }
        let status = self.child.wait().expect("a child of ours");
        let stdout = self.data.take().and_then(|data| data.join().ok()).unwrap_or_default();
        Ended { code: status.code(), events: std::mem::take(&mut self.seen), stdout }
    }
}

impl Drop for GroupProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder of its own, removed at the end.
pub struct TempFolder(pub PathBuf);

impl TempFolder {
    pub fn new(name: &str) -> TempFolder {
        let path = std::env::temp_dir().join(format!("gfagent-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        TempFolder(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
