use std::collections::BTreeMap;

use super::*;
use groupflow_host::poller::Poller;
use std::io::Write;
use std::net::{TcpListener, TcpStream};

/// Stripes to peers that read nothing.
fn open(count: u32) -> (BTreeMap<StripeId, ClientStripe>, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut poller = Poller::new().expect("epoll");
    let mut peers = Vec::new();
    let stripes = (0..count).map(|number| {
        let socket = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        peers.push(listener.accept().expect("accepted").0);
        socket.set_nonblocking(true).expect("an option");
        let registration = poller.add(&socket, number).expect("registered");
        let mut stripe = ClientStripe::new(Channel::begun(socket, None), registration);
        stripe.link.writable = true;
        (StripeId(number), ClientStripe { stage: StripeStage::Open, ..stripe })
    });
    (stripes.collect(), peers)
}

fn fill(stripe: &mut ClientStripe) {
    while stripe.link.channel.write(&[7; 65_536]).is_ok() {}
}

#[test]
fn who_sends_at_once_is_first() {
    let (mut stripes, peers) = open(3);
    assert_eq!(taking(&stripes), [0, 1, 2].map(StripeId));
    fill(stripes.get_mut(&StripeId(0)).expect("there"));
    assert_eq!(taking(&stripes), [1, 2, 0].map(StripeId));
    stripes.get_mut(&StripeId(1)).expect("there").link.writable = false;
    assert_eq!(taking(&stripes), [2, 0].map(StripeId));
    drop(peers);
}
