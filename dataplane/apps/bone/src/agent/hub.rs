//! `gfagent bone-hub`, and its answers over HTTP: the list of its files, and orders to send one.

use std::sync::Arc;
use std::time::Duration;

use groupflow_base::Nanos;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::process::{raise_descriptors, system, Wake};
use groupflow_host::report::{Reporter, Weight, PROGRESS};
use groupflow_host::shell::Shell;
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::control::Role;
use hyper::body::Incoming;
use hyper::header::ORIGIN;
use hyper::{Method, Request, StatusCode};
use serde_json::{json, Value};

use super::args::BoneHubArgs;
use super::carrier::Carrier;
use super::folder::{self, FileState, Listed};
use super::http::{self, HttpResponse};
use super::hub_driver::HubDriver;
use super::orders::{self, Bound, Order, Orders};
use super::serve::{file_name, not_allowed};
use super::shelf::{Desk, ScanResult};
use crate::machine::{FileName, Verdict};

/// Rates in bit/s that can be ordered.
const RATE: Bound = Bound { name: "rate_bps", range: 1_000..=100_000_000_000 };

impl Subcommand for BoneHubArgs {
    fn reporter(&self) -> Reporter {
        self.bone.common.reporter("bone-hub", false, self.bone.session)
    }

    /// Sends until a signal comes; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.bone.common.name)?;
        raise_descriptors();
        let config = self.config()?;
        folder::prepare(&self.dir).map_err(|e| {
            let cause = format!("cannot use {}: {}", self.dir.display(), plain(&e));
            AgentError::new("folder", cause, "check --dir and its permissions")
        })?;
        let (listener, http) = http::listen(self.http)?;
        let socket = GroupSocket::open(&self.bone.hub_socket())?;
        // This thread handles signals, and must block them before another thread exists.
        let mut shell = Shell::new(socket)?;
        let wake = Wake::new().map_err(|e| system(&e))?;
        let (desk, scans) = Desk::new(self.dir.clone(), self.all, Duration::from_millis(self.poll_ms), wake)?;
        // Files that are put into the folder after "ready" is reported count as new.
        scans.try_iter().for_each(|scan| report_scan(reporter, scan));
        let shared = Arc::clone(&desk);
        http::serve(listener, http::STALLED, move |request| answer(Arc::clone(&shared), request))?;
        let mut orders = Orders::new(RATE, self.bone.orders);
        let address = shell.socket.address;
        let fields = json!({
            "addr": address.ip().to_string(), "port": address.port(), "http": http.to_string(),
            "interval_us": config.interval.0 / 1000,
        });
        let human = format!("sends each file put into {}; orders at http://{http}/", self.dir.display());
        reporter.event("ready", Weight::Lasting, fields, Some(human));
        let carrier = Carrier::new(shell.clock.now(), self.bone.session, Role::Sender, &self.bone.common);
        let mut sender = HubDriver::new(config, carrier, Arc::clone(&desk));
        let mut progress_at = Nanos::ZERO;
        loop {
            desk.wake.clear();
            let now = shell.clock.now();
            scans.try_iter().for_each(|scan| report_scan(reporter, scan));
            for order in orders.read() {
                obey(self, &mut sender, &desk, order, reporter);
            }
            sender.attend();
            shell.exchange(&mut sender)?;
            // Messages that have just arrived are answered at once.
            sender.attend();
            shell.exchange(&mut sender)?;
            sender.carrier.events(reporter)?;
            sender.notes.drain(..).for_each(|note| note.report(reporter));
            if progress_at <= now {
                progress_at = now + PROGRESS;
                if let Some((name, done, sent)) = sender.progress() {
                    let fields = json!({"file": name.as_str(), "bytes": done, "sent_bytes": sent});
                    reporter.event("progress", Weight::Passing, fields, None);
                }
            }
            let until = sender.progress().is_some().then_some(progress_at);
            if shell.wait(&sender, until, orders.interests(&desk.wake))?.signal {
                break;
            }
        }
        sender.carrier.leave(shell.clock.now());
        shell.farewell(&mut sender, |sender| sender.carrier.has_ended())?;
        Ok(0)
    }
}

/// Carries out an order about the rate.
fn obey(args: &BoneHubArgs, sender: &mut HubDriver, desk: &Desk, order: Order, reporter: &mut Reporter) {
    match order {
        Ok(rate) => {
            let rate = rate.unwrap_or(args.rate);
            if let Some(interval) = args.interval(rate) {
                sender.set_interval(interval);
            }
            let folder = desk.folder();
            let bytes = folder.files.values().map(|file| file.size()).sum();
            orders::report_holds(reporter, folder.files.len(), bytes, rate);
        }
        Err(error) => orders::report_refused(reporter, &error),
    }
}

fn report_scan(reporter: &mut Reporter, scan: ScanResult) {
    match scan {
        Ok(skipped) => {
            for (name, why) in skipped {
                let human = format!("{name}: is not sent: {why}");
                reporter.event("skipped", Weight::Lasting, json!({"file": name, "why": why}), Some(human));
            }
        }
        Err(error) => {
            let why = plain(&error);
            let human = format!("cannot read the folder: {why}; check --dir");
            reporter.event("trouble", Weight::Lasting, json!({"cause": why}), Some(human));
        }
    }
}

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
        FileState::Sent(without) => ("sent", without.as_deref()),
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
