use super::*;

const ETAG: &str = "\"c0ffee\"";

#[test]
fn ranges() {
    let whole = || (StatusCode::OK, 0..100);
    let part = |range| (StatusCode::PARTIAL_CONTENT, range);
    let unsatisfiable = || (StatusCode::RANGE_NOT_SATISFIABLE, 0..0);
    for (range, expected) in [
        ("bytes=0-0", part(0..1)),
        ("bytes=10-19", part(10..20)),
        ("bytes=90-", part(90..100)),
        ("bytes=90-1000", part(90..100)),
        ("bytes=0-99999999999999999999999", part(0..100)),
        ("bytes=-1", part(99..100)),
        ("bytes=-1000", part(0..100)),
        ("bytes=100-", unsatisfiable()),
        ("bytes=100-100", unsatisfiable()),
        ("bytes=-0", unsatisfiable()),
        ("bytes=20-10", whole()),
        ("bytes=0-1,5-6", whole()),
        ("bytes=", whole()),
        ("bytes=-", whole()),
        ("bytes=+1-2", whole()),
        ("bytes=a-b", whole()),
        ("lines=1-2", whole()),
        ("", whole()),
    ] {
        let conditions = Conditions { range: Some(range), ..Conditions::default() };
        assert_eq!(select(conditions, ETAG, 100), expected, "{range}");
    }
    let all = Conditions { range: Some("bytes=0-"), ..Conditions::default() };
    assert_eq!(select(all, ETAG, 0), unsatisfiable(), "an empty file has no bytes");
}

#[test]
fn conditions() {
    let whole = || (StatusCode::OK, 0..100);
    let part = |range| (StatusCode::PARTIAL_CONTENT, range);
    let failed = || (StatusCode::PRECONDITION_FAILED, 0..0);
    let not_modified = || (StatusCode::NOT_MODIFIED, 0..0);
    let none_match = |value| Conditions { if_none_match: Some(value), ..Conditions::default() };
    let matching = |value| Conditions { if_match: Some(value), ..Conditions::default() };
    let if_range =
        |value| Conditions { range: Some("bytes=1-2"), if_range: Some(value), ..Conditions::default() };
    for (conditions, expected) in [
        (none_match(ETAG), not_modified()),
        (none_match("\"other\", W/\"c0ffee\""), not_modified()),
        (none_match("*"), not_modified()),
        (none_match("\"other\""), whole()),
        (none_match("c0ffee"), whole()),
        (matching(ETAG), whole()),
        (matching("*"), whole()),
        (matching("W/\"c0ffee\""), failed()),
        (matching("\"other\""), failed()),
        (if_range(ETAG), part(1..3)),
        (if_range("\"other\""), whole()),
        (if_range("W/\"c0ffee\""), whole()),
        (if_range("Sun, 06 Nov 1994 08:49:37 GMT"), whole()),
    ] {
        assert_eq!(select(conditions, ETAG, 100), expected, "{conditions:?}");
    }
}
