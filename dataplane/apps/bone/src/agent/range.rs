//! The bytes of a file that a request selects (RFC 9110, sections 13 and 14).

use std::ops::Range;

/// The request's conditional headers, those that are present.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conditions<'a> {
    pub range: Option<&'a str>,
    pub if_range: Option<&'a str>,
    pub if_none_match: Option<&'a str>,
    pub if_match: Option<&'a str>,
}

/// The response that a request selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selected {
    /// 200: the whole file.
    Whole,
    /// 206: these bytes.
    Part(Range<u64>),
    /// 304: the client has the file already.
    NotModified,
    /// 412: the client wants an earlier version, which is gone.
    Failed,
    /// 416: the file does not have the bytes asked for.
    Unsatisfiable,
}

/// Selects from a file of `size` bytes with this ETag (quoted, strong).
pub fn select(conditions: Conditions<'_>, etag: &str, size: u64) -> Selected {
    let Conditions { range, if_range, if_none_match, if_match } = conditions;
    if if_match.is_some_and(|wanted| !names(wanted, etag, false)) {
        return Selected::Failed;
    }
    if if_none_match.is_some_and(|known| names(known, etag, true)) {
        return Selected::NotModified;
    }
    // A date in If-Range never matches, because files have no dates here.
    let valid = if_range.map_or(true, |had| had.trim() == etag);
    range.filter(|_| valid).map_or(Selected::Whole, |range| ranged(range, size))
}

/// Whether a list of entity tags contains this tag. Weak tags count only if `weak` is set.
fn names(list: &str, etag: &str, weak: bool) -> bool {
    list.split(',').map(str::trim).any(|tag| {
        let tag = if weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
        tag == etag || tag == "*"
    })
}

/// The bytes of one range. A Range header with several ranges, other units or bad syntax is ignored, as the
/// RFC lets a server do.
fn ranged(range: &str, size: u64) -> Selected {
    let spec = range.trim().strip_prefix("bytes=").map(str::trim);
    let Some((first, last)) = spec.filter(|spec| !spec.contains(',')).and_then(|spec| spec.split_once('-'))
    else {
        return Selected::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number too large for u64 is past the end of any file.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let (start, end) = match (number(first.trim()), number(last.trim())) {
        (Some(start), Some(last)) if start <= last => (start, last.saturating_add(1).min(size)),
        (Some(start), None) if last.trim().is_empty() => (start, size),
        (None, Some(count)) if first.trim().is_empty() => (size.saturating_sub(count), size),
        _ => return Selected::Whole,
    };
    if start >= end {
        return Selected::Unsatisfiable;
    }
    Selected::Part(start..end)
}

#[cfg(test)]
mod tests {
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
}
