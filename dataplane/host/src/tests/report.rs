use super::*;

#[test]
fn a_field_of_an_event_replaces_one_of_the_agent() {
    let reporter = Reporter::new(true, false, "split", "agent", None);
    let line = reporter.line("branch_lost", json!({"event": "branch_lost", "name": "b"}), None);
    let line = String::from_utf8_lossy(&line);
    assert_eq!((line.matches("\"name\"").count(), line.matches("\"event\"").count()), (1, 1), "{line}");
    assert!(line.contains("\"name\":\"b\""), "{line}");
}
