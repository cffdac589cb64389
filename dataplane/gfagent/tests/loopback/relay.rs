//! A network of one relay and one thread a host: the relays send over loopback UDP, lose packets, and have
//! the session crate's models of a switch and of the controller between them.
//!
//! Each host sends all its group packets to its own relay socket (`--via`). A packet is delivered from the
//! relay socket of the host that sent it, so that a cache can answer a requester by unicast: to that socket,
//! which passes the answer on.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::model::controller::{ControllerModel, Post, Rules};
use crate::model::switch::{LinkFrame, SwitchAction, SwitchModel};
use groupflow_base::{Dest, Nanos};
use groupflow_transport::wire::GroupPacket;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Relays look this often whether the test is over.
const TICK: Duration = Duration::from_millis(20);

struct RelayPort {
    relay: Arc<UdpSocket>,
    relay_address: SocketAddrV4,
    /// Known from its first packet on.
    host: Option<SocketAddrV4>,
}

struct RelayState {
    switches: Vec<SwitchModel>,
    controller: ControllerModel,
    ports: Vec<RelayPort>,
    rng: StdRng,
    loss_per_mille: u32,
    began: Instant,
    expired: Instant,
}

pub struct RelayNetwork {
    state: Arc<Mutex<RelayState>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

fn lock(state: &Mutex<RelayState>) -> MutexGuard<'_, RelayState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RelayNetwork {
    /// A network with one switch; the first host that is added is its cache agent.
    pub fn new(rules: Rules, loss_per_mille: u32) -> RelayNetwork {
        let mut controller = ControllerModel::new(rules);
        controller.agents.push(Some(0));
        let state = RelayState {
            switches: vec![SwitchModel::default()],
            controller,
            ports: Vec::new(),
            rng: StdRng::seed_from_u64(5),
            loss_per_mille,
            began: Instant::now(),
            expired: Instant::now(),
        };
        RelayNetwork {
            state: Arc::new(Mutex::new(state)),
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        }
    }

    /// A port for one more host; gives the address to send to.
    pub fn add_port(&mut self) -> SocketAddrV4 {
        let relay = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback socket"));
        relay.set_read_timeout(Some(TICK)).expect("a timeout");
        let Ok(SocketAddr::V4(address)) = relay.local_addr() else {
            panic!("no IPv4 address");
        };
        let mut state = lock(&self.state);
        let port = state.ports.len();
        state.ports.push(RelayPort { relay: Arc::clone(&relay), relay_address: address, host: None });
        drop(state);
        let (state, stop) = (Arc::clone(&self.state), Arc::clone(&self.stop));
        self.threads.push(std::thread::spawn(move || serve(port, &relay, &state, &stop)));
        address
    }

    pub fn set_controller_alive(&self, alive: bool) {
        lock(&self.state).controller.alive = alive;
    }
}

impl Drop for RelayNetwork {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(port: usize, relay: &UdpSocket, state: &Mutex<RelayState>, stop: &AtomicBool) {
    let mut buffer = [0; 2048];
    while !stop.load(Ordering::Relaxed) {
        let received = relay.recv_from(&mut buffer);
        let mut state = lock(state);
        state.expire();
        if let Ok((length, SocketAddr::V4(from))) = received {
            state.receive(port, from, &buffer[..length]);
        }
    }
}

impl RelayState {
    fn now(&self) -> Nanos {
        let elapsed = self.began.elapsed().as_nanos();
        Nanos::from_secs(1) + Nanos(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn receive(&mut self, port: usize, from: SocketAddrV4, bytes: &[u8]) {
        let another_host =
            self.ports.iter().any(|p| p.host == Some(from)) && self.ports[port].host != Some(from);
        if another_host {
            // Unicast to the host behind this relay.
            return self.deliver(port, port, bytes);
        }
        self.ports[port].host = Some(from);
        let Ok(packet) = GroupPacket::parse(bytes) else { return };
        let frame = LinkFrame {
            from: self.ports[port].relay_address,
            to: Dest::Group(packet.header.session.group()),
            bytes: bytes.to_vec(),
        };
        for action in self.switches[0].receive(port, frame) {
            match action {
                SwitchAction::Send(to, frame) => {
                    let origin = self.origin(&frame).unwrap_or(port);
                    self.deliver(origin, to, &frame.bytes);
                }
                SwitchAction::Punt(port, frame) if self.controller.alive => {
                    let now = self.now();
                    let posts = self.controller.receive(now, &mut self.switches, (0, port), &frame);
                    self.post(posts);
                }
                SwitchAction::Punt(..) => {}
            }
        }
    }

    fn origin(&self, frame: &LinkFrame) -> Option<usize> {
        self.ports.iter().position(|p| p.relay_address == frame.from)
    }

    fn post(&mut self, posts: Vec<Post>) {
        for Post { to, bytes } in posts {
            if let Some(port) = self.ports.iter().position(|p| p.relay_address == to) {
                self.deliver(port, port, &bytes);
            }
        }
    }

    /// To the host at `port`, from the relay socket of `origin`.
    fn deliver(&mut self, origin: usize, port: usize, bytes: &[u8]) {
        let lost = self.rng.gen_range(0..1000) < self.loss_per_mille;
        if let (false, Some(host)) = (lost, self.ports[port].host) {
            let _ = self.ports[origin].relay.send_to(bytes, host);
        }
    }

    fn expire(&mut self) {
        if self.expired.elapsed() > Duration::from_millis(200) && self.controller.alive {
            self.expired = Instant::now();
            let now = self.now();
            let posts = self.controller.expire(now, &mut self.switches);
            self.post(posts);
        }
    }
}
