//! A host's connection to dispatchers that are silent, have no room, have gone, or send it where nobody is.

use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use groupflow_host::poller::Poller;
use groupflow_tree::agent::dispatcher_link::{DispatcherLink, Said};
use serde_json::{json, Value};

use super::programs::{HostOptions, Receiver};

const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a host waits for the first word of who accepted its connection, and shorter than for the first
/// dispatchers.
const SILENT: Duration = Duration::from_secs(6);

/// Somebody who accepts connections, and its address.
fn listener() -> (TcpListener, SocketAddrV4) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let SocketAddr::V4(at) = listener.local_addr().expect("bound") else { unreachable!() };
    (listener, at)
}

/// A connection, and time that passes as the test says.
struct ControlLine {
    control: DispatcherLink,
    poller: Poller<()>,
    now: Instant,
}

impl ControlLine {
    fn to(addresses: &[SocketAddrV4]) -> ControlLine {
        let now = Instant::now();
        let control = DispatcherLink::new(addresses, None, PATIENCE, now);
        ControlLine { control, poller: Poller::new().expect("one"), now }
    }

    /// It is connected to this one.
    fn reach(&mut self, listener: &TcpListener) -> TcpStream {
        self.control.keep(self.now, &mut self.poller, ()).expect("it goes on");
        let (socket, _) = listener.accept().expect("it came");
        assert_eq!(self.hear(1), [Said::Connected]);
        socket
    }

    /// So many things that happen.
    fn hear(&mut self, count: usize) -> Vec<Said> {
        let mut said = Vec::new();
        let end = Instant::now() + Duration::from_secs(10);
        while said.len() < count {
            assert!(Instant::now() < end, "{said:?}");
            let mut ready = Vec::new();
            self.poller.wait(Some(Duration::from_millis(20)), &mut ready).expect("waited");
            ready.into_iter().for_each(|((), ready)| self.control.on_ready(ready));
            said.extend(self.control.work(self.now, &mut self.poller).expect("it goes on"));
        }
        said
    }
}

#[test]
fn who_accepts_and_says_nothing_is_given_up_and_another_is_tried() {
    let ((silent, first), (other, second)) = (listener(), listener());
    let mut line = ControlLine::to(&[first, second]);
    let _open = line.reach(&silent);
    assert_eq!(line.control.failed(), []);
    line.now += SILENT;
    let _open = line.reach(&other);
    assert_eq!(line.control.failed(), [first]);
}

/// As often as they say that they are there; and longer each time, if nobody does.
#[test]
fn who_was_told_of_signs_waits_less_long_for_the_first() {
    let ((silent, first), (other, second)) = (listener(), listener());
    let mut line = ControlLine::to(&[first, second]);
    let mut open = line.reach(&silent);
    line.now += Duration::from_millis(10);
    open.write_all(b"{\"welcome\": {}}\n").expect("written");
    assert!(matches!(line.hear(1)[..], [Said::Line(_)]));
    line.control.expect_signs(Some(Duration::from_secs(2)));
    drop(open);
    assert_eq!(line.hear(1), [Said::Lost]);
    line.now += Duration::from_millis(50);
    let mut waits = Vec::new();
    for listener in [&other, &silent, &other, &silent] {
        let _open = line.reach(listener);
        let begun = line.now;
        line.now = line.control.deadline().expect("it waits");
        waits.push((line.now - begun).as_millis());
        line.now += Duration::from_secs(1);
    }
    assert_eq!(waits, [1000, 2000, 4000, 5000]);
}

/// One that falls silent, and another that stands still, say nothing of the third.
#[test]
fn the_wait_for_the_first_sign_grows_when_nobody_gives_one() {
    let ((silent, first), (still, second), (other, third)) = (listener(), listener(), listener());
    let mut line = ControlLine::to(&[first, second, third]);
    let mut open = line.reach(&silent);
    line.now += Duration::from_millis(10);
    open.write_all(b"{\"welcome\": {}}\n").expect("written");
    assert!(matches!(line.hear(1)[..], [Said::Line(_)]));
    line.control.expect_signs(Some(Duration::from_secs(2)));
    let mut waits = Vec::new();
    line.now += SILENT;
    for listener in [&still, &other, &silent, &still] {
        let _open = line.reach(listener);
        let begun = line.now;
        line.now = line.control.deadline().expect("it waits");
        waits.push((line.now - begun).as_millis());
        line.now += Duration::from_secs(1);
    }
    assert_eq!(waits, [1000, 1000, 2000, 4000]);
}

/// Over a long way it takes longer until they answer.
#[test]
fn who_was_answered_late_waits_longer_for_the_first_sign() {
    let (here, at) = listener();
    let mut line = ControlLine::to(&[at]);
    let mut open = line.reach(&here);
    line.now += Duration::from_millis(600);
    open.write_all(b"{\"welcome\": {}}\n").expect("written");
    assert!(matches!(line.hear(1)[..], [Said::Line(_)]));
    line.control.expect_signs(Some(Duration::from_secs(2)));
    drop(open);
    assert_eq!(line.hear(1), [Said::Lost]);
    line.now += Duration::from_millis(50);
    let _open = line.reach(&here);
    assert_eq!(line.control.deadline(), Some(line.now + Duration::from_millis(2400)));
}

