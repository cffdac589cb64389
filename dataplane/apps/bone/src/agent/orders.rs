//! A hub's answers over HTTP: the list of its files, and orders to send one.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::ORIGIN;
use hyper::{Method, Request, StatusCode};
use serde_json::{json, Value};

use super::desk::Desk;
use super::folder::{FileState, Listed};
use super::http::{self, HttpResponse};
use super::serve::{file_name, not_allowed};
use crate::machine::{FileName, Verdict};

pub async fn answer(desk: Arc<Desk>, request: Request<Incoming>) -> HttpResponse {
    let path = request.uri().path();
    match (request.method(), file_name(path)) {
        (&Method::GET | &Method::HEAD, _) if path == "/" => http::json(StatusCode::OK, &list(&desk)),
        // A web page open in a browser on this host must not be able to give orders.
        (&Method::POST, _) if request.headers().contains_key(ORIGIN) => {
            http::problem(StatusCode::FORBIDDEN, "orders do not come from web pages")
        }
        (&Method::GET | &Method::HEAD, Ok(name)) => show(&desk, &name, StatusCode::OK),
        (&Method::POST, Ok(name)) => order(&desk, &name),
        (&Method::GET | &Method::HEAD | &Method::POST, Err(problem)) => {
            http::problem(StatusCode::BAD_REQUEST, &problem)
        }
        _ => not_allowed("GET, HEAD, POST"),
    }
}

fn list(desk: &Desk) -> Value {
    let folder = desk.folder();
    let files: Vec<Value> = folder.files.iter().map(|(name, file)| form(name, file)).collect();
    json!({"role": "hub", "files": files})
}

fn show(desk: &Desk, name: &FileName, status: StatusCode) -> HttpResponse {
    match desk.folder().files.get(name) {
        Some(file) => http::json(status, &form(name, file)),
        None => http::problem(StatusCode::NOT_FOUND, &format!("{name}: no such file")),
    }
}

fn form(name: &FileName, file: &Listed) -> Value {
    let (state, error) = match &file.state {
        FileState::Idle => ("idle", None),
        FileState::Hashing => ("hashing", None),
        FileState::Queued => ("queued", None),
        FileState::Sending => ("sending", None),
        FileState::Sent => ("sent", None),
        FileState::Failed(why) => ("failed", Some(why.as_str())),
    };
    let digest = file.digest.map(|digest| digest.to_string());
    json!({
        "name": name.as_str(), "size": file.size(), "sha256": digest, "state": state, "done_bytes": file.done,
        "error": error,
    })
}

fn order(desk: &Desk, name: &FileName) -> HttpResponse {
    let verdict = desk.folder().want(name);
    desk.wake.wake();
    match verdict {
        // The file is not listed if it is unknown.
        Verdict::Queued | Verdict::Unknown => show(desk, name, StatusCode::ACCEPTED),
        Verdict::Busy => http::problem(StatusCode::SERVICE_UNAVAILABLE, "too many files wait; try again"),
        Verdict::Unreadable => {
            http::problem(StatusCode::INTERNAL_SERVER_ERROR, &format!("{name}: it cannot be read"))
        }
    }
}
