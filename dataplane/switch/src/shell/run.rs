//! Puts a switch together and runs it until a signal.

use std::future::Future;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use groupflow_base::Nanos;
use groupflow_pipeline::{Port, Program};
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::mpsc::channel;
use tokio::sync::oneshot;
use tonic::transport::server::Server;

use super::connections::Connections;
use super::control::ControlSocket;
use super::datapath::{Datapath, PortInterface};
use super::error::{system, ShellError};
use super::lateness::LatenessLimits;
use super::pcapng::Capture;
use super::rx::FrameReceiver;
use super::server::P4RuntimeService;
use super::shared::Shared;
use super::thrift;
use super::tx::Transmitter;
use crate::core::{QueueRegisters, Switch, SwitchConfig};
use crate::p4rt::{PipelineConfig, Runtime};

/// The most packets and digests on their way from the data path to the P4Runtime service.
const TO_CONTROL_PLANE: usize = 4096;
/// The most calls at once on one connection; more wait at the client.
const STREAM_LIMIT: u32 = 128;
/// Time in which clients can read why their streams end.
const FAREWELL: Duration = Duration::from_millis(200);

/// The description of a switch to start.
#[derive(Debug, Clone)]
pub struct SwitchOptions {
    /// Ports and their interfaces.
    pub interfaces: Vec<(Port, String)>,
    /// The make-up of the switch except for its ports, which come from the interfaces.
    pub switch: SwitchConfig,
    /// P4Runtime's device id.
    pub device_id: u64,
    /// Whether P4Runtime follows BMv2 where it contradicts the specification.
    pub like_bmv2: bool,
    /// The program to start with: p4c's JSON.
    pub program: Option<PathBuf>,
    /// The program's P4Info. Without P4Info, a controller must set the pipeline before any other call.
    pub p4info: Option<PathBuf>,
    /// The address at which P4Runtime is offered.
    pub grpc: Option<String>,
    /// The port for those who wait for Thrift.
    pub thrift_port: Option<u16>,
    /// The path of the control socket.
    pub control: Option<PathBuf>,
    /// Whether the user named the control socket.
    pub control_is_named: bool,
    /// The quantum: the least time between two movements of frames.
    pub quantum: Nanos,
    /// When the switch counts as bound by the CPU.
    pub limits: LatenessLimits,
    /// The folder of captures.
    pub pcap: Option<PathBuf>,
}

/// Runs until SIGTERM or SIGINT.
pub fn run(mut options: SwitchOptions) -> Result<(), ShellError> {
    let (mut switch, ports) = assemble(&options)?;
    let mut runtime = Runtime::new(options.device_id);
    if let Some(json) = &options.program {
        load(&mut switch, &mut runtime, json, options.p4info.as_deref())?;
    }
    let names = options.interfaces_in_order().into_iter().map(|(_, name)| name).collect();
    let shared = Arc::new(Shared::new(switch, names, options.limits)?);
    let runtime = runtime.since(Nanos(shared.clock.wall_offset())).like_bmv2(options.like_bmv2);
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("starting the executor"))?;
    let (to_control_plane, from_datapath) = channel(TO_CONTROL_PLANE);
    let datapath = Datapath {
        shared: Arc::clone(&shared),
        ports,
        control_plane: to_control_plane,
        quantum: options.quantum,
    };
    executor.block_on(async {
        // Everything that can be refused comes before the data path starts.
        let control = options.bind_control()?;
        let listener = match &options.grpc {
            Some(address) => Some(listen("grpc-server-addr", address).await?),
            None => None,
        };
        let mut place = place(&options, listener.as_ref());
        if let Some(port) = options.thrift_port {
            let waiting = listen("thrift-port", &format!("127.0.0.1:{port}")).await?;
            let thrift = waiting.local_addr().map_err(system("listening for Thrift"))?;
            let program = options.program.as_deref().and_then(|path| path.canonicalize().ok());
            let program = program.map_or(String::new(), |path| format!(" program={}", path.display()));
            tokio::spawn(thrift::serve(waiting, place.clone() + &program));
            place.push_str(&format!(" thrift={thrift}"));
        }
        let signals = Signals::new()?;
        let (thread, died) = start(datapath)?;
        let service = P4RuntimeService::new(Arc::clone(&shared), runtime);
        tokio::spawn(service.clone().forward(from_datapath));
        announce(&place);
        let result = serve(&shared, &options, service, control.as_ref(), listener, signals, died).await;
        shared.stop();
        thread.join().map_err(|_| ShellError::DatapathDied)?;
        result
    })
}

