//! Connections die, servers are killed: no byte is lost or doubled.

use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::{data, file, send, text, GatherLab};
use super::proxy::Proxy;

#[test]
fn connections_that_die_cost_no_byte() {
    let lab = GatherLab::new(&["a"]);
    let bytes = data(8 << 20);
    let mut server = lab.serve(&[]);
    let proxy = Proxy::new(server.address);
    server.tune(json!([{"client": "a", "connections": 4}]));
    let mut client = send(proxy.address, "a", &[]);
    for part in bytes.chunks(1 << 19) {
        client.write(part);
        proxy.cut_oldest();
    }
    client.end_input();
    client.expect_success();
    assert!(lab.gathered("a") == bytes);
}

#[test]
fn the_last_connection_may_die_too() {
    let lab = GatherLab::new(&["a"]);
    let bytes = data(3 << 20);
    let mut server = lab.serve(&[]);
    let proxy = Proxy::new(server.address);
    let mut client = send(proxy.address, "a", &[]);
    for (index, part) in bytes.chunks(1 << 20).enumerate() {
        client.write(part);
        server.round("a", |own| own["bytes"] == (index + 1) << 20);
        proxy.cut_oldest();
    }
    client.end_input();
    client.expect_success();
    assert!(lab.gathered("a") == bytes);
}

#[test]
fn a_server_that_is_killed_goes_on_where_it_was() {
    let lab = GatherLab::new(&["a", "b"]);
    let bytes = data(30_000_000);
    let path = file(&lab, "input", &bytes);
    let mut server = lab.serve(&[]);
    let listen = server.address.to_string();
    server.tune(json!([{"client": "a", "connections": 3}]));
    // Small windows: the transfer lasts, so that it is killed in the middle.
    server.tune(json!([{"client": "a", "window": 12_000}, {"client": "b", "window": 4000}]));
    let a = send(server.address, "a", &["--file", text(&path)]);
    let b = send(server.address, "b", &["--file", text(&path)]);
    let mut restarts = 0;
    for bound in [1_000_000_u64, 6_000_000, 12_000_000] {
        server.round("a", |own| own["bytes"].as_u64() >= Some(bound));
        server.process.kill();
        restarts += 1;
        server = lab.serve_at(&listen, &[]);
        if restarts < 3 {
            server.tune(json!([{"client": "a", "window": 12_000, "connections": 3}]));
        }
        let started = server.process.wait(|e| e["event"] == "stream_started" && e["client"] == "a");
        assert!(started["from"].as_u64() >= Some(bound), "{started}");
    }
    a.expect_success();
    b.expect_success();
    assert!(lab.gathered("a") == bytes && lab.gathered("b") == bytes);
}

#[test]
fn a_server_that_was_stopped_before_the_client_knew_of_the_end_still_knows_it() {
    let lab = GatherLab::new(&["a"]);
    let server = lab.serve(&[]);
    let (address, bytes) = (server.address, data(100_000));
    let path = file(&lab, "input", &bytes);
    send(address, "a", &["--file", text(&path)]).expect_success();
    let name = std::fs::read_dir(lab.out()).expect("a folder").next().expect("a file").expect("an entry");
    let stream = name.file_name().into_string().expect("text").trim_start_matches("a.").to_owned();
    server.process.kill();
    let mut server = lab.serve_at(&address.to_string(), &[]);
    // The same stream again, by hand: HELLO, then END.
    let mut raw = super::refusals::Raw::new(server.connect());
    raw.hello("a", super::harness::TOKEN, u64::from_str_radix(&stream, 16).expect("a stream"), 100_000);
    raw.say(&[3, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0x86, 0xa0]);
    assert_eq!(raw.frame(17)[8..16], 100_000_u64.to_be_bytes(), "delivered");
    assert_eq!(raw.frame(20), 100_000_u64.to_be_bytes(), "complete");
    assert_eq!(server.process.wait_for("stream_ended")["outcome"], "complete");
    assert!(lab.gathered("a") == bytes);
}

#[test]
fn a_client_that_dies_leaves_its_part_and_may_come_again() {
    let lab = GatherLab::new(&["a"]);
    let mut server = lab.serve(&[]);
    let mut client = send(server.address, "a", &[]);
    client.write(&[7; 1000]);
    server.round("a", |own| own["bytes"] == 1000);
    client.kill();
    server.round("a", |own| own["connections"] == 0);
    let path = file(&lab, "input", b"again");
    send(server.address, "a", &["--file", text(&path)]).expect_success();
    let replaced = server.process.wait_for("stream_ended");
    assert_eq!((&replaced["outcome"], &replaced["bytes"]), (&json!("replaced"), &json!(1000)));
    assert_eq!(lab.gathered("a"), b"again");
    let part = |entry: std::fs::DirEntry| entry.path().extension().is_some_and(|e| e == "part");
    let parts = std::fs::read_dir(lab.out()).expect("a folder").flatten().filter(|_| true).map(part);
    assert_eq!(parts.filter(|&part| part).count(), 1, "what came is kept");
}

#[test]
fn a_stream_whose_client_is_gone_is_forgotten_in_the_end() {
    let lab = GatherLab::new(&["a"]);
    let mut server = lab.serve(&["--silence", "1"]);
    let mut client = send(server.address, "a", &[]);
    client.write(&[7; 1000]);
    server.round("a", |own| own["bytes"] == 1000);
    client.kill();
    let killed = Instant::now();
    assert_eq!(server.process.wait_for("stream_ended")["outcome"], "lost");
    assert!(killed.elapsed() >= Duration::from_millis(900));
}
