//! Streams arrive, and are measured and tuned on the way.

use serde_json::json;

use super::harness::{data, file, send, text, GatherLab};
use super::proxy::Proxy;

#[test]
fn a_file_arrives_over_one_connection_and_over_many() {
    let lab = GatherLab::new(&["one", "many", "empty"]);
    let bytes = data(20_000_001);
    let path = file(&lab, "input", &bytes);
    let mut server = lab.serve(&[]);
    server.tune(json!([{"client": "many", "connections": 7}]));
    let mut one = send(server.address, "one", &["--file", text(&path)]);
    let mut many = send(server.address, "many", &["--file", text(&path)]);
    let empty = send(server.address, "empty", &["--file", "/dev/null"]);
    assert_eq!(one.wait_for("complete")["bytes"], 20_000_001);
    assert_eq!(many.wait_for("complete")["bytes"], 20_000_001);
    one.expect_success();
    many.expect_success();
    empty.expect_success();
    assert!(lab.gathered("one") == bytes && lab.gathered("many") == bytes);
    assert_eq!(lab.gathered("empty"), b"");
}

#[test]
fn the_number_of_connections_goes_up_and_down_in_the_middle_of_a_stream() {
    let lab = GatherLab::new(&["a"]);
    let bytes = data(6 << 20);
    let mut server = lab.serve(&[]);
    let mut client = send(server.address, "a", &[]);
    let mut sent = 0;
    for (part, connections) in bytes.chunks(1 << 20).zip([1, 8, 2, 5, 1, 3]) {
        server.tune(json!([{"client": "a", "connections": connections}]));
        client.write(part);
        sent += part.len();
        let own = server.round("a", |own| own["connections"] == connections && own["bytes"] == sent);
        assert_eq!((&own["wanted"], &own["held"]), (&json!(connections), &json!(0)));
    }
    client.end_input();
    let ended = server.process.wait_for("stream_ended");
    assert_eq!((&ended["outcome"], &ended["bytes"]), (&json!("complete"), &json!(6 << 20)));
    client.expect_success();
    assert!(lab.gathered("a") == bytes);
}

#[test]
fn what_is_measured_is_told_each_round() {
    let lab = GatherLab::new(&["a", "b"]);
    let mut server = lab.serve(&["--buffer", "1MiB"]);
    let tuned = server.tune(json!([{"client": "a", "window": 60_000, "connections": 2}]));
    assert_eq!((&tuned["event"], &tuned["clients"]), (&json!("tuned"), &json!(1)));
    assert!(
        tuned["processor_seconds"].as_f64() > Some(0.0) && tuned["seconds"].as_f64() > Some(0.0),
        "{tuned}"
    );
    let refused = server.tune(json!([{"client": "b", "window": 1_000_000}]));
    let text = "tune makes windows of 1060000 bytes together, where --buffer allows 1048576";
    assert_eq!((&refused["event"], &refused["text"]), (&json!("tune_refused"), &json!(text)));
    let client = send(server.address, "a", &["--file", "/dev/zero"]);
    let own = server.round("a", |own| {
        let known = own["rtt_ms"].as_f64().is_some() && own["connections"] == 2;
        known && own["delivered_bps"].as_u64() > Some(0)
    });
    for field in ["throughput_bps", "delivered_bps", "bytes", "advertised"] {
        assert!(own[field].as_u64().is_some_and(|n| n > 0), "{field} of {own}");
    }
    for field in ["rtt_ms", "server_rtt_ms", "rto_ms"] {
        assert!(own[field].as_f64().is_some_and(|ms| ms > 0.0 && ms < 10_000.0), "{field} of {own}");
    }
    assert_eq!(own["window"], 60_000);
    // Also loopback may send a tail again that was only late.
    assert!(own["loss_ratio"].as_f64().is_some_and(|ratio| (0.0..0.1).contains(&ratio)), "{own}");
    assert!(own["held"].as_u64() <= own["room"].as_u64());
    drop(client);
}

#[test]
fn a_duration_ends_an_endless_stream() {
    let lab = GatherLab::new(&["a"]);
    let mut server = lab.serve(&["--discard"]);
    let client = send(server.address, "a", &["--file", "/dev/zero", "--duration", "1"]);
    let ended = server.process.wait_for("stream_ended");
    assert_eq!((&ended["outcome"], &ended["path"]), (&json!("complete"), &json!(null)));
    client.expect_success();
}

#[test]
fn what_a_stalled_connection_has_goes_over_the_others_in_the_end() {
    let lab = GatherLab::new(&["a"]);
    let bytes = data(2 << 20);
    let mut server = lab.serve(&[]);
    let proxy = Proxy::new(server.address);
    server.tune(json!([{"client": "a", "connections": 3}]));
    let mut client = send(proxy.address, "a", &[]);
    client.write(&bytes[..1 << 20]);
    server.round("a", |own| own["connections"] == 3 && own["bytes"] == 1 << 20);
    proxy.hold_oldest();
    client.write(&bytes[1 << 20..]);
    let own = server.round("a", |own| own["bytes"] == 2 << 20);
    assert_eq!((&own["connections"], &own["held"]), (&json!(3), &json!(0)), "none was lost");
    proxy.release();
    client.expect_success();
    assert!(lab.gathered("a") == bytes);
}
