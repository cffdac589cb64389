//! The control socket: statistics, changes of links and queues, one JSON object a line.

use std::io::{self, BufRead, ErrorKind, Write};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use groupflow_host::sockopt::{is_ours, PrivateListener};
use groupflow_pipeline::Port;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use super::error::ShellError;
use super::report::report;
use super::shared::Shared;
use crate::core::{LinkChange, QueueChange, Switch, TraceRequest};

/// The longest request, in bytes.
const REQUEST_LIMIT: u64 = 4096;
const OK: &str = r#"{"ok":true}"#;
/// How often traces are collected for a client.
const TRACE_INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);
/// How long a client waits for its first trace before it says that it waits.
const QUIET: std::time::Duration = std::time::Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum ControlRequest {
    Stats {
        /// Whether to start new lateness figures and high-water marks.
        #[serde(default)]
        reset: bool,
    },
    Link {
        port: u16,
        /// The change, as [`LinkChange`] reads it.
        spec: String,
    },
    Queue {
        port: u16,
        queue: u8,
        /// The change, as [`QueueChange`] reads it.
        spec: String,
    },
    /// The primaries of all roles lose them, and all election ids are forgotten.
    Depose,
    /// Traces of packets, each a line, until the client closes the connection or `next` are sent.
    Trace(TraceRequest),
    Port {
        port: u16,
        /// Bytes of a packet where packets/s are computed from the bit rate.
        nominal_packet: u32,
    },
}

/// A control socket, whose file is removed at the end.
#[derive(Debug)]
pub struct ControlSocket {
    socket: PrivateListener,
    listener: UnixListener,
}

impl ControlSocket {
    /// Listens at a path. A socket that a dead switch left there is replaced.
    pub fn bind(path: &Path) -> Result<ControlSocket, ShellError> {
        let open = || {
            let socket = PrivateListener::open(path)?;
            Ok(ControlSocket { listener: UnixListener::from_std(socket.for_runtime()?)?, socket })
        };
        open().map_err(|error: io::Error| match error.kind() {
            ErrorKind::AddrInUse => ShellError::ControlInUse(path.into()),
            _ => ShellError::Control(path.into(), error),
        })
    }

    pub fn path(&self) -> &Path {
        self.socket.path()
    }

