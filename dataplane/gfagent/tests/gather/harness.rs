//! Servers and clients as processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::{json, Value};
use socket2::{Domain, Socket, Type};

/// Nothing here takes this long.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const TOKEN: &str = "c0ffee";

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder with a list of clients and the streams that servers gather.
pub struct GatherLab {
    pub folder: PathBuf,
    clients: usize,
}

impl GatherLab {
    /// For these clients; all have [`TOKEN`].
    pub fn new(clients: &[&str]) -> GatherLab {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("gfgather-{}-{number}", std::process::id()));
        std::fs::create_dir_all(folder.join("out")).expect("a folder");
        let list: Vec<Value> = clients.iter().map(|c| json!({"client": c, "token": TOKEN})).collect();
        let list = json!({"clients": list}).to_string();
        std::fs::write(folder.join("clients.json"), list).expect("a list");
        GatherLab { folder, clients: clients.len() }
    }

    pub fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// A server at any port.
    pub fn serve(&self, options: &[&str]) -> ServerProcess {
        self.serve_at("127.0.0.1:0", options)
    }

    /// A server without a list of clients.
    pub fn serve_without_list(&self) -> ServerProcess {
        self.start("127.0.0.1:0", &["--discard"])
    }

    pub fn serve_at(&self, listen: &str, options: &[&str]) -> ServerProcess {
        let mut server = self.start(listen, options);
        let list = std::fs::read_to_string(self.folder.join("clients.json")).expect("a list");
        server.process.line(&list);
        server.process.wait_for("tuned");
        server
    }

    fn start(&self, listen: &str, options: &[&str]) -> ServerProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gfagent"));
        command.args(["gather-serve", "--json", "--listen", listen, "--round-ms", "50"]);
        // Loopback's own segments are larger than small windows.
        command.args(["--mss", "1448"]);
        if self.clients > 0 && !options.contains(&"--max-clients") {
            command.args(["--max-clients", &self.clients.to_string()]);
        }
        if !options.contains(&"--tls-cert") {
            command.arg("--plain");
        }
        if !options.contains(&"--discard") {
            command.arg("--out").arg(self.out());
        }
        let mut process = JsonProcess::new(command.args(options));
        let ready = process.wait_for("ready");
        let port = ready["port"].as_u64().expect("a port") as u16;
        let pin = ready["tls_pin"].as_str().unwrap_or_default().to_owned();
        ServerProcess { process, pin, address: SocketAddrV4::new([127, 0, 0, 1].into(), port) }
    }

    /// The one stream of a client that is complete.
    pub fn gathered(&self, client: &str) -> Vec<u8> {
        let entries = std::fs::read_dir(self.out()).expect("a folder");
        let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        let own = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(&format!("{client}.")) && !name.ends_with(".part")
        };
        let found: Vec<&PathBuf> = paths.iter().filter(own).collect();
        assert_eq!(found.len(), 1, "{paths:?}");
        std::fs::read(found[0]).expect("gathered")
    }
}

impl Drop for GatherLab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub struct ServerProcess {
    pub process: JsonProcess,
    pub address: SocketAddrV4,
    /// The fingerprint of its certificate.
    pub pin: String,
}

impl ServerProcess {
    pub fn tune(&mut self, tune: Value) -> Value {
        self.process.line(&json!({"id": 7, "tune": tune}).to_string());
        self.process.wait(|event| event["id"] == 7)
    }

    /// The report of the next round in which the client fulfils a condition.
    pub fn round(&mut self, client: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut found = Value::Null;
        self.process.wait(|event| {
            let clients = event["clients"].as_array().cloned().unwrap_or_default();
            let own = clients.into_iter().find(|own| own["client"] == client && condition(own));
            found = own.unwrap_or(Value::Null);
            !found.is_null()
        });
        found
    }

    /// A connection that speaks for itself.
    pub fn connect(&self) -> TcpStream {
        self.connect_from("127.0.0.1")
    }

    pub fn connect_from(&self, source: &str) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let source: SocketAddrV4 = format!("{source}:0").parse().expect("an address");
        socket.bind(&source.into()).expect("bound");
        socket.connect(&self.address.into()).expect("connected");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        stream
    }
}

/// A client of the server at `address`; a `--token` among the options goes by the environment.
pub fn send(address: SocketAddrV4, client: &str, options: &[&str]) -> JsonProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gfagent"));
    let to = address.to_string();
    command.args(["gather-send", "--json", "--to", &to, "--client", client, "--retry", "20"]);
    let (token, options) = match options.iter().position(|option| *option == "--token") {
        Some(at) => (options[at + 1], [&options[..at], &options[at + 2..]].concat()),
        None => (TOKEN, options.to_vec()),
    };
    command.env("GROUPFLOW_TOKEN", token);
    if !options.iter().any(|option| option.starts_with("--tls")) {
        command.arg("--plain");
    }
    JsonProcess::new(command.args(options))
}

/// A process whose stdout is JSON lines.
pub struct JsonProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    events: Receiver<Value>,
}

impl JsonProcess {
    fn new(command: &mut Command) -> JsonProcess {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("JSON: {line}"));
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        JsonProcess { child, stdin, events }
    }

    /// The next event that fulfils a condition; those before it are passed over.
    pub fn wait(&mut self, mut condition: impl FnMut(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).expect("an event in time");
            if condition(&event) {
                return event;
            }
        }
    }

    pub fn wait_for(&mut self, name: &str) -> Value {
        self.wait(|event| event["event"] == name)
    }

    pub fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin");
        stdin.write_all(format!("{line}\n").as_bytes()).expect("written");
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("stdin").write_all(bytes).expect("written");
    }

    /// Ends its stdin.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("signalled");
    }

    pub fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.wait().expect("gone");
    }

    /// Waits for its end: exit code and stderr.
    pub fn end(mut self) -> (i32, String) {
        self.stdin = None;
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::yield_now();
            std::thread::park_timeout(Duration::from_millis(2));
        };
        let mut stderr = String::new();
        self.child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
        (status.code().unwrap_or(-1), stderr)
    }

    pub fn expect_success(self) {
        let (code, stderr) = self.end();
        assert_eq!(code, 0, "{stderr}");
    }

    /// The most memory that it ever had, bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }
}

impl Drop for JsonProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes that tell where they are.
pub fn data(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub fn file(lab: &GatherLab, name: &str, bytes: &[u8]) -> PathBuf {
    let path = lab.folder.join(name);
    std::fs::write(&path, bytes).expect("written");
    path
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a text")
}
