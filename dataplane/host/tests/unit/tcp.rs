use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use groupflow_host::tcp::taken;

#[test]
fn what_a_connection_has_taken_is_counted_by_the_kernel() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let (mut peer, _) = listener.accept().expect("accepted");
    assert_eq!(taken(&stream).expect("known"), (0, false));
    stream.write_all(&[7; 1000]).expect("sent");
    assert_eq!(taken(&stream).expect("known"), (1000, false));
    peer.read_exact(&mut [0; 1000]).expect("received");
    assert_eq!(taken(&stream).expect("known"), (1000, false));
    // It does not matter whether the peer has ended its side.
    drop(peer);
    assert_eq!(taken(&stream).expect("known"), (1000, false));
}

#[test]
fn the_end_is_no_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let (mut peer, _) = listener.accept().expect("accepted");
    stream.set_nonblocking(true).expect("an option");
    // More bytes than the peer, which reads nothing, has room for: some stay unacknowledged.
    let mut written = 0;
    while let Ok(count) = stream.write(&[7; 65_536]) {
        written += count as u64;
    }
    assert_eq!(taken(&stream).expect("known"), (written, false));
    stream.shutdown(Shutdown::Write).expect("ended");
    assert_eq!(taken(&stream).expect("known"), (written, true));
    let mut got = Vec::new();
    peer.read_to_end(&mut got).expect("received");
    assert_eq!(got.len() as u64, written);
    assert_eq!(taken(&stream).expect("known"), (written, true));
}
