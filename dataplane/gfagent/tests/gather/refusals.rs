//! Bad input: a clear error in one line, and others are unharmed.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::harness::{data, file, send, text, GatherLab, ServerProcess, TOKEN};

/// A connection that speaks for itself.
pub struct Raw<S = TcpStream>(pub S);

impl<S: Read + Write> Raw<S> {
    pub fn new(stream: S) -> Raw<S> {
        Raw(stream)
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("said");
    }

    pub fn hello(&mut self, client: &str, token: &str, stream: u64, acknowledged: u64) {
        let mut body = vec![2];
        body.extend(stream.to_be_bytes());
        body.extend(acknowledged.to_be_bytes());
        body.push(0);
        for part in [client, token] {
            body.push(part.len() as u8);
            body.extend(part.bytes());
        }
        self.say(&[&[1, 0, 0, body.len() as u8], &body[..]].concat());
    }

    pub fn data(&mut self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        let length = (bytes.len() as u16 + 8).to_be_bytes();
        self.0.write_all(&[&[2, 0, length[0], length[1]], &offset.to_be_bytes()[..], bytes].concat())
    }

    /// The body of the next frame of a kind; others are passed over.
    pub fn frame(&mut self, kind: u8) -> Vec<u8> {
        loop {
            let mut head = [0; 4];
            self.0.read_exact(&mut head).expect("a frame");
            let mut body = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]]))];
            self.0.read_exact(&mut body).expect("a body");
            if head[0] == kind {
                return body;
            }
        }
    }

    /// The text of a refusal, after which the connection ends.
    pub fn refusal(&mut self) -> (u8, String) {
        let body = self.frame(21);
        self.closed();
        (body[0], String::from_utf8(body[1..].to_vec()).expect("text"))
    }

    pub fn closed(&mut self) {
        match self.0.read(&mut [0]) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A client in the middle of a stream is not harmed by what `happens`.
pub fn while_another_sends(
    lab: &GatherLab, server: &mut ServerProcess, happens: impl FnOnce(&mut ServerProcess),
) {
    let bytes = data(300_000);
    let pin = server.pin.clone();
    let options = if pin.is_empty() { vec![] } else { vec!["--tls-pin", &pin] };
    let mut good = send(server.address, "good", &options);
    good.write(&bytes[..100_000]);
    server.round("good", |own| own["bytes"] == 100_000);
    happens(server);
    good.write(&bytes[100_000..]);
    good.expect_success();
    assert!(lab.gathered("good") == bytes);
}

#[test]
fn who_is_not_known_or_has_another_token_is_refused_in_one_line() {
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = lab.serve(&[]);
    let path = file(&lab, "input", b"x");
    while_another_sends(&lab, &mut server, |server| {
        let cases = [
            (
                "nobody",
                TOKEN,
                "unknown_client",
                "refused by the server: client nobody is not on the server's list; check --client, or \
                    put it on the server's list",
            ),
            (
                "a",
                "badc0de",
                "wrong_token",
                "refused by the server: the token of client a does not match; pass the client's token \
                    in GROUPFLOW_TOKEN or a --token-file",
            ),
        ];
        for (client, token, code, line) in cases {
            let refused = send(server.address, client, &["--file", text(&path), "--token", token]);
            let event = server.process.wait_for("refused");
            assert_eq!((&event["code"], &event["client"]), (&json!(code), &json!(client)));
            assert_eq!(refused.end(), (4, format!("gfagent: {line}\n")));
        }
    });
}

#[test]
fn a_second_program_with_a_clients_name_is_refused_and_the_first_goes_on() {
    let lab = GatherLab::new(&["good"]);
    let mut server = lab.serve(&[]);
    while_another_sends(&lab, &mut server, |server| {
        let (code, line) = send(server.address, "good", &[]).end();
        assert_eq!(code, 4);
        assert!(line.contains("client good sends stream ") && line.lines().count() == 1, "{line}");
        assert!(line.contains("stop the other program that sends as this client"), "{line}");
    });
}

#[test]
fn a_client_has_as_many_connections_as_it_may() {
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = lab.serve(&["--max-connections", "2"]);
    while_another_sends(&lab, &mut server, |server| {
        let mut raws: Vec<Raw> = (0..3).map(|_| Raw::new(server.connect())).collect();
        for raw in &mut raws[..2] {
            raw.hello("a", TOKEN, 1, 0);
            raw.frame(17);
        }
        raws[2].hello("a", TOKEN, 1, 0);
        let text = "client a has 2 connections, as many as it may have";
        assert_eq!(raws[2].refusal(), (5, text.to_owned()));
    });
}

#[test]
fn frames_that_make_no_sense_are_refused_with_the_field() {
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = lab.serve(&["--memory", "200000B"]);
    while_another_sends(&lab, &mut server, |server| {
        let cases: [(&[u8], &str); 5] = [
            (b"GET / HTTP/1.1\r\n\r\n", "frame.kind: 71 is not a legal value"),
            (&[2, 0, 0, 9], "frame.kind: comes before HELLO"),
            (&[1, 0, 0, 1, 9], "hello.version: 9 is not 2"),
            (&[5, 0, 0, 0], "frame.kind: comes before HELLO"),
            (&[17, 0, 0, 0], "frame.kind: 17 is the other side's"),
        ];
        for (bytes, expected) in cases {
            let mut raw = Raw::new(server.connect());
            raw.say(bytes);
            if bytes[0] == 2 {
                raw.say(&[0, 0, 0, 0, 0, 0, 0, 0, 7]);
            }
            assert_eq!(raw.refusal(), (1, expected.to_owned()));
        }
        let mut raw = Raw::new(server.connect());
        raw.hello("a", TOKEN, 1, 0);
        raw.hello("a", TOKEN, 1, 0);
        assert_eq!(raw.refusal(), (1, "hello: comes twice".to_owned()));
        // Another stream: the first one has no connection any more.
        let mut raw = Raw::new(server.connect());
        raw.hello("a", TOKEN, 2, 0);
        raw.data(100_000, &[7]).expect("said");
        let text = "data.offset: 100000 and its 1 bytes lie beyond the limit 100000";
        assert_eq!(raw.refusal(), (1, text.to_owned()));
        let mut raw = Raw::new(server.connect());
        raw.hello("a", TOKEN, 3, 5000);
        let text = "client a has let go of the first 5000 bytes of stream 0000000000000003, and 0 are here";
        assert_eq!(raw.refusal(), (6, text.to_owned()));
    });
}

/// All that may be held, with a hole before it, again and again; then beyond it, and without an end.
pub fn flood<S: Read + Write>(server: &mut ServerProcess, mut raw: Raw<S>) {
    raw.hello("a", TOKEN, 1, 0);
    let block = vec![7; 60_000];
    for _ in 0..200 {
        for offset in (1..450_000).step_by(60_000) {
            raw.data(offset, &block).expect("said");
        }
    }
    let own = server.round("a", |own| own["held"].as_u64() >= Some(450_000));
    assert!(own["held"].as_u64() <= own["room"].as_u64(), "{own}");
    let mut refused = 0;
    while raw.data(500_000, &block).is_ok() {
        refused += block.len();
        // 64 MiB by the server, and the buffers of both kernels.
        assert!(refused < 160 << 20, "the server goes on reading");
    }
}

#[test]
fn a_flood_is_bounded() {
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = lab.serve(&["--memory", "1MiB"]);
    while_another_sends(&lab, &mut server, |server| {
        flood(server, Raw::new(server.connect()));
        let peak = server.process.peak_memory();
        assert!(peak < 64 << 20, "{peak} bytes");
    });
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let lab = GatherLab::new(&["good"]);
    let mut server = lab.serve(&["--handshake-ms", "300", "--max-pending", "3"]);
    while_another_sends(&lab, &mut server, |server| {
        let mut raws: Vec<Raw> = (0..5).map(|_| Raw::new(server.connect())).collect();
        for raw in &mut raws[..2] {
            let text = "too many connections have sent no HELLO yet".to_owned();
            assert_eq!(raw.refusal(), (7, text));
        }
        for raw in &mut raws[2..] {
            assert_eq!(raw.refusal(), (7, "no HELLO came in time".to_owned()));
        }
    });
}

#[test]
fn an_address_that_says_nothing_crowds_itself_alone() {
    let lab = GatherLab::new(&["good"]);
    let server = lab.serve(&["--handshake-ms", "2000", "--max-pending", "3"]);
    let mut other = Raw::new(server.connect());
    let mut crowd: Vec<Raw> = (0..5).map(|_| Raw::new(server.connect_from("127.0.0.2"))).collect();
    for raw in &mut crowd[..3] {
        assert_eq!(raw.refusal(), (7, "too many connections have sent no HELLO yet".to_owned()));
    }
    assert_eq!(other.refusal(), (7, "no HELLO came in time".to_owned()));
}

#[test]
fn a_list_that_is_wrong_is_refused() {
    let lab = GatherLab::new(&["a", "b"]);
    let mut server = lab.serve(&["--discard"]);
    let a = json!({"client": "a", "token": TOKEN});
    server.process.line(&json!({"clients": [&a, &a]}).to_string());
    let refused = server.process.wait_for("tune_refused");
    let why = "clients[1].client must be another one than those before";
    assert_eq!((&refused["field"], &refused["text"]), (&json!("clients[1].client"), &json!(why)));
    assert_eq!(refused["human"], format!("tuning refused: {why}"));
}
