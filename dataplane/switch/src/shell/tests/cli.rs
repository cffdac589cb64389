use groupflow_base::Nanos;
use groupflow_pipeline::Port;

use super::*;

fn parse(line: &str) -> Result<SwitchArgs, clap::Error> {
    let words = line.split_whitespace().map(String::from);
    Cli::try_parse_from(arguments(words)).map(|cli| cli.switch)
}

#[test]
fn the_flags_of_simple_switch_grpc_are_taken() {
    let line = "gfswitch -i 1@s1-eth1 -i 2@s1-eth2 --pcap --thrift-port 9090 --nanolog ipc:///x \
                    --device-id 3 --no-p4 --log-console -L debug --use-files 5 --debugger --disable-colors \
                    -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255 --drop-port 500 --priority-queues 8";
    let args = parse(line).expect("valid");
    assert_eq!(args.interface, [(Port(1), "s1-eth1".into()), (Port(2), "s1-eth2".into())]);
    assert_eq!((args.device_id, args.cpu_port, args.drop_port, args.priority_queues), (3, 255, 500, 8));
    assert_eq!(args.grpc_server_addr, "0.0.0.0:50051");
    let own = parse("gfswitch --no-p4").expect("valid").grpc_server_addr;
    assert_eq!(own, "127.0.0.1:9559", "P4Runtime asks nobody who they are");
    assert_eq!(args.pcap, Some(".".into()));
    assert_eq!(args.ignored.0, ["debugger", "disable-colors", "nanolog", "use-files"]);
    assert_eq!(args.thrift_port, Some(9090));
    assert!(instead("notifications-addr").contains("P4Runtime"), "the way to go on is named");
}

#[test]
fn the_name_of_bmv2s_program_means_bmv2s_ways() {
    assert!(is_bmv2(Some("/usr/bin/simple_switch_grpc".into())));
    assert!(!is_bmv2(Some("/usr/bin/gfswitch".into())));
}

#[test]
fn links_and_times_are_checked_at_once() {
    let args =
        parse("gfswitch --link 1:rate=100mbit,delay=10ms --link 1:loss=1% --quantum 1ms").expect("valid");
    let queues = parse("gfswitch --queue all/3:level=2 --queue 1/7:rate=10pps").expect("valid").queue;
    assert_eq!((queues[0].0.port, queues[1].0.port, queues[1].0.queue), (None, Some(Port(1)), 7));
    assert_eq!(args.link.len(), 2);
    assert_eq!(args.quantum, Nanos::from_millis(1));
    for line in [
        "--link 1:rate=x",
        "--queue 1:rate=1pps",
        "-i s1-eth1",
        "-i 1@",
        "--quantum 5",
        "--no-p4 a.json",
        "--bogus",
        "--grpc-server-ssl",
        "--p4info x",
    ] {
        assert!(parse(&format!("gfswitch {line}")).is_err(), "{line}");
    }
}

#[test]
fn the_documented_commands_are_taken() {
    let page = include_str!("../../../../../docs/reference/traffic-manager.md");
    let commands = page.lines().filter(|line| line.starts_with("gfswitch "));
    let mut count = 0;
    for line in commands {
        let line = line.split(['#']).next().unwrap_or(line).replace(" ...", "");
        let cli = Cli::try_parse_from(line.split_whitespace());
        assert!(cli.is_ok(), "{line}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn commands_are_for_a_running_switch() {
    let words = ["gfswitch", "link", "--device-id", "2", "3", "rate=10mbit,down"].map(String::from);
    let cli = Cli::try_parse_from(words).expect("valid");
    match cli.command {
        Some(Command::Link { target, port: 3, spec }) => {
            assert_eq!(target.path(), PathBuf::from("/tmp/gfswitch-2.sock"));
            assert_eq!(spec, "rate=10mbit,down");
        }
        other => panic!("{other:?}"),
    }
}
