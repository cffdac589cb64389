use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use groupflow_host::tcp::unacknowledged;

#[test]
fn what_the_peers_tcp_has_not_acknowledged_is_counted_by_the_kernel() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let (mut peer, _) = listener.accept().expect("accepted");
    assert_eq!(unacknowledged(&stream).expect("known"), 0);
    stream.set_nonblocking(true).expect("an option");
    // More bytes than the peer, which reads nothing, has room for: some stay unacknowledged.
    let mut written = 0;
    while let Ok(count) = stream.write(&[7; 65_536]) {
        written += count;
    }
    let waiting = unacknowledged(&stream).expect("known");
    assert!((1..=written as u64).contains(&waiting), "{waiting} of {written}");
    stream.shutdown(Shutdown::Write).expect("ended");
    let mut got = Vec::new();
    peer.read_to_end(&mut got).expect("received");
    assert_eq!(got.len(), written);
    let until = Instant::now() + Duration::from_secs(10);
    while unacknowledged(&stream).expect("known") > 0 {
        assert!(Instant::now() < until, "the end is acknowledged, too");
        std::thread::yield_now();
    }
}
