//! A rim's answers to its clients: stored files, arriving files, and files that must first be asked of the
//! hub; and the bytes of a file that a request selects (RFC 9110, sections 13 and 14).

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use groupflow_base::Digest;
use groupflow_host::files::Stamp;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::{json, Value};
use tokio::sync::{watch, Semaphore};
use tokio::time::timeout;

use super::http::FileBody;
use super::http::{self, HttpResponse};
use super::incoming::digest_of;
use super::shelf::{Progress, Shelf};
use crate::machine::FileName;

/// A rim's files, served to its clients.
#[derive(Debug)]
pub struct Pages {
    shelf: Arc<Shelf>,
    /// How long a client waits for the first byte of a file.
    patience: Duration,
    /// Only one file is hashed at a time; another request for the same file then finds it verified.
    verifying: Semaphore,
}

/// The subject of a request.
#[derive(Debug)]
struct Wanted {
    name: FileName,
    head: bool,
    headers: HeaderMap,
}

impl Pages {
    pub fn new(shelf: Arc<Shelf>, patience: Duration) -> Pages {
        Pages { shelf, patience, verifying: Semaphore::new(1) }
    }

    pub async fn answer(self: Arc<Self>, request: Request<Incoming>) -> HttpResponse {
        let head = request.method() == Method::HEAD;
        if !head && request.method() != Method::GET {
            return not_allowed("GET, HEAD");
        }
        if request.uri().path() == "/" {
            return http::json(StatusCode::OK, &self.list());
        }
        match file_name(request.uri().path()) {
            Ok(name) => self.file(Wanted { name, head, headers: request.headers().clone() }).await,
            Err(problem) => http::problem(StatusCode::BAD_REQUEST, &problem),
        }
    }

    fn list(&self) -> Value {
        let store = self.shelf.store();
        let file = |(name, known): (&FileName, super::store::KnownFile)| {
            let digest = known.digest.to_string();
            json!({"name": name.as_str(), "size": known.size, "sha256": digest})
        };
        let files: Vec<Value> = store.files().map(file).collect();
        json!({"role": "rim", "files": files, "bytes": store.bytes(), "limit": store.limit})
    }

    async fn file(&self, wanted: Wanted) -> HttpResponse {
        let whole = |(file, digest, size)| respond(&wanted, digest, size, |range| http::stored(file, range));
        if let Some(found) = self.stored(&wanted.name).await {
            return whole(found);
        }
        let Some(progress) = self.shelf.follow(&wanted.name) else {
            return http::problem(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many files are waited for; try again",
            );
        };
        match timeout(self.patience, begun(progress)).await {
            Err(_) => http::problem(StatusCode::GATEWAY_TIMEOUT, "the file has not come yet; try again"),
            Ok((Progress::Arriving(arriving), progress)) => {
                respond(&wanted, arriving.digest, arriving.size, |range| {
                    http::arriving(arriving, range, progress)
                })
            }
            Ok((Progress::Failed(status, why), _)) => http::problem(status, &why),
            Ok((Progress::Stored | Progress::Asked, _)) => match self.stored(&wanted.name).await {
                Some(found) => whole(found),
                None => http::problem(StatusCode::BAD_GATEWAY, "the file did not stay; try again"),
            },
        }
    }

    /// Opens a stored file that matches its digest.
    async fn stored(&self, name: &FileName) -> Option<(File, Digest, u64)> {
        let opened = self.shelf.store().open_file(name)?;
        if opened.verified {
            return Some((opened.file, opened.digest, opened.stamp.size));
        }
        let _one = self.verifying.acquire().await.ok()?;
        let (shelf, name) = (Arc::clone(&self.shelf), name.clone());
        let verified = tokio::task::spawn_blocking(move || verify(&shelf, &name));
        verified.await.ok().flatten()
    }
}

/// Hashes a stored file; a file that does not match its digest is removed.
fn verify(shelf: &Shelf, name: &FileName) -> Option<(File, Digest, u64)> {
    let opened = shelf.store().open_file(name)?;
    let stamp = opened.stamp;
    if !opened.verified {
        let found = digest_of(&opened.file).ok()?;
        // A write after this check makes the file unverified at its next use.
        let steady = Stamp::of_file(&opened.file).ok()? == stamp;
        if !steady || !shelf.store().judge(name, stamp, found) {
            shelf.report_damage(name.clone());
            return None;
        }
    }
    Some((opened.file, opened.digest, stamp.size))
}

