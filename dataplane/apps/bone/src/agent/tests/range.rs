use super::*;

const ETAG: &str = "\"c0ffee\"";

#[test]
fn ranges() {
    use Selected::{Part, Unsatisfiable, Whole};
    for (range, expected) in [
        ("bytes=0-0", Part(0..1)),
        ("bytes=10-19", Part(10..20)),
        ("bytes=90-", Part(90..100)),
        ("bytes=90-1000", Part(90..100)),
        ("bytes=0-99999999999999999999999", Part(0..100)),
        ("bytes=-1", Part(99..100)),
        ("bytes=-1000", Part(0..100)),
        ("bytes=100-", Unsatisfiable),
        ("bytes=100-100", Unsatisfiable),
        ("bytes=-0", Unsatisfiable),
        ("bytes=20-10", Whole),
        ("bytes=0-1,5-6", Whole),
        ("bytes=", Whole),
        ("bytes=-", Whole),
        ("bytes=+1-2", Whole),
        ("bytes=a-b", Whole),
        ("lines=1-2", Whole),
        ("", Whole),
    ] {
        let conditions = Conditions { range: Some(range), ..Conditions::default() };
        assert_eq!(select(conditions, ETAG, 100), expected, "{range}");
    }
    let all = Conditions { range: Some("bytes=0-"), ..Conditions::default() };
    assert_eq!(select(all, ETAG, 0), Unsatisfiable, "an empty file has no bytes");
}

#[test]
fn conditions() {
    use Selected::{Failed, NotModified, Part, Whole};
    let none_match = |value| Conditions { if_none_match: Some(value), ..Conditions::default() };
    let matching = |value| Conditions { if_match: Some(value), ..Conditions::default() };
    let if_range =
        |value| Conditions { range: Some("bytes=1-2"), if_range: Some(value), ..Conditions::default() };
    for (conditions, expected) in [
        (none_match(ETAG), NotModified),
        (none_match("\"other\", W/\"c0ffee\""), NotModified),
        (none_match("*"), NotModified),
        (none_match("\"other\""), Whole),
        (none_match("c0ffee"), Whole),
        (matching(ETAG), Whole),
        (matching("*"), Whole),
        (matching("W/\"c0ffee\""), Failed),
        (matching("\"other\""), Failed),
        (if_range(ETAG), Part(1..3)),
        (if_range("\"other\""), Whole),
        (if_range("W/\"c0ffee\""), Whole),
        (if_range("Sun, 06 Nov 1994 08:49:37 GMT"), Whole),
    ] {
        assert_eq!(select(conditions, ETAG, 100), expected, "{conditions:?}");
    }
}