impl SwitchOptions {
    /// Listens at the control socket. Where nobody named it, a second switch with this device id, which
    /// BMv2's users have, gets another name.
    fn bind_control(&mut self) -> Result<Option<ControlSocket>, ShellError> {
        let bound = self.control.as_deref().map(ControlSocket::bind).transpose();
        let (Err(ShellError::ControlInUse(taken)), false) = (&bound, self.control_is_named) else {
            return bound;
        };
        let path = taken.with_extension(format!("{}.sock", std::process::id()));
        let (taken, shown) = (taken.display(), path.display());
        eprintln!("gfswitch: warning: {taken} is another switch's; --socket {shown} reaches this one");
        let bound = ControlSocket::bind(&path)?;
        self.control = Some(path);
        Ok(Some(bound))
    }

    fn interfaces_in_order(&self) -> Vec<(Port, String)> {
        let mut interfaces = self.interfaces.clone();
        interfaces.sort();
        interfaces
    }
}

fn assemble(options: &SwitchOptions) -> Result<(Switch, Vec<PortInterface>), ShellError> {
    let interfaces = options.interfaces_in_order();
    let ports = interfaces.iter().map(|(port, _)| *port).collect();
    let mut switch = Switch::new(SwitchConfig { ports, ..options.switch.clone() })?;
    if options.pcap.is_some() {
        switch.see_frames();
    }
    let mut names: Vec<&String> = interfaces.iter().map(|(_, name)| name).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ShellError::InterfaceTwice(pair[0].clone()));
    }
    let mut ports = Vec::new();
    for (port, name) in &interfaces {
        let capture = options.pcap.as_deref().map(|dir| Capture::create(dir, name)).transpose()?;
        let receiver = FrameReceiver::open(name)?;
        let transmitter = Transmitter::open(receiver.index())?;
        ports.push(PortInterface { port: *port, receiver, transmitter, capture });
    }
    Ok((switch, ports))
}

fn load(
    switch: &mut Switch, runtime: &mut Runtime, json: &Path, p4info: Option<&Path>,
) -> Result<(), ShellError> {
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |error| ShellError::File(path, error)
    };
    let text = std::fs::read_to_string(json).map_err(unreadable(json))?;
    let Some(p4info) = p4info else {
        let program = Program::from_json(&text);
        let program = program.map_err(|e| ShellError::Program(json.into(), e.into()))?;
        // Annotations are in P4Info only.
        switch.install(switch.fresh(Arc::new(program), QueueRegisters::default()));
        return Ok(());
    };
    let info = std::fs::read(p4info).map_err(unreadable(p4info))?;
    let config = PipelineConfig::from_files(&text, &info).map_err(|error| {
        let path = if error.field() == "p4info" { p4info } else { json };
        ShellError::Program(path.into(), error)
    })?;
    warn_of(&config);
    runtime.install(switch, config);
    Ok(())
}

/// Logs what P4Info and the program do not share.
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
    let (alive, died) = oneshot::channel();
    let body = move || {
        let _alive: oneshot::Sender<()> = alive;
        datapath.run();
    };
    let thread = std::thread::Builder::new().name("datapath".into()).spawn(body);
    Ok((thread.map_err(system("starting the data path"))?, died))
}

/// The addresses of the switch, in one line for clients.
fn place(options: &SwitchOptions, listener: Option<&TcpListener>) -> String {
    let grpc = listener.and_then(|l| l.local_addr().ok()).map_or("none".into(), |a| a.to_string());
    let control = options.control.as_ref().map_or("none".into(), |path| path.display().to_string());
    format!("device_id={} grpc={grpc} control={control}", options.device_id)
}

/// Prints on standard output that the switch is ready, for the process that started it.
fn announce(place: &str) {
    use std::io::Write;
    let mut out = std::io::stdout();
    // The reader may be gone.
    let _ = writeln!(out, "gfswitch ready {place}").and_then(|()| out.flush());
}

struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> Result<Signals, ShellError> {
        let catch = |kind| signal(kind).map_err(system("catching signals"));
        Ok(Signals { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn serve(
    shared: &Arc<Shared>, options: &SwitchOptions, service: P4RuntimeService,
    control: Option<&ControlSocket>, listener: Option<TcpListener>, mut signals: Signals,
    died: oneshot::Receiver<()>,
) -> Result<(), ShellError> {
    let (stop_server, server_stopped) = oneshot::channel::<()>();
    let grpc = serve_grpc(service.clone(), listener, async {
        let _ = server_stopped.await;
    });
    tokio::pin!(grpc);
    let result = tokio::select! {
        result = &mut grpc => return result,
        () = serve_control(control, shared, options.device_id) => Ok(()),
        _ = died => Err(ShellError::DatapathDied),
        () = signals.any() => Ok(()),
    };
    service.streams().close_all(&tonic::Status::unavailable("gfswitch stops"));
    drop(stop_server);
    // Clients that keep their connections open do not keep the switch.
    let _ = tokio::time::timeout(FAREWELL, grpc).await;
    result
}

async fn serve_control(control: Option<&ControlSocket>, shared: &Arc<Shared>, device_id: u64) {
    match control {
        Some(control) => control.serve(Arc::clone(shared), device_id).await,
        None => std::future::pending().await,
    }
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
