//! The command line of a switch that starts: that of simple_switch_grpc, with links and queues added.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use groupflow_base::quantity::parse_span;
use groupflow_base::Nanos;
use groupflow_pipeline::Port;

use crate::core::{
    parse_port_link, parse_port_queue, LinkChange, QueueChange, QueuePlace, SwitchConfig, DEFAULT_PRIORITIES,
    NOMINAL_PACKET,
};

#[derive(Debug, Args)]
pub struct SwitchArgs {
    /// p4c's BMv2 JSON; without it, the program is set over P4Runtime
    pub program: Option<PathBuf>,
    /// Attach an interface to a port (repeat)
    #[arg(short, long = "interface", value_name = "PORT@IFACE", value_parser = parse_interface)]
    pub interface: Vec<(Port, String)>,
    /// P4Runtime's device id
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device_id: u64,
    /// Start without a program
    #[arg(long, conflicts_with = "program")]
    pub no_p4: bool,
    /// P4Info of PROGRAM, in text or binary form: sets the pipeline at start
    #[arg(long, value_name = "FILE", requires = "program")]
    pub p4info: Option<PathBuf>,
    /// Address at which P4Runtime is offered, which asks nobody who they are; or none
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9559")]
    pub grpc_server_addr: String,
    /// Listen here, for tools that wait for it; calls are refused
    #[arg(long, value_name = "PORT")]
    pub thrift_port: Option<u16>,
    /// The controller's port
    #[arg(long, value_name = "PORT", default_value_t = 510)]
    pub cpu_port: u16,
    /// The port that drops
    #[arg(long, value_name = "PORT", default_value_t = 511)]
    pub drop_port: u16,
    /// Queues of each port; 0 is the lowest priority
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PRIORITIES)]
    pub priority_queues: u8,
    /// Set a queue: PORT/QUEUE:level=1,weight=2,rate=1000pps,packets=100,bytes=64000 (PORT may be all;
    /// repeat)
    #[arg(long, value_name = "PORT/QUEUE:SPEC", value_parser = parse_port_queue)]
    pub queue: Vec<(QueuePlace, QueueChange)>,
    /// A packet's size in bytes where packets/s are computed from a port's bit rate
    #[arg(long, value_name = "BYTES", default_value_t = NOMINAL_PACKET)]
    pub nominal_packet: u32,
    /// Emulate a link: PORT:rate=100mbit,delay=10ms,loss=0.01,queue=200[,dir=both|in|out] (repeat)
    #[arg(long, value_name = "PORT:SPEC", value_parser = parse_port_link)]
    pub link: Vec<(Port, LinkChange)>,
    /// Seed of losses and of P4's random()
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Least time between two physical movements of frames; their times stay exact
    #[arg(long, value_name = "SPAN", default_value = "250us", value_parser = parse_span)]
    pub quantum: Nanos,
    /// Socket by which `gfswitch stats`, `trace`, `link`, `queue`, `port` and `depose` reach this switch, or
    /// none
    /// [default: /tmp/gfswitch-<device id>.sock]
    #[arg(long, value_name = "PATH")]
    pub control_socket: Option<PathBuf>,
    /// Write each port's frames, with their verdicts, to DIR/INTERFACE.pcapng
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Log to standard error, at level info unless --log-level says otherwise
    #[arg(long)]
    pub log_console: bool,
    /// Log to a file
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// trace, debug, info, warn, error or off
    #[arg(short = 'L', long, value_name = "LEVEL")]
    pub log_level: Option<tracing_subscriber::filter::LevelFilter>,
    #[command(flatten)]
    pub ignored: Ignored,
}

impl SwitchArgs {
    /// Ports and their interfaces, in the order of the ports.
    pub fn interfaces_in_order(&self) -> Vec<(Port, String)> {
        let mut interfaces = self.interface.clone();
        interfaces.sort();
        interfaces
    }

    pub fn config(&self) -> SwitchConfig {
        SwitchConfig {
            ports: self.interfaces_in_order().into_iter().map(|(port, _)| port).collect(),
            links: self.link.clone(),
            cpu_port: Port(self.cpu_port),
            drop_port: Port(self.drop_port),
            priorities: self.priority_queues,
            queues: self.queue.clone(),
            nominal_packet: self.nominal_packet,
            seed: self.seed,
            ..SwitchConfig::default()
        }
    }
}

/// The control socket of the switch with a device id, where nobody names another.
pub fn default_control_socket(device_id: u64) -> PathBuf {
    format!("/tmp/gfswitch-{device_id}.sock").into()
}

fn parse_interface(text: &str) -> Result<(Port, String), String> {
    let parts = text.split_once('@').filter(|(_, name)| !name.is_empty());
    let interface = parts.and_then(|(port, name)| Some((Port(port.parse().ok()?), name.into())));
    interface.ok_or_else(|| "it is not PORT@INTERFACE, such as 1@s1-eth1".into())
}

/// Flags of simple_switch_grpc that are accepted and have no effect, with the names of their values.
const FLAGS: [(&str, Option<&str>); 19] = [
    ("debugger", None),
    ("debugger-addr", Some("ADDR")),
    ("disable-colors", None),
    ("disable-swap", None),
    ("dp-grpc-server-addr", Some("ADDR")),
    ("dump-packet-data", Some("BYTES")),
    ("enable-swap", None),
    ("log-file-max-files", Some("COUNT")),
    ("log-file-max-size", Some("BYTES")),
    ("log-flush", None),
    ("max-l1-entries", Some("COUNT")),
    ("max-l2-entries", Some("COUNT")),
    ("max-mc-groups", Some("COUNT")),
    ("max-port-count", Some("COUNT")),
    ("nanolog", Some("ADDR")),
    ("notifications-addr", Some("ADDR")),
    ("packet-in", Some("ADDR")),
    ("restore-state", Some("FILE")),
    ("use-files", Some("SECONDS")),
];

/// The way to have what a flag that has no effect stands for, where there is one.
pub fn instead(flag: &str) -> &'static str {
    match flag {
        "notifications-addr" => {
            "; no nanomsg is spoken: digests, idle timeouts and packets come over P4Runtime"
        }
        _ => "",
    }
}

#[derive(Debug)]
pub struct Ignored(pub Vec<&'static str>);

impl Args for Ignored {
    fn augment_args(command: Command) -> Command {
        let command = command.next_help_heading("Accepted for simple_switch_grpc's sake, without effect");
        FLAGS.iter().fold(command, |command, (name, value)| {
            let arg = Arg::new(*name).long(*name).hide_short_help(true);
            command.arg(match value {
                Some(value) => arg.value_name(*value),
                None => arg.action(ArgAction::SetTrue),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Ignored::augment_args(command)
    }
}

impl FromArgMatches for Ignored {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Ignored, clap::Error> {
        let given = |name: &&str| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine);
        Ok(Ignored(FLAGS.iter().map(|(name, _)| *name).filter(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Ignored::from_arg_matches(matches)?;
        Ok(())
    }
}
