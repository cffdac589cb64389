//! Puts a switch together and runs it until a signal.

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use groupflow_base::Nanos;
use groupflow_pipeline::Program;
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::mpsc::channel;
use tokio::sync::oneshot;
use tonic::transport::server::Server;

use super::args::{default_control_socket, SwitchArgs};
use super::attachment::{Attachment, Reopening};
use super::cli::tell;
use super::connections::Connections;
use super::control::ControlSocket;
use super::datapath::{Datapath, PortInterface};
use super::error::{system, ShellError};
use super::pcapng::Capture;
use super::server::P4RuntimeService;
use super::shared::Shared;
use super::thrift;
use crate::core::{QueueRegisters, Switch};
use crate::p4rt::{PipelineConfig, Runtime};

/// The most packets and digests on their way from the data path to the P4Runtime service.
const TO_CONTROL_PLANE: usize = 4096;
/// The most calls at once on one connection; more wait at the client.
const STREAM_LIMIT: u32 = 128;
/// Time in which clients can read why their streams end.
const FAREWELL: Duration = Duration::from_millis(200);

/// Runs until SIGTERM or SIGINT.
///
/// `like_bmv2` says that P4Runtime follows BMv2 where it contradicts the specification.
pub fn run(args: &SwitchArgs, like_bmv2: bool) -> Result<(), ShellError> {
    let (mut switch, ports) = assemble(args)?;
    let mut runtime = Runtime::new(args.device_id);
    if let Some(json) = &args.program {
        load(&mut switch, &mut runtime, json, args.p4info.as_deref())?;
    }
    let names = args.interfaces_in_order().into_iter().map(|(_, name)| name).collect();
    let shared = Arc::new(Shared::new(switch, names)?);
    let runtime = runtime.since(Nanos(shared.clock.wall_offset())).like_bmv2(like_bmv2);
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let executor = executor.map_err(system("starting the executor"))?;
    let (to_control_plane, from_datapath) = channel(TO_CONTROL_PLANE);
    let datapath = Datapath::new(Arc::clone(&shared), ports, to_control_plane, args.quantum);
    executor.block_on(async {
        // Everything that can be refused comes before the data path starts.
        let control = bind_control(args)?;
        let listener = match args.grpc_server_addr.as_str() {
            "none" => None,
            address => Some(listen("grpc-server-addr", address).await?),
        };
        let mut place = place(args, control.as_ref(), listener.as_ref());
        if let Some(port) = args.thrift_port {
            let waiting = listen("thrift-port", &format!("127.0.0.1:{port}")).await?;
            let thrift = waiting.local_addr().map_err(system("listening for Thrift"))?;
            let program = args.program.as_deref().and_then(|path| path.canonicalize().ok());
            let program = program.map_or(String::new(), |path| format!(" program={}", path.display()));
            tokio::spawn(thrift::serve(waiting, place.clone() + &program));
            place.push_str(&format!(" thrift={thrift}"));
        }
        let signals = signals()?;
        let (thread, died) = start(datapath)?;
        let service = P4RuntimeService::new(Arc::clone(&shared), runtime);
        tokio::spawn(service.clone().forward(from_datapath));
        announce(&place)?;
        let result = serve(&shared, args, service, control.as_ref(), listener, signals, died).await;
        shared.stop();
        thread.join().map_err(|_| ShellError::DatapathDied)?;
        match shared.problem.get() {
            Some(problem) => result.and(Err(ShellError::Unwritten(problem.clone()))),
            None => result,
        }
    })
}

/// Listens at the control socket. Where nobody named it, a second switch with this device id, which BMv2's
/// users have, gets another name.
fn bind_control(args: &SwitchArgs) -> Result<Option<ControlSocket>, ShellError> {
    let named = args.control_socket.as_deref();
    if named == Some(Path::new("none")) {
        return Ok(None);
    }
    let taken = named.map_or_else(|| default_control_socket(args.device_id), Path::to_path_buf);
    match ControlSocket::bind(&taken) {
        Err(ShellError::ControlInUse(_)) if named.is_none() => {
            let path = taken.with_extension(format!("{}.sock", std::process::id()));
            let (taken, shown) = (taken.display(), path.display());
            tell(format_args!("warning: {taken} is another switch's; --socket {shown} reaches this one"));
            ControlSocket::bind(&path).map(Some)
        }
        bound => bound.map(Some),
    }
}

fn assemble(args: &SwitchArgs) -> Result<(Switch, Vec<PortInterface>), ShellError> {
    let interfaces = args.interfaces_in_order();
    let mut switch = Switch::new(args.config())?;
    if args.pcap.is_some() {
        switch.see_frames();
    }
    let mut names: Vec<&String> = interfaces.iter().map(|(_, name)| name).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ShellError::InterfaceTwice(pair[0].clone()));
    }
    let mut ports = Vec::new();
    for (port, name) in &interfaces {
        let capture = args.pcap.as_deref().map(|dir| Capture::create(dir, name)).transpose()?;
        let attachment = Attachment::open(name)?;
        ports.push(PortInterface { port: *port, attachment, reopening: Reopening::default(), capture });
    }
    Ok((switch, ports))
}