    pub async fn serve(&self, shared: Arc<Shared>, device_id: u64) {
        loop {
            match self.listener.accept().await {
                Ok((client, _)) if !is_ours(&client) => {
                    tracing::warn!("control socket: another user's client")
                }
                Ok((client, _)) => drop(tokio::spawn(serve_client(client, Arc::clone(&shared), device_id))),
                Err(error) => {
                    tracing::warn!(%error, "control socket");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn serve_client(client: UnixStream, shared: Arc<Shared>, device_id: u64) {
    let (read, mut write) = client.into_split();
    let mut reader = BufReader::new(read);
    loop {
        let mut line = String::new();
        let read = (&mut reader).take(REQUEST_LIMIT).read_line(&mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        if let Ok(ControlRequest::Trace(request)) = serde_json::from_str(&line) {
            return trace(&shared, device_id, &request, &mut reader, &mut write).await;
        }
        if write_line(&mut write, answer(&shared, device_id, &line)).await.is_err() {
            return;
        }
    }
}

async fn write_line(write: &mut OwnedWriteHalf, line: String) -> io::Result<()> {
    write.write_all((line + "\n").as_bytes()).await
}

fn answer(shared: &Shared, device_id: u64, line: &str) -> String {
    let request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return refusal(format_args!("request: {error}")),
    };
    match request {
        ControlRequest::Stats { reset } => {
            let report = report(shared, device_id, reset);
            serde_json::to_string(&report).unwrap_or_else(refusal)
        }
        ControlRequest::Depose => {
            shared.depose.notify_one();
            OK.into()
        }
        ControlRequest::Trace(_) => refusal("a trace needs a connection of its own"),
        ControlRequest::Link { port, spec } => change(shared, |switch| {
            let change: LinkChange = spec.parse().map_err(to_text)?;
            switch.change_link(Port(port), &change).map_err(to_text)
        }),
        ControlRequest::Queue { port, queue, spec } => change(shared, |switch| {
            let change: QueueChange = spec.parse().map_err(to_text)?;
            switch.change_queue(Port(port), queue, &change).map_err(to_text)
        }),
        ControlRequest::Port { port, nominal_packet } => {
            change(shared, |switch| switch.set_nominal_packet(Port(port), nominal_packet).map_err(to_text))
        }
    }
}

async fn trace(
    shared: &Shared, device_id: u64, request: &TraceRequest, reader: &mut BufReader<OwnedReadHalf>,
    write: &mut OwnedWriteHalf,
) {
    let armed = shared.switch().trace(request);
    let filter = match armed {
        Ok(filter) => filter,
        Err(error) => return drop(write_line(write, refusal(error)).await),
    };
    let mut sent = 0;
    let mut line = String::new();
    let mut rest = reader.take(REQUEST_LIMIT);
    let closed = rest.read_line(&mut line);
    tokio::pin!(closed);
    loop {
        tokio::select! {
            _ = &mut closed => break,
            () = tokio::time::sleep(TRACE_INTERVAL) => {}
        }
        let taken = shared.switch().tracer().take(filter);
        let Some(traces) = taken else {
            if sent < request.next {
                let ended = format!("another program was loaded; {sent} of {} packets came", request.next);
                // The client may have gone.
                let _ = write_line(write, refusal(ended)).await;
            }
            break;
        };
        sent += traces.len() as u64;
        let lines = traces.iter().map(|trace| {
            let mut line = serde_json::to_value(trace).unwrap_or_default();
            line["switch"] = device_id.into();
            format!("{line}\n")
        });
        if write.write_all(lines.collect::<String>().as_bytes()).await.is_err() {
            break;
        }
    }
    shared.switch().tracer().disarm(filter);
}

fn change(shared: &Shared, change: impl FnOnce(&mut Switch) -> Result<(), String>) -> String {
    let mut switch = shared.switch();
    switch.catch_up(shared.clock.now());
    let result = change(&mut switch);
    drop(switch);
    shared.waker.wake();
    result.map_or_else(refusal, |()| OK.into())
}

fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn refusal(message: impl std::fmt::Display) -> String {
    serde_json::json!({ "error": message.to_string() }).to_string()
}

/// Sends a request to a running switch, whose answer is one line.
pub fn ask(path: &Path, request: &ControlRequest) -> Result<serde_json::Value, ShellError> {
    let failed = |error| ShellError::Control(path.into(), error);
    let socket = send(path, request)?;
    socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).map_err(failed)?;
    let mut answer = String::new();
    io::BufReader::new(socket).read_line(&mut answer).map_err(failed)?;
    parse_answer(&answer)
}

/// The control socket of the switch with a device id among those of a folder.
pub fn find_switch(folder: &Path, device_id: u64) -> Option<PathBuf> {
    let paths = std::fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "sock")).find(|path| {
        ask(path, &ControlRequest::Stats { reset: false }).is_ok_and(|stats| stats["device_id"] == device_id)
    })
}

/// Sends a request for traces to a running switch; `show` gets each, until there are no more. `wait` is
/// called when none has come for a while.
pub fn trace_switch(
    path: &Path, request: TraceRequest, mut show: impl FnMut(&serde_json::Value) -> Result<(), ShellError>,
    wait: impl FnOnce(),
) -> Result<(), ShellError> {
    let failed = |error| ShellError::Control(path.into(), error);
    let socket = send(path, &ControlRequest::Trace(request))?;
    socket.set_read_timeout(Some(QUIET)).map_err(failed)?;
    let (mut reader, mut line, mut wait) = (io::BufReader::new(socket), String::new(), Some(wait));
    loop {
        match reader.read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => show(&parse_answer(&std::mem::take(&mut line))?)?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if let Some(wait) = wait.take() {
                    wait();
                }
                reader.get_ref().set_read_timeout(None).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

fn send(path: &Path, request: &ControlRequest) -> Result<BlockingStream, ShellError> {
    let failed = |error| ShellError::Control(path.into(), error);
    let mut socket = BlockingStream::connect(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => ShellError::NoSwitch(path.into()),
        _ => failed(error),
    })?;
    let mut line = serde_json::to_string(request).map_err(|e| ShellError::Refused(e.to_string()))?;
    line.push('\n');
    socket.write_all(line.as_bytes()).map_err(failed)?;
    Ok(socket)
}

fn parse_answer(answer: &str) -> Result<serde_json::Value, ShellError> {
    let answer: serde_json::Value =
        serde_json::from_str(answer).map_err(|e| ShellError::Refused(format!("bad answer: {e}")))?;
    match answer["error"].as_str() {
        Some(error) => Err(ShellError::Refused(error.into())),
        None => Ok(answer),
    }
}
