//! `gfagent gather-serve` and `gather-send`: what each opens before its loop runs.

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
use super::server::Server;
use super::tune;

impl Subcommand for GatherServeArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "gather-serve", &self.listen.to_string(), None)
    }

    /// Runs the server until a signal ends it. From `ready` on no event waits for its reader.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        raise_descriptors();
        let poller = Poller::with_signals().map_err(|e| system(&e))?;
        let identity = self.secure.identity()?;
        if let Some(path) = &self.out {
            std::fs::create_dir_all(path).map_err(|e| {
                let cause = format!("cannot make {}: {}", path.display(), plain(&e));
                AgentError::new("output", cause, "choose another --out")
            })?;
        }
        let (clients, room) = (self.max_clients, self.room());
        if room < 4096 {
            let cause = format!("--memory gives each of {clients} clients {room} bytes");
            return Err(AgentError::usage(cause, "give it 4096 bytes a client or more"));
        }
        let listener = tcp::listen(self.listen, &TcpOptions::default()).map_err(|e| {
            let cause = format!("cannot listen at {}: {}", self.listen, plain(&e));
            AgentError::new("listen", cause, "choose another --listen, or stop the program that has it")
        })?;
        if let Some(bytes) = self.mss {
            // Accepted connections inherit the segment size, and TCP tells it to clients when they connect.
            socket2::SockRef::from(&listener).set_mss(bytes.into()).map_err(|e| system(&e))?;
        }
        if let Some(bytes) = self.buffer {
            tune::clamp(&listener, bytes).map_err(|e| system(&e))?;
        }
        let address = listener.local_addr().map_err(|e| system(&e))?;
        reporter.name = address.to_string();
        reporter.queue();
        let ready = json!({
            "addr": address.ip().to_string(), "port": address.port(),
            "tls_pin": identity.as_ref().map(|identity| identity.fingerprint.to_string()),
        });
        let known_by = match &identity {
            Some(Identity { fingerprint, .. }) => format!("clients know it by --tls-pin {fingerprint}"),
            None => "not encrypted".to_owned(),
        };
        let human = format!("listening at {address}, {known_by}");
        reporter.event("ready", Weight::Lasting, ready, Some(human));
        let tls = identity.map(|identity| identity.config);
        let server = Server::new(self, listener, poller, tls, reporter);
        let ran = server.and_then(|mut server| server.run());
        reporter.finish();
        ran.map(|()| 0).map_err(|e| system(&e))
    }
}

impl GatherServeArgs {
    /// Bytes that are held for each client.
    pub fn room(&self) -> u64 {
        self.memory / u64::from(self.max_clients)
    }
}

impl Subcommand for GatherSendArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "gather-send", self.client.as_str(), None)
    }

    /// Sends the whole input.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        raise_descriptors();
        let poller = Poller::with_signals().map_err(|e| system(&e))?;
        let input = Input::open(self.file.as_deref())?;
        let stream = StreamId(rand::random());
        let trust = self.secure.trust(self.to)?;
        let mut client = Client::new(self, trust, stream, input, poller).map_err(|e| system(&e))?;
        let seconds = client.run(reporter)?;
        let bytes = client.core.acknowledged();
        let fields = json!({"stream": stream.to_string(), "bytes": bytes, "seconds": seconds});
        let human = format!("complete, {bytes} bytes in {seconds:.2} s");
        reporter.event("complete", Weight::Lasting, fields, Some(human));
        Ok(0)
    }
}
