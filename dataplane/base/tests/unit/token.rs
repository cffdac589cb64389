use groupflow_base::Token;

#[test]
fn tokens_are_compared_as_a_whole_and_never_shown() {
    let token = |text| Token::parse(text).expect("a token");
    assert_eq!(token("C0ffee"), token("c0ffee"));
    assert_ne!(token("c0ffee"), token("c0ffe"));
    assert_ne!(token("c0ffee"), token("c0ffef"));
    assert!(Token::parse("").is_none() && Token::parse("xyz").is_none());
    assert_eq!(format!("{:?}", token("c0ffee")), "Token(…)");
}
