//! Flags of simple_switch_grpc that are accepted and have no effect.

use clap::Args;

/// The flags, with their values.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted for simple_switch_grpc's sake, without effect")]
pub struct Ignored {
    #[arg(long, value_name = "PORT", hide_short_help = true)]
    thrift_port: Option<String>,
    #[arg(long, value_name = "ADDR", hide_short_help = true)]
    nanolog: Option<String>,
    #[arg(long, num_args = 0..=1, default_missing_value = "", value_name = "ADDR", hide_short_help = true)]
    debugger: Option<String>,
    #[arg(long, value_name = "ADDR", hide_short_help = true)]
    notifications_addr: Option<String>,
    #[arg(long, value_name = "SECONDS", hide_short_help = true)]
    use_files: Option<String>,
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    restore_state: Option<String>,
    #[arg(long, value_name = "ADDR", hide_short_help = true)]
    packet_in: Option<String>,
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    dump_packet_data: Option<String>,
    #[arg(long, value_name = "COUNT", hide_short_help = true)]
    max_port_count: Option<String>,
    #[arg(long, hide_short_help = true)]
    log_flush: bool,
    #[arg(long, hide_short_help = true)]
    enable_swap: bool,
    #[arg(long, hide_short_help = true)]
    disable_swap: bool,
}

impl Ignored {
    /// The names of the flags that were given.
    pub fn given(&self) -> Vec<&'static str> {
        let flags = [
            ("--thrift-port", self.thrift_port.is_some()),
            ("--nanolog", self.nanolog.is_some()),
            ("--debugger", self.debugger.is_some()),
            ("--notifications-addr", self.notifications_addr.is_some()),
            ("--use-files", self.use_files.is_some()),
            ("--restore-state", self.restore_state.is_some()),
            ("--packet-in", self.packet_in.is_some()),
            ("--dump-packet-data", self.dump_packet_data.is_some()),
            ("--max-port-count", self.max_port_count.is_some()),
            ("--log-flush", self.log_flush),
            ("--enable-swap", self.enable_swap),
            ("--disable-swap", self.disable_swap),
        ];
        flags.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}