/// Waits until the progress is more than "asked".
async fn begun(mut progress: watch::Receiver<Progress>) -> (Progress, watch::Receiver<Progress>) {
    loop {
        let now = progress.borrow_and_update().clone();
        if !matches!(now, Progress::Asked) || progress.changed().await.is_err() {
            return (now, progress);
        }
    }
}

/// The file that a path names; the error is the rule that the path breaks.
pub fn file_name(path: &str) -> Result<FileName, String> {
    let encoded = path.strip_prefix('/').unwrap_or(path);
    let text = percent_decode_str(encoded).decode_utf8().map_err(|_| "name: not UTF-8".to_owned())?;
    FileName::parse(&text).map_err(|problem| format!("name: {problem}"))
}

/// The response that allows only these methods.
pub fn not_allowed(methods: &'static str) -> HttpResponse {
    let mut answer = http::problem(StatusCode::METHOD_NOT_ALLOWED, &format!("use {methods}"));
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    answer
}

/// The response to a request for a file with this hash and size; `body` gives the file's bytes.
fn respond(
    wanted: &Wanted, digest: Digest, size: u64, body: impl FnOnce(Range<u64>) -> FileBody,
) -> HttpResponse {
    let header = |name: HeaderName| wanted.headers.get(name).and_then(|value| value.to_str().ok());
    let conditions = Conditions {
        // Range applies to GET only.
        range: header(header::RANGE).filter(|_| !wanted.head),
        if_range: header(header::IF_RANGE),
        if_none_match: header(header::IF_NONE_MATCH),
        if_match: header(header::IF_MATCH),
    };
    let etag = format!("\"{digest}\"");
    let (status, range) = select(conditions, &etag, size);
    let whole_or_part = status.is_success();
    let mut answer = match whole_or_part && !wanted.head && !range.is_empty() {
        true => HttpResponse::new(body(range.clone()).boxed_unsync()),
        false => http::empty(status),
    };
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    let mut set = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    set(header::ETAG, &etag);
    set(header::ACCEPT_RANGES, "bytes");
    match status {
        StatusCode::PARTIAL_CONTENT => {
            set(header::CONTENT_RANGE, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
        }
        StatusCode::RANGE_NOT_SATISFIABLE => set(header::CONTENT_RANGE, &format!("bytes */{size}")),
        _ => {}
    }
    if whole_or_part {
        let kind = mime_guess::from_path(wanted.name.as_str()).first_or_octet_stream();
        set(header::CONTENT_TYPE, kind.essence_str());
        set(header::CONTENT_LENGTH, &(range.end - range.start).to_string());
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    }
    answer
}

/// The request's conditional headers, those that are present.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conditions<'a> {
    pub range: Option<&'a str>,
    pub if_range: Option<&'a str>,
    pub if_none_match: Option<&'a str>,
    pub if_match: Option<&'a str>,
}

/// Selects from a file of `size` bytes with this ETag (quoted, strong): the status, and bytes of the file.
pub fn select(conditions: Conditions<'_>, etag: &str, size: u64) -> (StatusCode, Range<u64>) {
    let Conditions { range, if_range, if_none_match, if_match } = conditions;
    if if_match.is_some_and(|wanted| !names(wanted, etag, false)) {
        return (StatusCode::PRECONDITION_FAILED, 0..0);
    }
    if if_none_match.is_some_and(|known| names(known, etag, true)) {
        return (StatusCode::NOT_MODIFIED, 0..0);
    }
    // A date in If-Range never matches, because files have no dates here.
    let valid = if_range.map_or(true, |had| had.trim() == etag);
    range.filter(|_| valid).map_or((StatusCode::OK, 0..size), |range| ranged(range, size))
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
fn ranged(range: &str, size: u64) -> (StatusCode, Range<u64>) {
    let spec = range.trim().strip_prefix("bytes=").map(str::trim);
    let Some((first, last)) = spec.filter(|spec| !spec.contains(',')).and_then(|spec| spec.split_once('-'))
    else {
        return (StatusCode::OK, 0..size);
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
        _ => return (StatusCode::OK, 0..size),
    };
    match start < end {
        true => (StatusCode::PARTIAL_CONTENT, start..end),
        false => (StatusCode::RANGE_NOT_SATISFIABLE, 0..0),
    }
}

#[cfg(test)]
#[path = "tests/range.rs"]
mod tests;
