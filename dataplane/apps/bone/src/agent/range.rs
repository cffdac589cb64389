//! Which bytes of a file a request is for (RFC 9110, sections 13 and 14).

use std::ops::Range;

/// What a request's headers say, where they are there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conditions<'a> {
    /// Range.
    pub range: Option<&'a str>,
    /// If-Range.
    pub if_range: Option<&'a str>,
    /// If-None-Match.
    pub if_none_match: Option<&'a str>,
    /// If-Match.
    pub if_match: Option<&'a str>,
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selected {
    /// 200: everything.
    Whole,
    /// 206: these bytes.
    Part(Range<u64>),
    /// 304: the client has it.
    NotModified,
    /// 412: the client wants what it had, which is gone.
    Failed,
    /// 416: the file has no such bytes.
    Unsatisfiable,
}

/// Of a file with this ETag (quoted, strong) and of so many bytes.
pub fn select(conditions: Conditions<'_>, etag: &str, size: u64) -> Selected {
    let Conditions { range, if_range, if_none_match, if_match } = conditions;
    if if_match.is_some_and(|wanted| !names(wanted, etag, false)) {
        return Selected::Failed;
    }
    if if_none_match.is_some_and(|known| names(known, etag, true)) {
        return Selected::NotModified;
    }
    // A date is never known to be this file's.
    let valid = if_range.map_or(true, |had| had.trim() == etag);
    range.filter(|_| valid).map_or(Selected::Whole, |range| ranged(range, size))
}

/// Whether a list of entity tags has this one. Weak ones count only where that is enough.
fn names(list: &str, etag: &str, weak: bool) -> bool {
    list.split(',').map(str::trim).any(|tag| {
        let tag = if weak { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
        tag == etag || tag == "*"
    })
}

/// Several ranges, other units and what is no range at all are ignored, as the RFC lets a server do.
fn ranged(range: &str, size: u64) -> Selected {
    let spec = range.trim().strip_prefix("bytes=").map(str::trim);
    let Some((first, last)) = spec.filter(|spec| !spec.contains(',')).and_then(|spec| spec.split_once('-'))
    else {
        return Selected::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More than any file has is as good as the most.
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
