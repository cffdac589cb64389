use super::*;
use socket2::{Domain, Socket, Type};
use std::net::TcpListener;

const SILENCE: Duration = Duration::from_secs(10);

fn address(listener: &TcpListener) -> SocketAddrV4 {
    match listener.local_addr().expect("bound") {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!("it was bound to another"),
    }
}

/// A listener to which the kernel answers no SYN as long as a connection waits to be accepted.
fn narrow() -> (TcpListener, TcpStream) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a port");
    socket.listen(0).expect("it listens");
    let listener = TcpListener::from(socket);
    let waits = TcpStream::connect(address(&listener)).expect("there is room for one");
    (listener, waits)
}

fn wait(dial: &mut Dial, poller: &mut Poller<HostPollKey>) -> io::Result<Attempt> {
    let end = Instant::now() + SILENCE;
    loop {
        assert!(Instant::now() < end, "nothing happens");
        poller.wait(Some(Duration::from_millis(20)), &mut Vec::new()).expect("waited");
        if let Some(answer) = dial.answered(poller) {
            return answer;
        }
    }
}

#[test]
fn a_lost_syn_is_not_waited_for() {
    let (listener, _waits) = narrow();
    let (mut poller, now) = (Poller::new().expect("epoll"), Instant::now());
    let mut dial =
        Dial::begin(now, address(&listener), SILENCE, &mut poller, HostPollKey::Data).expect("begun");
    let first = dial.attempts[0].socket.local_addr().expect("bound");
    assert!(dial.answered(&mut poller).is_none());
    drop(listener.accept().expect("the one that waits"));
    dial.keep(now + AGAIN[0], &mut poller);
    let made = wait(&mut dial, &mut poller).expect("it is there");
    assert_ne!(made.socket.local_addr().expect("bound"), first);
    // The time is that of the attempt that succeeded, not of the one that was lost.
    assert_eq!((made.began, dial.attempts.len()), (now + AGAIN[0], 0));
}

#[test]
fn a_dial_makes_three_attempts_and_no_more() {
    let (listener, _waits) = narrow();
    let (mut poller, now) = (Poller::new().expect("epoll"), Instant::now());
    let mut dial =
        Dial::begin(now, address(&listener), SILENCE, &mut poller, HostPollKey::Data).expect("begun");
    let mut begun = Vec::new();
    while let Some(due) = dial.deadline() {
        dial.keep(due - Duration::from_nanos(1), &mut poller);
        begun.push((due - now, dial.attempts.len()));
        dial.keep(due, &mut poller);
    }
    assert_eq!(begun, [(AGAIN[0], 1), (AGAIN[1], 2)]);
    assert_eq!(dial.attempts.len(), 3);
}

#[test]
fn a_refused_dial_makes_no_other_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let nowhere = address(&listener);
    drop(listener);
    let (mut poller, now) = (Poller::new().expect("epoll"), Instant::now());
    let mut dial = Dial::begin(now, nowhere, SILENCE, &mut poller, HostPollKey::Data).expect("begun");
    let error = wait(&mut dial, &mut poller).expect_err("nobody is there");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}
