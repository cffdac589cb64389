use super::*;

#[test]
fn a_window_is_divided_in_whole_segments() {
    let shares = |window, count, segment| -> Vec<u64> {
        let setting = Setting { window: Some(window), connections: 1 };
        (0..count).filter_map(|index| setting.share(index, count, segment)).collect()
    };
    // 22,222 = 3 * 1448 and 12 more whole segments, and 502 bytes.
    assert_eq!(shares(22_222, 3, 1448), [7240, 7240, 7240]);
    assert_eq!(shares(22_222, 4, 1448), [5792, 5792, 5792, 4344]);
    // A segment is smaller than the least window: the remainder is lost.
    assert_eq!(shares(4_600, 3, 1000), [2152, 1152, 1152]);
    // Segments are unknown, or there is less than one for each connection.
    assert_eq!(shares(10_000, 4, 0), [2500; 4]);
    assert_eq!(shares(5_000, 4, 1448), [1250; 4]);
    for (window, count) in [(22_222, 15), (100_000, 7), (1152, 1), (30_000, 16)] {
        for segment in [0, 536, 1000, 1448] {
            let whole: u64 = shares(window, count, segment).iter().sum();
            assert!(whole <= window, "{whole} of {window} by {count}, {segment}");
        }
    }
    assert_eq!(Setting::default().share(0, 3, 1448), None);
}

#[test]
fn tunings_are_obeyed_as_a_whole_or_refused_with_the_field() {
    let names = ["a", "b"].map(|name| ClientName::parse(name).expect("a name"));
    let settings = [Setting { window: Some(4000), connections: 2 }, Setting::default()];
    let settings = names.into_iter().zip(settings).collect();
    let bounds = Bounds { connections: 16, buffer: Some(100_000) };
    let known = Known { settings: &settings, bounds, max_clients: 2 };
    type Expected = Result<Vec<(&'static str, Setting)>, &'static str>;
    let cases: [(&str, Expected); 25] = [
        (
            r#"{"tune":[{"client":"a","window":8000}]}"#,
            Ok(vec![("a", Setting { window: Some(8000), connections: 2 })]),
        ),
        (
            r#"{"id":7,"tune":[{"client":"a","window":null,"connections":3}]}"#,
            Ok(vec![("a", Setting { window: None, connections: 3 })]),
        ),
        (r#"{"tune":[]}"#, Ok(vec![])),
        ("[]", Err("request must be an object")),
        (r#"{"tune":7}"#, Err("request.tune must be a list of at most 65536")),
        (r#"{"tune":[7]}"#, Err("tune[0] must be an object")),
        (r#"{"tune":[{"client":"a","windows":4000}]}"#, Err("tune[0].windows is unknown")),
        ("{}", Err("request.tune must be a list of at most 65536")),
        (r#"{"tune":[],"tun":1}"#, Err("request.tun is unknown")),
        (r#"{"tune":[{"client":"x"}]}"#, Err("tune[0].client must be one of the server's list")),
        (
            r#"{"tune":[{"client":"b","connections":17}]}"#,
            Err("tune[0].connections must be a number from 1 to 16"),
        ),
        (
            r#"{"tune":[{"client":"b","window":-5}]}"#,
            Err("tune[0].window must be a number from 1152 to 1073741824"),
        ),
        (
            r#"{"tune":[{"client":"b"},{"client":"a","connections":4}]}"#,
            Err("tune[1].window must be at least 4608, 1152 for each connection"),
        ),
        (
            r#"{"tune":[{"client":"b","window":96001}]}"#,
            Err("tune makes windows of 100001 bytes together, where --buffer allows 100000"),
        ),
        (r#"{"buffer":4000}"#, Ok(vec![])),
        (r#"{"buffer":3999}"#, Err("tune makes windows of 4000 bytes together, where --buffer allows 3999")),
        (r#"{"buffer":"4000"}"#, Err("request.buffer must be a number from 1152 to 18446744073709551615")),
        (
            r#"{"max_connections":2,"tune":[{"client":"b","connections":3}]}"#,
            Err("tune[0].connections must be a number from 1 to 2"),
        ),
        (r#"{"clients":[]}"#, Ok(vec![])),
        (
            r#"{"clients":[{"client":"c","token":"c0"}],"tune":[{"client":"c","window":100000}]}"#,
            Ok(vec![("c", Setting { window: Some(100_000), connections: 1 })]),
        ),
        (
            r#"{"clients":[{"client":"c","token":"c0"}],"tune":[{"client":"a","window":8000}]}"#,
            Err("tune[0].client must be one of the server's list"),
        ),
        (
            r#"{"clients":[{"client":"a","token":"c0"}],"tune":[{"client":"a","window":100001}]}"#,
            Err("tune makes windows of 100001 bytes together, where --buffer allows 100000"),
        ),
        (
            r#"{"clients":[{"client":"c","token":"x"}]}"#,
            Err("clients[0].token must be 1 to 255 hexadecimal digits"),
        ),
        (
            r#"{"clients":[1,2,3]}"#,
            Err("request.clients must be a list of at most 2 clients, as --max-clients has it"),
        ),
        (r#"{"clients":[],"tune":0}"#, Err("request.tune must be a list of at most 65536")),
    ];
    for (line, expected) in cases {
        let (_, got) = parse(line.as_bytes(), known);
        let named = |(name, setting): (&'static str, _)| (ClientName::parse(name).expect("a name"), setting);
        let expected = expected.map(|changes| changes.into_iter().map(named).collect());
        let got = got.map(|order| order.tune).map_err(|e| e.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{line}");
    }
    let (id, got) = parse(b"{\"id\":[7],\"tune\":0}", known);
    assert!(id == serde_json::json!([7]) && got.is_err());
    let (id, got) = parse(b"{\"id\":7,", known);
    assert!(id.is_null() && got.is_err_and(|e| e.to_string().starts_with("request is no JSON")));
}
