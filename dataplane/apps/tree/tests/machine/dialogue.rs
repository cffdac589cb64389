//! Lines of hosts and of the dispatchers' service: those by which the service is tested
//! (tests/unit/tree/test_lines.py) are read, and written again as they were.

use groupflow_tree::machine::dialogue::{HostLine, ServiceLine};
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
fn a_line_of_a_later_version_is_no_error() {
    for line in [r#"{"later": 1}"#, r#"{"welcome": {}}"#, r#"{"say": "later", "cluster": "1", "joins": 1}"#] {
        assert!(matches!(serde_json::from_str(line), Ok(ServiceLine::Other(_))), "{line}");
    }
}
