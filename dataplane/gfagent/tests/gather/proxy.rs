//! Between clients and a server: connections that can be cut, and stopped.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Bytes that are remembered.
const HEARD: usize = 1 << 20;

/// The number of the connection that stands still, if one does.
#[derive(Default)]
struct Gate {
    held: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self, number: usize) {
        let held = self.held.lock().expect("no panic");
        drop(self.changed.wait_while(held, |held| *held == Some(number)).expect("no panic"));
    }

    fn set(&self, held: Option<usize>) {
        *self.held.lock().expect("no panic") = held;
        self.changed.notify_all();
    }
}

pub struct Proxy {
    pub address: SocketAddrV4,
    pairs: Arc<Mutex<Vec<(TcpStream, TcpStream)>>>,
    gate: Arc<Gate>,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    pub fn new(server: SocketAddrV4) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let std::net::SocketAddr::V4(address) = listener.local_addr().expect("an address") else {
            panic!("IPv4");
        };
        let pairs = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&pairs);
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let gate = Arc::new(Gate::default());
        let gates = Arc::clone(&gate);
        // A stripe that stands still holds little.
        let socket = socket2::SockRef::from(&listener);
        socket.set_recv_buffer_size(16 << 10).expect("an option");
        // Loopback's own segments are larger than that.
        socket.set_mss(1448).expect("an option");
        thread::spawn(move || {
            for (number, near) in listener.incoming().flatten().enumerate() {
                // A server that is gone: so is the connection.
                let Ok(far) = TcpStream::connect(server) else { continue };
                let copies = (near.try_clone().expect("a copy"), far.try_clone().expect("a copy"));
                kept.lock().expect("no panic").push(copies);
                let (near_too, far_too) =
                    (near.try_clone().expect("a copy"), far.try_clone().expect("a copy"));
                let (up, down) = (Arc::clone(&heard), Arc::clone(&heard));
                let (own, back) = (Arc::clone(&gates), Arc::clone(&gates));
                thread::spawn(move || copy(near, far, &up, || own.pass(number)));
                thread::spawn(move || copy(far_too, near_too, &down, || back.pass(number)));
            }
        });
        Proxy { address, pairs, gate, said }
    }

    /// The first connection stands still from now on, in both directions.
    pub fn hold_oldest(&self) {
        self.gate.set(Some(0));
    }

    /// Nothing stands still any more.
    pub fn release(&self) {
        self.gate.set(None);
    }

    /// The beginning of what was said by anyone.
    pub fn listen(&self) -> Arc<Mutex<Vec<u8>>> {
        Arc::clone(&self.said)
    }

    /// Cuts the connection that was made first, of those that are left.
    pub fn cut_oldest(&self) {
        let mut pairs = self.pairs.lock().expect("no panic");
        if !pairs.is_empty() {
            let (near, far) = pairs.remove(0);
            for stream in [near, far] {
                let _ = socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, said: &Mutex<Vec<u8>>, pass: impl Fn()) {
    // Small, so that cuts fall anywhere.
    let mut buffer = [0; 1500];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        pass();
        let mut said = said.lock().expect("no panic");
        if said.len() < HEARD {
            said.extend(&buffer[..count]);
        }
        drop(said);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