fn load(
    switch: &mut Switch, runtime: &mut Runtime, json: &Path, p4info: Option<&Path>,
) -> Result<(), ShellError> {
    let text = std::fs::read_to_string(json).map_err(|error| ShellError::File(json.into(), error))?;
    let Some(p4info) = p4info else {
        let program = Program::from_json(&text);
        let program = program.map_err(|e| ShellError::Program(json.into(), e.into()))?;
        // Annotations are in P4Info only.
        switch.install(switch.fresh(Arc::new(program), QueueRegisters::default()));
        return Ok(());
    };
    let info = std::fs::read(p4info).map_err(|error| ShellError::File(p4info.into(), error))?;
    let config = PipelineConfig::from_files(&text, &info).map_err(|error| {
        let path = if error.field() == "p4info" { p4info } else { json };
        ShellError::Program(path.into(), error)
    })?;
    warn_of(&config);
    runtime.install(switch, config);
    Ok(())
}

pub(super) fn warn_of(config: &PipelineConfig) {
    config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
}

async fn listen(flag: &'static str, address: &str) -> Result<TcpListener, ShellError> {
    let bad = || ShellError::Address(flag, address.into());
    let address: SocketAddr = address.to_socket_addrs().map_err(|_| bad())?.next().ok_or_else(bad)?;
    TcpListener::bind(address).await.map_err(|error| ShellError::Listen(address, error, flag))
}

/// Starts the data path's thread. The receiver resolves when the thread ends for any reason.
fn start(datapath: Datapath) -> Result<(std::thread::JoinHandle<()>, oneshot::Receiver<()>), ShellError> {
    let (alive, died) = oneshot::channel::<()>();
    let body = move || {
        datapath.run();
        drop(alive);
    };
    let thread = std::thread::Builder::new().name("datapath".into()).spawn(body);
    Ok((thread.map_err(system("starting the data path"))?, died))
}

/// The addresses of the switch, in one line for clients.
fn place(args: &SwitchArgs, control: Option<&ControlSocket>, listener: Option<&TcpListener>) -> String {
    let grpc = listener.and_then(|l| l.local_addr().ok()).map_or("none".into(), |a| a.to_string());
    let control = control.map_or("none".into(), |control| control.path().display().to_string());
    format!("device_id={} grpc={grpc} control={control}", args.device_id)
}

/// Prints on standard output that the switch is ready, for the process that started it.
fn announce(place: &str) -> Result<(), ShellError> {
    let mut out = std::io::stdout();
    match writeln!(out, "gfswitch ready {place}").and_then(|()| out.flush()) {
        // A process that reads may be gone. One that waits for a line in a file on a full disk would wait on.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(system("saying that the switch is ready")),
    }
}

/// Catches SIGTERM and SIGINT from now on.
fn signals() -> Result<[Signal; 2], ShellError> {
    let catch = |kind| signal(kind).map_err(system("catching signals"));
    Ok([catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?])
}

async fn serve(
    shared: &Arc<Shared>, args: &SwitchArgs, service: P4RuntimeService, control: Option<&ControlSocket>,
    listener: Option<TcpListener>, [mut terminate, mut interrupt]: [Signal; 2], died: oneshot::Receiver<()>,
) -> Result<(), ShellError> {
    let (stop_server, server_stopped) = oneshot::channel::<()>();
    let grpc = serve_grpc(service.clone(), listener, async {
        let _ = server_stopped.await;
    });
    tokio::pin!(grpc);
    let controlled = async {
        match control {
            Some(control) => control.serve(Arc::clone(shared), args.device_id).await,
            None => std::future::pending().await,
        }
    };
    let result = tokio::select! {
        result = &mut grpc => return result,
        () = controlled => Ok(()),
        _ = died => Err(ShellError::DatapathDied),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    service.streams().close_all(&tonic::Status::unavailable("gfswitch stops"));
    drop(stop_server);
    // Clients that keep their connections open do not keep the switch.
    let _ = tokio::time::timeout(FAREWELL, grpc).await;
    result
}

async fn serve_grpc(
    service: P4RuntimeService, listener: Option<TcpListener>, stopped: impl Future<Output = ()>,
) -> Result<(), ShellError> {
    let Some(listener) = listener else {
        stopped.await;
        return Ok(());
    };
    let server = Server::builder()
        // A client whose machine vanished must not stay primary for ever.
        .http2_keepalive_interval(Some(Duration::from_secs(10)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
        .max_concurrent_streams(STREAM_LIMIT)
        .add_service(service.into_server());
    Ok(server.serve_with_incoming_shutdown(Connections::new(listener), stopped).await?)
}
