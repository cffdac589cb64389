//! TLS: streams arrive, are measured and tuned through it; a client that does not speak it, or does not trust
//! the server, is told so in one line, and others are unharmed.

use std::io::Write;
use std::net::TcpStream;

use groupflow_base::Digest;
use groupflow_host::tls::Trust;
use rustls::{ClientConnection, StreamOwned};
use serde_json::json;

use super::harness::{data, file, send, text, GatherLab, ServerProcess, TOKEN};
use super::proxy::Proxy;
use super::refusals::{flood, while_another_sends, Raw};

/// A server with a certificate that it makes.
pub fn serve(lab: &GatherLab, options: &[&str]) -> ServerProcess {
    let (certificate, key) = (lab.folder.join("tls.crt"), lab.folder.join("tls.key"));
    let mut all = vec!["--tls-cert", text(&certificate), "--tls-key", text(&key)];
    all.extend(options);
    lab.serve(&all)
}

#[test]
fn streams_arrive_and_windows_are_tuned_through_tls() {
    let lab = GatherLab::new(&["a", "b"]);
    let bytes = data(20_000_001);
    let path = file(&lab, "input", &bytes);
    let mut server = serve(&lab, &["--buffer", "1MiB"]);
    let tune =
        json!([{"client": "a", "connections": 5}, {"client": "b", "window": 60_000, "connections": 2}]);
    server.tune(tune);
    let a = send(server.address, "a", &["--file", text(&path), "--tls-pin", &server.pin]);
    let b = send(server.address, "b", &["--file", "/dev/zero", "--duration", "3", "--tls-pin", &server.pin]);
    server.round("b", |own| {
        let tuned = (50_000..60_100).contains(&own["advertised"].as_u64().unwrap_or(0));
        tuned
            && own["connections"] == 2
            && own["rtt_ms"].as_f64().is_some()
            && own["delivered_bps"].as_u64() > Some(0)
    });
    a.expect_success();
    b.expect_success();
    assert!(lab.gathered("a") == bytes);
    let restarted = serve(&lab, &[]);
    assert_eq!(restarted.pin, server.pin, "the certificate is the same");
}

#[test]
fn connections_that_die_cost_no_byte() {
    let lab = GatherLab::new(&["a"]);
    let bytes = data(8 << 20);
    let mut server = serve(&lab, &[]);
    let proxy = Proxy::new(server.address);
    server.tune(json!([{"client": "a", "connections": 4}]));
    let mut client = send(proxy.address, "a", &["--tls-pin", &server.pin]);
    for part in bytes.chunks(1 << 20) {
        client.write(part);
        proxy.cut_oldest();
        server.round("a", |own| own["connections"] == 4);
    }
    client.expect_success();
    assert!(lab.gathered("a") == bytes);
}

#[test]
fn who_does_not_fit_is_told_so_in_one_line() {
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = serve(&lab, &["--handshake-ms", "1000"]);
    let other = GatherLab::new(&["good"]);
    let strange = serve(&other, &[]).pin.clone();
    let (own, foreign) = (lab.folder.join("tls.crt"), other.folder.join("tls.crt"));
    let input = file(&lab, "input", b"x");
    while_another_sends(&lab, &mut server, |server| {
        let to = server.address.to_string();
        let pin = server.pin.clone();
        let cases: [(&[&str], i32, String, &str); 5] = [
            (
                &[], // without TLS
                4,
                "refused by the server: this server speaks TLS and the client does not".into(),
                "tls",
            ),
            (
                &["--tls-pin", &strange],
                1,
                format!("the server at {to} has another certificate than the one"),
                "tls",
            ),
            (&["--tls-ca", text(&foreign)], 1, format!("the server at {to} is not trusted: "), "tls"),
            (&["--tls-ca", text(&own)], 1, format!("the server at {to} is not trusted: "), "tls"),
            (
                &["--tls-pin", &pin, "--token", "bad"],
                4,
                "refused by the server: the token of client a".into(),
                "wrong_token",
            ),
        ];
        for (options, code, expected, word) in cases {
            let options = [&["--file", text(&input)], options].concat();
            let ended = send(server.address, "a", &options);
            assert_eq!(server.process.wait_for("refused")["code"], word);
            let (got, line) = ended.end();
            assert!(line.contains(&expected), "{line}");
            assert_eq!((got, line.lines().count()), (code, 1), "{line}");
        }
        // Its name is in the certificate.
        let options = ["--file", text(&input), "--tls-ca", text(&own), "--tls-name", "groupflow-gather"];
        send(server.address, "a", &options).expect_success();
        // A handshake that breaks off, and one that never begins.
        let mut half = Raw::new(server.connect());
        half.say(&[22, 3, 1, 0, 5, 99, 99, 99, 99, 99]);
        assert_eq!(server.process.wait_for("refused")["code"], "tls");
        let mut silent = Raw::new(server.connect());
        assert_eq!(server.process.wait_for("refused")["code"], "late");
        silent.closed();
    });
}

