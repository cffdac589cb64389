//! Clients come and go on the server's list while it runs.

use serde_json::json;

use super::harness::{data, send, text, GatherLab, ServerProcess, TOKEN};
use super::refusals::while_another_sends;

impl ServerProcess {
    fn list(&mut self, clients: &[&str]) {
        let list: Vec<_> = clients.iter().map(|c| json!({"client": c, "token": TOKEN})).collect();
        self.process.line(&json!({"id": 9, "clients": list}).to_string());
        let answer = self.process.wait(|event| event["id"] == 9);
        assert_eq!(answer["event"], "tuned", "{answer}");
    }
}

#[test]
fn a_client_is_added_and_one_taken_off_while_another_sends() {
    let lab = GatherLab::new(&["good", "a"]);
    let mut server = lab.serve(&["--max-clients", "3"]);
    let path = super::harness::file(&lab, "input", &data(1000));
    while_another_sends(&lab, &mut server, |server| {
        let mut gone = send(server.address, "a", &[]);
        gone.write(&data(5000));
        server.round("a", |own| own["bytes"] == 5000);
        server.list(&["good", "b"]);
        let line = "refused by the server: client a has been taken off the server's list; \
                    check --client, or put it on the server's list";
        assert_eq!(gone.end(), (4, format!("gfagent: {line}\n")));
        send(server.address, "b", &["--file", text(&path)]).expect_success();
        let (code, line) = send(server.address, "a", &["--file", text(&path)]).end();
        assert!(code == 4 && line.contains("client a is not on the server's list"), "{line}");
    });
    assert_eq!(lab.gathered("b"), data(1000));
}

#[test]
fn a_changed_token_ends_the_stream_of_who_has_the_old_one() {
    let lab = GatherLab::new(&["a"]);
    let mut server = lab.serve(&["--discard"]);
    let mut old = send(server.address, "a", &[]);
    old.write(b"x");
    server.round("a", |own| own["bytes"] == 1);
    // `printf decade | sha256sum`
    let hash = "59cd793c05f0e9e7ff8cd1700d0d641bce31d149feafa74954ee376739c034cb";
    server.process.line(&json!({"clients": [{"client": "a", "token_sha256": hash}]}).to_string());
    let ended = server.process.wait_for("stream_ended");
    assert_eq!(ended["outcome"], "removed");
    let (code, line) = old.end();
    assert!(code == 4 && line.contains("the token of client a has been changed"), "{line}");
    let mut new = send(server.address, "a", &["--token", "DECADE"]);
    new.write(b"y");
    new.expect_success();
}

#[test]
fn without_a_list_a_connection_waits_until_stdin_brings_one() {
    let lab = GatherLab::new(&[]);
    let mut server = lab.serve_without_list();
    let mut early = send(server.address, "a", &[]);
    early.write(b"early");
    // Rounds go by, in which the client's HELLO would have been refused.
    for _ in 0..4 {
        let round = server.process.wait_for("round");
        assert_eq!(round["clients"], json!([]));
    }
    server.process.line(&json!({"clients": [1]}).to_string());
    assert_eq!(server.process.wait_for("tune_refused")["field"], "clients[0]");
    server.process.line(
        &json!({"id": 9, "buffer": 20_000, "clients": [{"client": "a", "token": TOKEN}],
            "tune": [{"client": "a", "window": 20_000}]})
        .to_string(),
    );
    server.process.wait(|event| event["id"] == 9);
    server.round("a", |own| own["bytes"] == 5 && own["window"] == 20_000);
    early.expect_success();
    let refused = server.tune(json!([{"client": "a", "window": 20_001}]));
    assert_eq!(refused["text"], "tune makes windows of 20001 bytes together, where --buffer allows 20000");
    server.process.line(&json!({"id": 10, "clients": vec![json!({}); 65]}).to_string());
    let refused = server.process.wait(|event| event["id"] == 10);
    assert_eq!(
        refused["text"],
        "request.clients must be a list of at most 64 clients, as --max-clients has it"
    );
}

#[test]
fn a_list_in_a_file_needs_no_end_of_its_line() {
    let lab = GatherLab::new(&[]);
    let mut server = lab.serve_without_list();
    server.process.write(json!({"clients": [{"client": "a", "token": TOKEN}]}).to_string().as_bytes());
    server.process.end_input();
    server.process.wait_for("tuned");
    let path = super::harness::file(&lab, "input", &data(1000));
    send(server.address, "a", &["--file", text(&path)]).expect_success();
}
