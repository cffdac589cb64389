use super::*;
use groupflow_base::SortedMap;
use groupflow_host::poller::Poller;
use std::io::Write;
use std::net::{TcpListener, TcpStream};

/// Stripes to peers that read nothing.
fn open(count: u32) -> (SortedMap<StripeId, ClientStripe>, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut poller = Poller::new().expect("epoll");
    let mut peers = Vec::new();
    let stripes = (0..count).map(|number| {
        let socket = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        peers.push(listener.accept().expect("accepted").0);
        socket.set_nonblocking(true).expect("an option");
        let registration = poller.add(&socket, number).expect("registered");
        let stripe = ClientStripe::new(Channel::begun(socket, None), registration);
        (StripeId(number), ClientStripe { stage: StripeStage::Open, writable: true, ..stripe })
    });
    (stripes.collect(), peers)
}

fn fill(stripe: &mut ClientStripe) {
    while stripe.connection.channel.write(&[7; 65_536]).is_ok() {}
}

#[test]
fn who_sends_at_once_is_first() {
    let (mut stripes, peers) = open(3);
    assert_eq!([false, true].map(|spread| taking(&stripes, spread)), [[0, 1, 2].map(StripeId); 2]);
    fill(stripes.get_mut(&StripeId(0)).expect("there"));
    assert_eq!([false, true].map(|spread| taking(&stripes, spread)), [[1, 2, 0].map(StripeId); 2]);
    stripes.get_mut(&StripeId(1)).expect("there").writable = false;
    assert_eq!(taking(&stripes, true), [2, 0].map(StripeId));
    drop(peers);
}

#[test]
fn a_stream_that_is_spread_goes_where_the_fewest_segments_are_under_way() {
    let stripe =
        |id, unsent, unacknowledged| (StripeId(id), TcpInfo { unsent, unacknowledged, ..TcpInfo::default() });
    let stripes = vec![stripe(0, 0, 9), stripe(1, 0, 2), stripe(2, 500, 0), stripe(3, 0, 2)];
    assert_eq!(by_turn(stripes.clone(), true), [1, 3, 0, 2].map(StripeId));
    assert_eq!(by_turn(stripes, false), [0, 1, 3, 2].map(StripeId));
}
