//! The dispatchers of one tree, with the lines of `groupflow tree serve`: a thread a connection, nothing
//! stored.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_base::Token;
use groupflow_host::tls::Identity;
use groupflow_tree::machine::messages::{
    CertifiedKey, ClusterLine, HostHello, HostLine, ServiceLine, ServiceRefusal,
};
use groupflow_tree::machine::{
    ClusterId, Demotion, Dispatchers, FromHost, HostId, HostMessage, Members, Policy,
};
use rustls::{ServerConnection, StreamOwned};

use super::programs::HostOptions;

pub const TOKEN: &str = "c0ffee";
const TURN: Duration = Duration::from_millis(5);

/// A service, until it is dropped.
pub struct Dispatch {
    pub address: SocketAddrV4,
    pub pin: Option<String>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Known {
    lines: Sender<ServiceLine>,
    cluster: ClusterId,
    joins: u32,
}

struct DispatchState {
    began: Instant,
    tree: Option<Dispatchers>,
    source: Option<HostId>,
    hosts: BTreeMap<HostId, Known>,
    members: Members,
    identity: Option<CertifiedKey>,
}

impl Dispatch {
    /// A service on any port, which hosts know by its fingerprint, or not at all.
    pub fn start(tls: bool) -> Dispatch {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let SocketAddr::V4(address) = listener.local_addr().expect("an address") else { unreachable!() };
        listener.set_nonblocking(true).expect("it does not wait");
        let name = format!("tree-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder: PathBuf = std::env::temp_dir().join(name);
        let identity = tls.then(|| {
            std::fs::create_dir_all(&folder).expect("a folder");
            Identity::open(&folder.join("cert"), &folder.join("key")).expect("made")
        });
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("PEM");
        let shared = tls.then(|| CertifiedKey { certificate: text("cert"), key: text("key") });
        let _ = std::fs::remove_dir_all(&folder);
        let state = DispatchState {
            began: Instant::now(),
            tree: None,
            source: None,
            hosts: BTreeMap::new(),
            members: Members::default(),
            identity: shared,
        };
        let (state, over) = (Arc::new(Mutex::new(state)), Arc::new(AtomicBool::new(false)));
        let (pin, stop) = (identity.as_ref().map(|identity| identity.fingerprint.to_string()), over.clone());
        let thread = thread::spawn(move || {
            let mut threads = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                while let Ok((socket, _)) = listener.accept() {
                    socket.set_nonblocking(false).expect("it waits");
                    socket.set_read_timeout(Some(TURN)).expect("a while");
                    let (state, stop) = (state.clone(), stop.clone());
                    let config = identity.as_ref().map(|identity| identity.config.clone());
                    threads.push(thread::spawn(move || match config {
                        Some(config) => {
                            let tls = ServerConnection::new(config).expect("a connection");
                            serve(&state, &stop, &mut StreamOwned::new(tls, socket));
                        }
                        None => serve(&state, &stop, &mut { socket }),
                    }));
                }
                state.lock().expect("nobody panicked").tick();
                thread::sleep(TURN);
            }
            threads.into_iter().for_each(|thread| thread.join().expect("a connection's thread"));
        });
        Dispatch { address, pin, over, thread: Some(thread) }
    }