/// Somebody may accept connections there who is none of them.
#[test]
fn dispatchers_that_are_never_heard_are_gone_in_the_end() {
    let (silent, at) = listener();
    let mut line = ControlLine::to(&[at]);
    let mut open = Vec::new();
    let error = loop {
        match line.control.keep(line.now, &mut line.poller, ()) {
            Ok(()) if line.control.is_open() => {
                open.push(silent.accept().expect("it came"));
                line.hear(1);
            }
            Ok(()) => {}
            Err(error) => break error,
        }
        line.now += SILENT;
        assert!(open.len() < 20, "it never ends");
    };
    assert_eq!(error.code, "dispatchers_gone");
    assert!(error.cause.contains("the dispatchers are silent"), "{}", error.cause);
}

/// Those that it reaches are there, and send it to one that it does not reach.
#[test]
fn who_is_sent_where_nobody_is_says_so_in_the_end() {
    let ((here, at), (nowhere, there)) = (listener(), listener());
    drop(nowhere);
    let mut line = ControlLine::to(&[at]);
    let mut tries = 0;
    let error = loop {
        let mut open = line.reach(&here);
        open.write_all(b"{\"welcome\": {}}\n").expect("written");
        assert!(matches!(line.hear(1)[..], [Said::Line(_)]));
        line.control.is_welcome();
        if let Err(error) = line.control.go_to(line.now, &mut line.poller, there) {
            break error;
        }
        line.now += Duration::from_secs(1);
        line.control.keep(line.now, &mut line.poller, ()).expect("it tries");
        if line.control.is_open() {
            assert_eq!(line.hear(1), [Said::Lost]);
        }
        line.now += SILENT;
        tries += 1;
        assert!(tries < 20, "it never ends");
    };
    assert_eq!(error.code, "dispatchers_gone");
    assert!(error.cause.contains(&there.to_string()), "{}", error.cause);
}

/// Messages that have come are heard, though the connection has ended behind them; addresses that cannot be
/// reached are known from before.
#[test]
fn what_comes_with_the_end_of_a_connection_is_heard() {
    let (here, at) = listener();
    let mut line = ControlLine::to(&[at]);
    let mut open = line.reach(&here);
    open.write_all(b"{\"alive\": true}\n{\"hosts\": 3}\n").expect("written");
    drop(open);
    let said = line.hear(3);
    assert_eq!(said, [Said::Line(json!({"alive": true})), Said::Line(json!({"hosts": 3})), Said::Lost]);
    let (other, there) = listener();
    let anywhere = SocketAddrV4::new([0, 0, 0, 0].into(), there.port());
    line.control.go_to(line.now, &mut line.poller, anywhere).expect("it tries");
    line.reach(&other);
}

/// Says these lines to whoever comes first, and then ends the connection or keeps it.
fn says(listener: TcpListener, lines: Vec<Value>, ends: bool) -> thread::JoinHandle<TcpListener> {
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("it came");
        let mut hello = [0; 4096];
        assert!(socket.read(&mut hello).expect("read") > 0);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        socket.write_all(text.as_bytes()).expect("written");
        if !ends {
            let _ = socket.read(&mut hello);
        }
        listener
    })
}

fn welcome() -> Value {
    let dispatchers = ["no address", "127.0.0.1:9"];
    json!({"welcome": {"root": "1", "identity": null, "alive_ms": 1000, "dispatchers": dispatchers}})
}

#[test]
fn who_is_sent_elsewhere_twice_at_once_goes_to_the_first() {
    let ((here, at), (first, one), (second, two)) = (listener(), listener(), listener());
    let elsewhere = |at: SocketAddrV4| json!({"elsewhere": {"at": at}});
    let sending = says(here, vec![welcome(), elsewhere(one), elsewhere(two)], false);
    let receiver = Receiver::start(&HostOptions::new(&at, None));
    let ended = says(
        first,
        vec![json!({"alive": true}), json!({"refused": {"code": "ended", "text": "over"}})],
        true,
    );
    let error = receiver.finish().expect_err("it has heard the end");
    assert_eq!(error["code"], "sender_lost", "{error}");
    ended.join().expect("it came there");
    sending.join().expect("it came");
    second.set_nonblocking(true).expect("set");
    assert!(second.accept().is_err(), "it went to the second");
}

/// A process that has as many connections as it may have, and then fewer.
#[test]
fn who_finds_no_room_comes_again() {
    let (here, at) = listener();
    let full = json!({"refused": {"code": "full", "text": "4096 hosts are connected, as many as may"}});
    let sending = says(here, vec![full], true);
    let _receiver = Receiver::start(&HostOptions::new(&at, None));
    let here = sending.join().expect("it came");
    here.accept().expect("and again");
}
