use clap::Parser;

use super::*;
use crate::machine::{NodeConfig, StartAt};

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    tree: TreeArgs,
}

/// It would be a member that never answers.
#[test]
fn a_refused_host_that_begins_to_leave_does_not_join_again() {
    for leaves in [false, true] {
        let line = ["", "--to", "127.0.0.1:9", "--token-file", "c0ffee", "--plain"];
        let (args, host) = (CommandLine::parse_from(line).tree, HostId(1));
        let mut node = TreeNode::new(NodeConfig::new(host), StartAt::Now);
        let now = Instant::now();
        let mut dialogue = Dialogue::new(&args, host, false, 0, now).expect("a dialogue");
        dialogue.standing.root = Some(ClusterId(1));
        dialogue.join(dialogue.standing.root);
        dialogue.on_refusal(RefusalCode::Ended, "the cluster is no more", now).expect("not the last");
        if leaves {
            node.leave(Nanos::ZERO);
        }
        dialogue.try_again(now, node.is_leaving());
        assert_eq!(dialogue.standing.joins, if leaves { 1 } else { 2 });
    }
}

const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\n\
    eth0\t0000000A\t00000000\t0001\n\
    eth0\t00000000\tFE00000A\t0003\n";
const NEIGHBOURS: &str = "IP address       HW type     Flags       HW address            Mask     Device\n\
    10.0.0.7         0x1         0x2         02:00:00:00:00:07     *        eth0\n\
    10.0.0.254       0x1         0x2         02:00:00:00:00:fe     *        eth0\n\
    10.0.0.9         0x1         0x0         00:00:00:00:00:00     *        eth0\n";

#[test]
fn the_gateway_is_known_by_its_hardware_address() {
    assert_eq!(gateway(ROUTES).as_deref(), Some("10.0.0.254"));
    assert_eq!(hardware(NEIGHBOURS, "10.0.0.254"), Some(RouterId(0x0200_0000_00fe)));
    for (address, what) in [("10.0.0.9", "not known"), ("10.0.0.8", "not there")] {
        assert_eq!(hardware(NEIGHBOURS, address), None, "{what}");
    }
    assert_eq!(gateway("Iface\tDestination\tGateway\neth0\t0000000A\t00000000\n"), None);
    assert_eq!(gateway("rubbish"), None);
}
