//! Lines of hosts and of the dispatchers' service: those by which the service is tested
//! (tests/unit/tree/test_lines.py) are read, and written again as they were.

use groupflow_tree::machine::messages::{HostLine, ServiceLine};
use groupflow_tree::machine::TreeJoin;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

fn come_back<Line: DeserializeOwned + Serialize + std::fmt::Debug>(lines: &Value) {
    for line in lines.as_array().expect("a list") {
        let parsed: Line = serde_json::from_value(line.clone()).expect("a line");
        assert_eq!(serde_json::to_value(&parsed).expect("JSON"), *line, "{parsed:?}");
    }
}

#[test]
fn both_sides_have_the_same_lines() {
    let text = include_str!("../../../../../tests/support/tree-lines.json");
    let lines: Value = serde_json::from_str(text).expect("JSON");
    come_back::<HostLine>(&lines["host"]);
    come_back::<ServiceLine>(&lines["service"]);
}

#[test]
fn a_name_that_nobody_could_read_is_refused() {
    let text = include_str!("../../../../../tests/support/tree-lines.json");
    let lines: Value = serde_json::from_str(text).expect("JSON");
    let joins = lines["host"].as_array().expect("a list").iter().map(|line| &line["hello"]["join"]);
    let mut join = joins.clone().find(|join| join.is_object()).expect("a join").clone();
    for (name, fits) in [("h1".to_owned(), true), ("n".repeat(256), false), ("\u{1b}[2J".to_owned(), false)] {
        join["name"] = name.clone().into();
        let read: Result<TreeJoin, _> = serde_json::from_value(join.clone());
        assert_eq!(read.is_ok(), fits, "{name:?}");
    }
}

#[test]
fn a_line_of_a_later_version_is_no_error() {
    for line in [r#"{"later": 1}"#, r#"{"say": "later", "cluster": "1", "joins": 1}"#] {
        assert!(matches!(serde_json::from_str(line), Ok(ServiceLine::Other(_))), "{line}");
    }
    let welcome = serde_json::from_str(r#"{"welcome": {}}"#);
    assert!(matches!(welcome, Ok(ServiceLine::BadWelcome { .. })), "{welcome:?}");
}
