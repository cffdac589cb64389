use groupflow_host::secure::SecureSend;

use super::*;
use crate::machine::{NodeConfig, StartAt, TreeNode};

/// It would be a member that never answers.
#[test]
fn a_refused_host_that_begins_to_leave_does_not_join_again() {
    for leaves in [false, true] {
        let (to, host) = (SocketAddrV4::new([127, 0, 0, 1].into(), 9), HostId(1));
        let args = TreeArgs::new(to, "c0ffee", SecureSend::plain()).expect("options");
        let mut drive = Drive::new(TreeNode::new(NodeConfig::new(host), StartAt::Now)).expect("a poller");
        let mut dialogue = Dialogue::new(&args, host, false, 0, drive.now).expect("a dialogue");
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
