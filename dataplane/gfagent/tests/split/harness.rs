//! Agents, members and senders.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::{json, Value};

/// Nothing here takes this long.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const PORT: u16 = 5000;
pub const PEER_PORT: u16 = 26480;
pub const SESSION: u32 = 7;

static NETWORKS: AtomicU8 = AtomicU8::new(10);

/// 127.N.0.0/16 and a folder for control sockets.
pub struct SplitNetwork {
    number: u8,
    folder: PathBuf,
}

impl SplitNetwork {
    pub fn new() -> SplitNetwork {
        let number = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("gfsplit-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        SplitNetwork { number, folder }
    }

    pub fn address(&self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.number, 0, host)
    }

    /// The address of the session at an agent.
    pub fn session(&self, agent: u8) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(127, self.number, 1, agent), PORT)
    }

    pub fn peer(&self, agent: u8) -> SocketAddrV4 {
        SocketAddrV4::new(self.address(agent), PEER_PORT)
    }

    pub fn agent(&self, number: u8) -> SplitProcess {
        self.agent_with(number, &[], None)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// With more options, and a limit of descriptors.
    pub fn agent_with(&self, number: u8, more: &[&str], descriptors: Option<u32>) -> SplitProcess {
        let control = self.path(&format!("sa{number}.sock"));
        let program = env!("CARGO_BIN_EXE_gfagent");
        let mut command = match descriptors {
            None => Command::new(program),
            Some(limit) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\""), program]);
                shell
            }
        };
        command.args(["split", "--json", "--name", &format!("sa{number}")]);
        command.args(["--addr", &self.address(number).to_string(), "--peer-port", &PEER_PORT.to_string()]);
        command.arg("--control").arg(&control).args(more);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("gfagent starts");
        let (send, events) = channel();
        let stdout = child.stdout.take().expect("stdout");
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).expect("events are JSON");
                let _ = send.send(event);
            }
        });
        let mut agent = SplitProcess { child, control, events, seen: Vec::new() };
        agent.wait_for("ready", |_| true);
        agent
    }

    /// The session as an agent has it.
    pub fn spec(&self, agent: u8, branches: &[Value], more: Value) -> Value {
        let address = self.session(agent).ip().to_string();
        let mut spec = json!({"id": SESSION, "address": address, "ports": [PORT], "branches": branches});
        for (key, value) in more.as_object().expect("an object") {
            spec[key] = value.clone();
        }
        spec
    }

    pub fn to_agent(&self, agent: u8) -> Value {
        json!({"kind": "agent", "name": format!("sa{agent}"), "address": self.peer(agent).to_string()})
    }

    pub fn connect(&self, agent: u8) -> TcpStream {
        let stream = TcpStream::connect(self.session(agent)).expect("the session is there");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }
}

impl Drop for SplitNetwork {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub struct SplitProcess {
    child: Child,
    control: PathBuf,
    events: Receiver<Value>,
    seen: Vec<Value>,
}

impl SplitProcess {
    pub fn ask(&self, request: Value) -> Value {
        let mut stream = UnixStream::connect(&self.control).expect("the control socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        writeln!(stream, "{request}").expect("a request");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("answers are JSON")
    }

    pub fn set(&self, spec: Value) {
        let answer = self.ask(json!({"id": 1, "op": "set_session", "session": spec}));
        assert_eq!(answer["ok"], true, "{answer}");
    }

    pub fn stats(&self) -> Value {
        self.ask(json!({"op": "stats"}))
    }

    /// The first event of this name, seen before or to come, that is as it should be.
    pub fn wait_for(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(event) = self.seen.iter().find(|e| e["event"] == name && is_it(e)) {
            return event.clone();
        }
        let end = Instant::now() + PATIENCE;
        while let Ok(event) = self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.seen.push(event.clone());
            if event["event"] == name && is_it(&event) {
                return event;
            }
        }
        panic!("no event {name} in {:#?}", self.seen);
    }

    pub fn kill(&mut self) {
        self.end(Signal::SIGKILL);
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(pid, signal).expect("it runs");
    }

    pub fn end(&mut self, signal: Signal) {
        self.signal(signal);
        self.child.wait().expect("ended");
    }
}

impl Drop for SplitProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The behaviour of a member.
#[derive(Clone, Default)]
pub struct Manner {
    /// Sends this back when the stream has ended.
    pub reply: Vec<u8>,
    /// Reads only when this is set.
    pub gate: Option<Arc<AtomicBool>>,
    /// Closes after so many bytes.
    pub dies_after: Option<u64>,
}

/// The end of a member's connection, and the bytes that it had got.
pub struct MemberBytes {
    pub bytes: Vec<u8>,
    pub error: Option<ErrorKind>,
}

/// A member: an ordinary program that listens. It takes one connection.
pub struct MemberProgram {
    pub number: u32,
    pub address: SocketAddrV4,
    pub count: Arc<AtomicU64>,
    thread: JoinHandle<MemberBytes>,
}

impl MemberProgram {
    pub fn start(network: &SplitNetwork, number: u32, manner: Manner) -> MemberProgram {
        let host = network.address(100 + number as u8);
        let listener = TcpListener::bind((host, 0)).expect("a listener");
        let std::net::SocketAddr::V4(address) = listener.local_addr().expect("an address") else {
            panic!("no IPv4 address");
        };
        let count = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&count);
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a connection");
            drop(listener);
            receive(stream, &manner, &counter)
        });
        MemberProgram { number, address, count, thread }
    }

    pub fn branch(&self) -> Value {
        let name = format!("m{}", self.number);
        json!({"kind": "member", "name": name, "address": self.address.to_string(), "member": self.number})
    }

    pub fn finish(self) -> MemberBytes {
        self.thread.join().expect("the member's thread")
    }
}

fn receive(mut stream: TcpStream, manner: &Manner, count: &AtomicU64) -> MemberBytes {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        if let Some(gate) = &manner.gate {
            wait_until("the gate opens", || gate.load(Ordering::SeqCst));
        }
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            Err(error) => return MemberBytes { bytes, error: Some(error.kind()) },
        }
        count.store(bytes.len() as u64, Ordering::SeqCst);
        if manner.dies_after.is_some_and(|limit| bytes.len() as u64 >= limit) {
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("an option");
            return MemberBytes { bytes, error: None };
        }
    }
    stream.write_all(&manner.reply).expect("the agent takes the reply");
    MemberBytes { bytes, error: None }
}

pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: never");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Bytes that differ everywhere.
pub fn random_bytes(count: usize) -> Vec<u8> {
    use rand::{RngCore, SeedableRng};
    let mut bytes = vec![0; count];
    rand::rngs::StdRng::seed_from_u64(count as u64).fill_bytes(&mut bytes);
    bytes
}

/// Sends all, ends the stream, and returns what comes back until the agent, too, ends.
pub fn send(mut stream: TcpStream, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    stream.write_all(bytes)?;
    stream.shutdown(Shutdown::Write)?;
    let mut back = Vec::new();
    stream.read_to_end(&mut back)?;
    Ok(back)
}
