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
#[path = "tests/range.rs"]
mod tests;
