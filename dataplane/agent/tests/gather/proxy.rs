//! Between clients and a server: connections that can be cut, and stopped.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub struct Proxy {
    pub address: SocketAddrV4,
    pairs: Arc<Mutex<Vec<(TcpStream, TcpStream)>>>,
}

impl Proxy {
    pub fn new(server: SocketAddrV4) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let std::net::SocketAddr::V4(address) = listener.local_addr().expect("an address") else {
            panic!("IPv4");
        };
        let pairs = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&pairs);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // A server that is gone: so is the connection.
                let Ok(far) = TcpStream::connect(server) else {
                    continue;
                };
                let copies = (near.try_clone().expect("a copy"), far.try_clone().expect("a copy"));
                kept.lock().expect("no panic").push(copies);
                let (near_too, far_too) =
                    (near.try_clone().expect("a copy"), far.try_clone().expect("a copy"));
                thread::spawn(move || copy(near, far));
                thread::spawn(move || copy(far_too, near_too));
            }
        });
        Proxy { address, pairs }
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

fn copy(mut from: TcpStream, mut to: TcpStream) {
    // Small, so that cuts fall anywhere.
    let mut buffer = [0; 1500];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
