//! Flags of simple_switch_grpc that are accepted and have no effect.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// The flags, with the names of their values.
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

/// The ignored flags that were given.
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
