use super::*;
use proptest::prelude::*;

#[test]
fn requests_are_parsed_or_refused() {
    let cases = [
        (r#"{"id":1,"op":"list"}"#, Ok(Operation::List)),
        (r#"{"op":"remove_session","session":7}"#, Ok(Operation::RemoveSession(7))),
        (r#"{"op":"dance"}"#, Err("request.op must be set_session, remove_session, list, stats or watch")),
        (r#"{"op":"list","x":1}"#, Err("request.x is unknown")),
        (r#"{"op":"set_session"}"#, Err("request.session must be an object")),
        (
            r#"{"op":"remove_session","session":"7"}"#,
            Err("request.session must be a number from 1 to 4294967295"),
        ),
        ("[]", Err("request must be an object")),
    ];
    for (line, expected) in cases {
        let (_, op) = parse(line.as_bytes());
        assert_eq!(op.map_err(|r| r.text), expected.map_err(str::to_owned), "{line}");
    }
    assert!(matches!(parse(b"{").1, Err(Refusal { code: "bad_json", .. })));
}

proptest! {
    #[test]
    fn any_line_gets_an_answer(
        line in proptest::collection::vec(any::<u8>(), 0..100), text in ".{0,60}",
    ) {
        for bytes in [&line[..], text.as_bytes()] {
            let (id, op) = parse(bytes);
            if let Err(refused) = op {
                let answer = answer(&id, Err(refused));
                prop_assert_eq!(&answer["ok"], false);
            }
        }
    }
}
