use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use groupflow_host::socket::{send, Inbox, OutgoingDatagram, BATCH};

#[test]
fn batches_arrive_with_their_senders() {
    let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a loopback socket"));
    let address = |socket: &UdpSocket| match socket.local_addr() {
        Ok(std::net::SocketAddr::V4(address)) => address,
        other => panic!("{other:?}"),
    };
    let out: Vec<OutgoingDatagram> = (0..BATCH as u8 + 1)
        .map(|i| OutgoingDatagram { to: address(&b), bytes: vec![i; usize::from(i)] })
        .collect();
    assert_eq!(send(a.as_fd(), &out).expect("sent"), BATCH);
    let mut inbox = Inbox::default();
    let mut taken = Vec::new();
    let count = inbox.receive(b.as_fd(), |from, bytes| taken.push((from, bytes.to_vec())));
    assert_eq!(count.expect("received"), BATCH);
    for (i, datagram) in taken.into_iter().enumerate() {
        assert_eq!(datagram, (address(&a), vec![i as u8; i]));
    }
    let empty = inbox.receive(b.as_fd(), |_, _| {}).map_err(|e| e.kind());
    assert_eq!(empty, Err(io::ErrorKind::WouldBlock));
}
