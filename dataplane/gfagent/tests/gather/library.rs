//! A client within a program.

use std::io::Write;

use groupflow_gather::agent::args::GatherSendArgs;
use groupflow_gather::agent::stream::GatherStream;
use groupflow_host::secure::SecureSend;
use serde_json::json;

use super::harness::{data, GatherLab, TOKEN};
use super::tls::serve;

#[test]
fn a_program_writes_a_stream_and_waits_until_it_is_delivered() {
    let lab = GatherLab::new(&["a"]);
    let mut server = serve(&lab, &[]);
    server.tune(json!([{"client": "a", "connections": 3}]));
    let known = SecureSend::pinned(&server.pin).expect("a fingerprint");
    let options = GatherSendArgs::new(server.address, "a", TOKEN, known).expect("options");
    let (mut stream, bytes) = (GatherStream::start(options).expect("started"), data(3_000_000));
    stream.write_all(&bytes).expect("written");
    assert_eq!(stream.finish().expect("delivered").bytes, 3_000_000);
    assert!(lab.gathered("a") == bytes);
}

#[test]
fn a_program_is_told_why_its_stream_is_over() {
    let lab = GatherLab::new(&["a"]);
    let server = lab.serve(&[]);
    let options = GatherSendArgs::new(server.address, "a", "bad", SecureSend::plain()).expect("options");
    let error = GatherStream::start(options).expect("started").finish().expect_err("another token");
    assert_eq!(error.cause, "refused by the server: the token of client a does not match");
    let error =
        GatherSendArgs::new(server.address, "a", "no token", SecureSend::plain()).expect_err("no token");
    assert!(error.cause.contains("1 to 255 hexadecimal digits"), "{error}");
}
