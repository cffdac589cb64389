use super::*;
use proptest::prelude::*;
use serde_json::json;

fn session() -> Value {
    json!({
        "id": 7, "address": "10.200.0.7", "ports": [5000], "mode": "e2e",
        "replies": "leader", "leader": 2,
        "branches": [
            {"kind": "agent", "name": "sa2", "address": "10.0.0.2:26480",
             "links": {"s1>s2": 20_000_000, "s2>s3": 10_000_000}},
            {"kind": "member", "name": "mb1", "address": "10.0.0.9:9000", "member": 2, "from": "start"},
        ],
    })
}

#[test]
fn a_session_with_defaults() {
    let spec = SessionSpec::parse(&session()).expect("well formed");
    assert_eq!((spec.mode, spec.cache_bytes, spec.policy), (Mode::EndToEnd, CACHE, Policy::Strict));
    assert_eq!((spec.replies, spec.branches[1].join), (Replies::Leader(2), LateStart::Start));
    let pace = |branch: usize| spec.onward(Ipv4Addr::UNSPECIFIED, &spec.branches[branch]).pace;
    assert_eq!((pace(0), pace(1)), (Some(1_187_500), None), "95 % of the slowest link");
    assert!(spec.takes_from([10, 0, 0, 2].into()) && !spec.takes_from([10, 0, 0, 9].into()));
}

#[test]
fn what_is_wrong_is_named() {
    let member = |n: u32, port: u16| {
        let address = format!("10.0.0.9:{port}");
        json!({"kind": "member", "name": "m", "address": address, "member": n})
    };
    let cases = [
        ("id", Value::Null, "session.id must be a number from 1 to 4294967295"),
        ("id", json!(0), "session.id must be a number from 1 to 4294967295"),
        ("address", json!("x"), "session.address must be an IPv4 address"),
        ("ports", json!([]), "session.ports must be 1 to 16 different port numbers"),
        ("ports", json!([1, 1]), "session.ports must be 1 to 16 different port numbers"),
        ("mode", json!("fast"), "session.mode must be n2n or e2e"),
        ("cache_bytes", json!(-1), "session.cache_bytes must be a number from 65536 to 1099511627776"),
        ("leader", Value::Null, "session.leader must be a member's number with replies=leader"),
        ("upstream", json!("10.0.0.1:9"), "session.upstream is unknown"),
        ("colour", json!("red"), "session.colour is unknown"),
        (
            "branches",
            json!([{"kind": "agent", "name": "a", "address": "10.0.0.2:1", "links": {"s1>s2": 0}}]),
            "session.branches[0].links must be at most 256 links, each with its bit/s",
        ),
        ("branches", json!([{"kind": "x"}]), "session.branches[0].kind must be agent or member"),
        (
            "branches",
            json!([member(1, 9), member(2, 9)]),
            "session.branches[1].address must be another one than that of branch m",
        ),
        (
            "branches",
            json!([member(1, 9), member(1, 10)]),
            "session.branches[1].member must be another one than that of another branch",
        ),
    ];
    for (field, value, text) in cases {
        let mut session = session();
        session[field] = value;
        assert_eq!(SessionSpec::parse(&session).map_err(|e| e.to_string()), Err(text.to_owned()));
    }
    let text = SessionSpec::parse(&json!([])).map_err(|e| e.to_string());
    assert_eq!(text, Err("session must be an object".to_owned()));
}

proptest! {
    #[test]
    fn any_value_in_any_field_is_parsed_or_refused(
        field in proptest::sample::select(vec![
            "id", "address", "ports", "mode", "cache_bytes", "history_bytes", "allowance_bytes",
            "congestion", "send_buffer", "receive_buffer", "policy", "replies", "leader",
            "neighbours", "branches",
        ]),
        value in value(),
        text in ".{0,40}",
    ) {
        let mut session = session();
        session[field] = value;
        if let Err(error) = SessionSpec::parse(&session) {
            prop_assert!(error.to_string().starts_with("session"));
        }
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            prop_assert!(SessionSpec::parse(&value).is_err());
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        let name = proptest::sample::select(vec!["kind", "name", "address", "member", "from", "links", "x"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..6)
                .prop_map(|all| all.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
        ]
    })
}
