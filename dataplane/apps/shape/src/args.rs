//! Options of `shape`.

use clap::Args;
use groupflow_host::error::AgentError;
use groupflow_host::report::Reporter;
use groupflow_host::subcommand::Subcommand;

use crate::agent;
use crate::flow::Flow;

/// Options of `shape`.
#[derive(Debug, Args)]
pub struct ShapeArgs {
    /// The interface towards the switch; its root queueing discipline is replaced while this runs
    #[arg(long, value_name = "IFACE")]
    pub iface: String,
    /// A flow's number at the controller and its packets: N=DESTINATION or N=tcp|udp:DESTINATION[:PORT];
    /// may be repeated
    #[arg(long = "flow", value_name = "FLOW", required = true)]
    pub flows: Vec<Flow>,
    /// The size of the packets in which the flows are counted, the controller's --packet-bytes
    #[arg(long, value_name = "N", default_value_t = 1514)]
    #[arg(value_parser = clap::value_parser!(u32).range(64..=65535))]
    pub packet_bytes: u32,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

impl Subcommand for ShapeArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "shape", &self.iface, None)
    }

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        let twice =
            |(place, flow): (usize, &Flow)| self.flows[..place].iter().any(|f| f.number == flow.number);
        if self.flows.iter().enumerate().any(twice) {
            return Err(AgentError::usage("--flow has one number twice", "give each flow its own number"));
        }
        agent::run(self, reporter)
    }
}
