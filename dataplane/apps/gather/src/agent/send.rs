//! `gfagent gather-send`: connects a client to its input, to signals and to the reporter.

use groupflow_base::StreamId;
use groupflow_host::error::AgentError;
use groupflow_host::input::Input;
use groupflow_host::process::{raise_descriptors, signals, system};
use groupflow_host::report::{Reporter, Weight};
use serde_json::json;

use super::args::GatherSendArgs;
use super::client::Client;

/// Sends the whole input; returns the exit code.
pub fn run(args: &GatherSendArgs, reporter: &mut Reporter) -> Result<u8, AgentError> {
    raise_descriptors();
    let signals = signals().map_err(|e| system(&e.into()))?;
    let input = Input::open(args.file.as_deref())?;
    let stream = StreamId(rand::random());
    let trust = args.secure.trust(args.to)?;
    let mut client = Client::new(args, trust, stream, input, signals).map_err(|e| system(&e))?;
    let seconds = client.run(reporter)?;
    let bytes = client.delivered();
    let fields = json!({"stream": stream.to_string(), "bytes": bytes, "seconds": seconds});
    let human = format!("{bytes} bytes delivered in {seconds:.1} s");
    reporter.event("complete", Weight::Lasting, fields, Some(human));
    Ok(0)
}
