use clap::Parser;

use super::*;
use crate::machine::{NodeConfig, StartAt, TreeNode};

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
        let mut drive = Drive::new(TreeNode::new(NodeConfig::new(host), StartAt::Now)).expect("a poller");
        let mut dialogue = Dialogue::new(&args, host, false, 0, drive.poller.now).expect("a dialogue");
        dialogue.root = Some(ClusterId(1));
        dialogue.join(dialogue.root);
        dialogue.on_refusal(&mut drive, RefusalCode::Ended, "the cluster is no more").expect("not the last");
        if leaves {
            drive.node.leave(drive.nanos());
        }
        dialogue.try_again(&drive);
        assert_eq!(dialogue.joins, if leaves { 1 } else { 2 });
    }
}
