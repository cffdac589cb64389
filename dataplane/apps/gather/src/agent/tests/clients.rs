use super::*;

#[test]
fn lists_are_read_or_refused() {
    let hash = "0".repeat(64);
    let cases = [
        (r#"[{"client":"a","token":"c0"},{"client":"b","token":"c0"}]"#, Ok(2)),
        (&format!(r#"[{{"client":"a","token_sha256":"{hash}"}}]"#), Ok(1)),
        (r#"[]"#, Ok(0)),
        (
            r#"[{"client":"a","token":"c0"},{"client":"a","token":"c1"}]"#,
            Err("clients[1].client must be another one than those before"),
        ),
        (
            r#"[{"client":"a/b","token":"c0"}]"#,
            Err("clients[0].client must be a name of 1 to 64 of A-Z a-z 0-9 . _ - and not begin with ."),
        ),
        (r#"[{"client":"a","token":"x"}]"#, Err("clients[0].token must be 1 to 255 hexadecimal digits")),
        (
            r#"[{"client":"a","token_sha256":"c0"}]"#,
            Err("clients[0].token_sha256 must be 64 hexadecimal digits"),
        ),
        (r#"[{"client":"a"}]"#, Err("clients[0].token must be a text of 1 to 255 bytes")),
        (r#"[{"client":"a","token":"c0","target":"1mbit"}]"#, Err("clients[0].target is unknown")),
    ];
    for (text, expected) in cases {
        let list: Vec<Value> = serde_json::from_str(text).expect("a list");
        let got = parse(&list).map(|clients| clients.len()).map_err(|e| e.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{text}");
    }
}
