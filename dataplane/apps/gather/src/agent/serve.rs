//! `gfagent gather-serve` and `gather-send`: what each opens before its loop runs.

use std::collections::BTreeMap;
use std::time::Duration;

use groupflow_base::StreamId;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::files::Input;
use groupflow_host::poller::Poller;
use groupflow_host::process::{raise_descriptors, system};
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::subcommand::Subcommand;
use groupflow_host::tcp::{self, TcpOptions};
use groupflow_host::tls::Identity;
use serde_json::json;

use super::args::{GatherSendArgs, GatherServeArgs};
use super::client::Client;
use super::flow::StreamFolder;
use super::lines::EventWriter;
use super::server::{Server, ServerOptions};
use super::{clients, tune};

/// The most clients without `--max-clients` and without a list.
const CLIENTS: usize = 64;

impl Subcommand for GatherServeArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "gather-serve", &self.listen.to_string(), None)
    }

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        serve(self, reporter)
    }
}

/// Runs the server until a signal ends it; returns the exit code. Errors before it is ready go to `reporter`.
pub fn serve(args: &GatherServeArgs, _: &mut Reporter) -> Result<u8, AgentError> {
    raise_descriptors();
    let poller = Poller::with_signals().map_err(|e| system(&e))?;
    let clients = args.clients.as_deref().map(clients::read).transpose()?;
    let listed = clients.as_ref().map_or(0, BTreeMap::len);
    let max_clients = max_clients(args, listed)?;
    let identity = args.secure.identity()?;
    let folder = match &args.out {
        None => StreamFolder::Discard,
        Some(path) => {
            std::fs::create_dir_all(path).map_err(|e| {
                let cause = format!("cannot make {}: {}", path.display(), plain(&e));
                AgentError::new("output", cause, "choose another --out")
            })?;
            StreamFolder::At(path.clone())
        }
    };
    let room = args.memory / max_clients as u64;
    if room < 4096 {
        let cause = format!("--memory gives each of {max_clients} clients {room} bytes");
        return Err(AgentError::usage(cause, "give it 4096 bytes a client or more"));
    }
    let listener = tcp::listen(args.listen, &TcpOptions::default()).map_err(|e| {
        let cause = format!("cannot listen at {}: {}", args.listen, plain(&e));
        AgentError::new("listen", cause, "choose another --listen, or stop the program that has it")
    })?;
    if let Some(bytes) = args.mss {
        // Accepted connections inherit the segment size, and TCP tells it to clients when they connect.
        socket2::SockRef::from(&listener).set_mss(bytes.into()).map_err(|e| system(&e))?;
    }
    if let Some(bytes) = args.buffer {
        tune::clamp(&listener, bytes).map_err(|e| system(&e))?;
    }
    let address = listener.local_addr().map_err(|e| system(&e))?;
    let mut events = EventWriter::new(args.json, "gather-serve", &address.to_string());
    let ready = json!({
        "addr": address.ip().to_string(), "port": address.port(), "clients": listed,
        "tls_pin": identity.as_ref().map(|identity| identity.fingerprint.to_string()),
    });
    let known_by = match &identity {
        Some(Identity { fingerprint, .. }) => format!("known by --tls-pin {fingerprint}"),
        None => "not encrypted".to_owned(),
    };
    let human = format!("gathering at {address} from {listed} clients, {known_by}");
    events.event("ready", ready, Some(human));
    let options = ServerOptions {
        round: Duration::from_millis(args.round_ms),
        room,
        max_clients,
        handshake: Duration::from_millis(args.handshake_ms),
        max_pending: args.max_pending as usize,
        silence: Duration::from_secs(args.silence),
        bounds: tune::Bounds { connections: args.max_connections, buffer: args.buffer },
        tls: identity.map(|identity| identity.config),
    };
    let server = Server::new(listener, poller, clients, folder, options, events);
    server.and_then(|mut server| server.run()).map_err(|e| system(&e))?;
    Ok(0)
}

/// The number of clients that share the memory.
fn max_clients(args: &GatherServeArgs, listed: usize) -> Result<usize, AgentError> {
    match args.max_clients {
        None if listed > 0 => Ok(listed),
        None => Ok(CLIENTS),
        Some(most) if (most as usize) < listed => {
            let cause = format!("--max-clients {most} is too few for the {listed} clients of the list");
            Err(AgentError::usage(cause, "raise it, or shorten the list"))
        }
        Some(most) => Ok(most as usize),
    }
}

impl Subcommand for GatherSendArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "gather-send", self.client.as_str(), None)
    }

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        send(self, reporter)
    }
}

/// Sends the whole input; returns the exit code.
pub fn send(args: &GatherSendArgs, reporter: &mut Reporter) -> Result<u8, AgentError> {
    raise_descriptors();
    let poller = Poller::with_signals().map_err(|e| system(&e))?;
    let input = Input::open(args.file.as_deref())?;
    let stream = StreamId(rand::random());
    let trust = args.secure.trust(args.to)?;
    let mut client = Client::new(args, trust, stream, input, poller).map_err(|e| system(&e))?;
    let seconds = client.run(reporter)?;
    let bytes = client.delivered();
    let fields = json!({"stream": stream.to_string(), "bytes": bytes, "seconds": seconds});
    let human = format!("{bytes} bytes delivered in {seconds:.1} s");
    reporter.event("complete", Weight::Lasting, fields, Some(human));
    Ok(0)
}
