//! A rim's answers to its clients: stored files, arriving files, and files that must first be asked of the
//! hub.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::{json, Value};
use tokio::sync::{watch, Semaphore};
use tokio::time::timeout;

use super::body::{self, FileBody};
use super::digest::{FileDigest, Stamp};
use super::http::{self, HttpResponse};
use super::range::{select, Conditions, Selected};
use super::shelf::{Failure, Progress, Shelf};
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
        let file = |(name, known): (&FileName, super::index::KnownFile)| {
            let digest = known.digest.to_string();
            json!({"name": name.as_str(), "size": known.size, "sha256": digest})
        };
        let files: Vec<Value> = store.files().map(file).collect();
        json!({"role": "rim", "files": files, "bytes": store.bytes(), "limit": store.limit})
    }

    async fn file(&self, wanted: Wanted) -> HttpResponse {
        let whole = |(file, digest, size)| respond(&wanted, digest, size, |range| body::stored(file, range));
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
                    body::arriving(arriving, range, progress)
                })
            }
            Ok((Progress::Failed(failure, why), _)) => http::problem(status(failure), &why),
            Ok((Progress::Stored | Progress::Asked, _)) => match self.stored(&wanted.name).await {
                Some(found) => whole(found),
                None => http::problem(StatusCode::BAD_GATEWAY, "the file did not stay; try again"),
            },
        }
    }

    /// Opens a stored file that matches its digest.
    async fn stored(&self, name: &FileName) -> Option<(File, FileDigest, u64)> {
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
fn verify(shelf: &Shelf, name: &FileName) -> Option<(File, FileDigest, u64)> {
    let opened = shelf.store().open_file(name)?;
    let stamp = opened.stamp;
    if !opened.verified {
        let found = FileDigest::read(&opened.file).ok()?;
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

fn status(failure: Failure) -> StatusCode {
    match failure {
        Failure::Unknown => StatusCode::NOT_FOUND,
        Failure::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Failure::Silent => StatusCode::GATEWAY_TIMEOUT,
        Failure::Broken => StatusCode::BAD_GATEWAY,
        Failure::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
    }
}

/// The response to a request for a file with this hash and size; `body` gives the file's bytes.
fn respond(
    wanted: &Wanted, digest: FileDigest, size: u64, body: impl FnOnce(Range<u64>) -> FileBody,
) -> HttpResponse {
    let said = |name: HeaderName| wanted.headers.get(name).and_then(|value| value.to_str().ok());
    let conditions = Conditions {
        // Range applies to GET only.
        range: said(header::RANGE).filter(|_| !wanted.head),
        if_range: said(header::IF_RANGE),
        if_none_match: said(header::IF_NONE_MATCH),
        if_match: said(header::IF_MATCH),
    };
    let etag = format!("\"{digest}\"");
    let (status, range) = match select(conditions, &etag, size) {
        Selected::Whole => (StatusCode::OK, 0..size),
        Selected::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Selected::NotModified => (StatusCode::NOT_MODIFIED, 0..0),
        Selected::Failed => (StatusCode::PRECONDITION_FAILED, 0..0),
        Selected::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, 0..0),
    };
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