#[test]
fn a_server_without_tls_is_no_server_for_a_client_with_it() {
    let lab = GatherLab::new(&["good"]);
    let mut server = lab.serve(&[]);
    let pin = "00".repeat(32);
    while_another_sends(&lab, &mut server, |server| {
        let ended = send(server.address, "good", &["--tls-pin", &pin]);
        let event = server.process.wait_for("refused");
        assert_eq!(event["text"], "the client speaks TLS and this server does not");
        let (code, line) = ended.end();
        assert!(line.contains("does not speak TLS; start it with --tls-cert"), "{line}");
        assert_eq!((code, line.lines().count()), (1, 1));
    });
}

#[test]
fn a_token_is_nowhere_in_what_goes_over_the_network() {
    let lab = GatherLab::new(&["a"]);
    let server = serve(&lab, &[]);
    let proxy = Proxy::new(server.address);
    let said = proxy.listen();
    let path = file(&lab, "input", &[b'x'; 5000]);
    send(proxy.address, "a", &["--file", text(&path), "--tls-pin", &server.pin]).expect_success();
    let said = said.lock().expect("no panic");
    let holds = |part: &[u8]| said.windows(part.len()).any(|window| window == part);
    assert!(said.len() > 5000 && !holds(TOKEN.as_bytes()) && !holds(&[b'x'; 8]));
}

/// A connection that speaks TLS for itself.
fn dressed(server: &ServerProcess) -> Raw<StreamOwned<ClientConnection, TcpStream>> {
    let pin = Digest::parse(&server.pin).expect("a fingerprint");
    let trust = Trust::pinned(pin, server.address).expect("trust");
    Raw::new(StreamOwned::new(trust.begin().expect("a connection"), server.connect()))
}

/// docs/reference/gather.md: the most bytes that a connection costs, with the longest record that is not all
/// there, and the bytes of one whose handshake is not done.
const CONNECTION: u64 = 64 << 10;
const HANDSHAKE: u64 = 32 << 10;

#[test]
fn memory_is_bounded_with_tls_too() {
    const STRIPES: u64 = 60;
    const STRANGERS: u64 = 400;
    const MEMORY: u64 = 1 << 20;
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = serve(&lab, &["--memory", "1MiB", "--handshake-ms", "60000"]);
    while_another_sends(&lab, &mut server, |server| {
        let before = server.process.peak_memory();
        // Handshakes that say that they are long, and are: three records of one message.
        for _ in 0..STRANGERS {
            let mut raw = Raw::new(server.connect());
            let mut begun = [22, 3, 1, 0x40, 0, 1, 0, 0xff, 0].to_vec();
            begun.resize(5 + 0x4000, 0);
            let next = [&[22, 3, 1, 0x40, 0], &[0; 0x4000][..]].concat();
            let said = raw.0.write_all(&[&begun[..], &next, &next].concat());
            assert_eq!(server.process.wait_for("refused")["text"], "TLS: the handshake is too long");
            drop(said); // The server may have closed before.
        }
        // Some that stop before that.
        let strangers: Vec<Raw> = (0..STRANGERS).map(|_| Raw::new(server.connect())).collect();
        for raw in &strangers {
            (&raw.0)
                .write_all(&[&[22, 3, 1, 0x40, 0, 1, 0, 0xff, 0], &[0; 15_000][..]].concat())
                .expect("said");
        }
        let stripes: Vec<_> = (0..STRIPES)
            .map(|_| {
                let mut raw = dressed(server);
                raw.hello("a", TOKEN, 1, 0);
                raw.frame(17);
                let StreamOwned { conn, sock } = &mut raw.0;
                conn.writer().write_all(&[0; 0x4000]).expect("taken");
                let mut record = Vec::new();
                while conn.wants_write() {
                    conn.write_tls(&mut record).expect("written");
                }
                sock.write_all(&record[..record.len() - 1]).expect("said");
                raw
            })
            .collect();
        flood(server, dressed(server));
        let peak = server.process.peak_memory();
        let total = MEMORY + (STRIPES + 2) * CONNECTION + STRANGERS * HANDSHAKE;
        assert!(peak - before < total, "{} of {total}", peak - before);
        drop((stripes, strangers));
    });
}
