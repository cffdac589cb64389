use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use groupflow_host::tcp::TcpInfo;

#[test]
fn the_fields_are_where_they_are_looked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let (mut peer, _) = listener.accept().expect("accepted");
    for _ in 0..5 {
        stream.write_all(&[7; 100]).expect("sent");
        peer.read_exact(&mut [0; 100]).expect("received");
    }
    let (near, far) = (TcpInfo::of(&stream).expect("known"), TcpInfo::of(&peer).expect("known"));
    assert!((1..1_000_000).contains(&near.rtt_us) && near.rto_us >= 1000, "{near:?}");
    assert!((1..=near.rtt_us + 1).contains(&near.least_rtt_us), "{near:?}");
    assert_eq!((near.sent, near.resent, near.unsent, far.sent), (5, 0, 0, 0));
    // The SYN counts, too.
    assert!((401..=501).contains(&near.acknowledged) && near.unacknowledged <= 1, "{near:?}");
    assert_eq!(near.peer_window, far.own_window, "{near:?} {far:?}");
    assert!(near.peer_window > 1000);
    assert!((88..=100).contains(&far.own_segment) || far.own_segment == 536, "{far:?}");
}

#[test]
fn a_receiver_that_reads_nothing_holds_up_bytes() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let (_peer, _) = listener.accept().expect("accepted");
    stream.set_nonblocking(true).expect("an option");
    let held = |stream: &TcpStream| TcpInfo::of(stream).expect("known").window_limited_us;
    assert_eq!(held(&stream), 0);
    let limit = Instant::now() + Duration::from_secs(10);
    while stream.write(&[7; 65_536]).is_ok() || held(&stream) == 0 {
        assert!(Instant::now() < limit, "the window holds up bytes");
    }
}