    /// Of a host of this tree.
    pub fn options(&self) -> HostOptions {
        HostOptions::new(&self.address, self.pin.as_deref())
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let (Some(thread), false) = (self.thread.take(), thread::panicking()) {
            thread.join().expect("the service's thread");
        }
    }
}

/// One connection, until it ends.
fn serve(state: &Mutex<DispatchState>, stop: &AtomicBool, stream: &mut (impl Read + Write)) {
    let (lines, outgoing) = channel();
    let mut host = None;
    if let Err(error) = converse(state, stop, stream, &lines, &outgoing, &mut host) {
        // The last: a host that does not know this certificate.
        let gone = [
            ErrorKind::UnexpectedEof,
            ErrorKind::ConnectionReset,
            ErrorKind::BrokenPipe,
            ErrorKind::InvalidData,
        ];
        let gone = gone.contains(&error.kind());
        assert!(gone || stop.load(Ordering::Relaxed), "{error}");
    }
    if let Some(host) = host {
        state.lock().expect("nobody panicked").part(host);
    }
}

fn converse(
    state: &Mutex<DispatchState>, stop: &AtomicBool, stream: &mut (impl Read + Write),
    lines: &Sender<ServiceLine>, outgoing: &Receiver<ServiceLine>, host: &mut Option<HostId>,
) -> std::io::Result<()> {
    let (mut came, mut chunk, mut waits) = (Vec::new(), [0; 4096], None);
    while !stop.load(Ordering::Relaxed) {
        let mut state_now = state.lock().expect("nobody panicked");
        if let Some(hello) = waits.take() {
            match state_now.greet(&hello, lines) {
                Some(found) => *host = Some(found),
                None => waits = Some(hello),
            }
        }
        drop(state_now);
        for line in outgoing.try_iter() {
            let text = serde_json::to_string(&line).expect("JSON");
            stream.write_all(format!("{text}\n").as_bytes())?;
        }
        match stream.flush() {
            // A handshake waits for an answer.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            other => other?,
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => came.extend_from_slice(&chunk[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        while let Some(end) = came.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = came.drain(..=end).collect();
            match (serde_json::from_slice(&line).expect("a line"), *host) {
                (HostLine::Hello(hello), _) => waits = Some(hello),
                (HostLine::Message(line), Some(host)) => {
                    state.lock().expect("nobody panicked").hear(host, line);
                }
                (HostLine::Message(line), None) => panic!("{line:?} before a hello"),
            }
        }
    }
    Ok(())
}

impl DispatchState {
    fn now(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// `None`: there is no source yet.
    fn greet(&mut self, hello: &HostHello, lines: &Sender<ServiceLine>) -> Option<HostId> {
        let (host, now) = (hello.join.peer.host, self.now());
        if hello.source && self.tree.is_none() {
            let policy = Policy {
                demotion: Demotion::Never,
                patience: Nanos::from_millis(10_000),
                ..Policy::default()
            };
            let token = Token::parse(TOKEN).expect("a token");
            self.tree = Some(Dispatchers::new(policy, token, &hello.join, 7, now));
            self.source = Some(host);
        }
        let root = self.tree.as_ref()?.root;
        self.hosts.insert(host, Known { lines: lines.clone(), cluster: root, joins: 0 });
        self.say(host, ServiceLine::Welcome { root, identity: self.identity.clone(), alive_ms: None });
        Some(host)
    }

    fn hear(&mut self, host: HostId, line: ClusterLine<FromHost>) {
        let ClusterLine { cluster, joins, message } = line;
        let known = self.hosts.get_mut(&host).expect("a host");
        (known.cluster, known.joins) = (cluster, joins);
        let now = self.now();
        let told = self.tree.as_mut().map(|tree| tree.on_host(now, cluster, host, message));
        self.carry(told.unwrap_or_default());
    }

    fn part(&mut self, host: HostId) {
        let (now, known) = (self.now(), self.hosts.remove(&host));
        if let (Some(known), Some(tree)) = (known, &mut self.tree) {
            let told = tree.on_gone(now, known.cluster, host);
            self.carry(told);
        }
    }

    fn tick(&mut self) {
        let now = self.now();
        if let Some(told) = self.tree.as_mut().map(|tree| tree.on_time(now)) {
            self.carry(told);
        }
    }

    fn carry(&mut self, told: Vec<HostMessage>) {
        for HostMessage { cluster, host, message } in told {
            if let Some(known) = self.hosts.get(&host) {
                self.say(host, ServiceLine::Message(ClusterLine { cluster, joins: known.joins, message }));
            }
        }
        let Some(tree) = &self.tree else { return };
        if tree.ended {
            let text = "the source has left".to_owned();
            let line = ServiceLine::Refused { code: ServiceRefusal::Ended, text };
            self.hosts.keys().for_each(|&host| self.say(host, line.clone()));
            return;
        }
        let members = tree.members();
        if let (Some(source), true) = (self.source, members != self.members) {
            self.members = members.clone();
            self.say(source, ServiceLine::Members(members));
        }
    }

    fn say(&self, host: HostId, line: ServiceLine) {
        if let Some(known) = self.hosts.get(&host) {
            // Its thread may be over.
            let _ = known.lines.send(line);
        }
    }
}
