//! The health of a sender's group: members that were lost, and the node to blame when nothing is
//! acknowledged.

use crate::control::{Notice, NoticeKind};

/// Names that are kept.
const NAMES: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Members that were lost.
    pub(crate) lost: Vec<String>,
    /// Switches and agents that were lost and are not back.
    trouble: Vec<String>,
    /// Whether some receiver reported that it has everything.
    pub(crate) any_complete: bool,
}

impl Health {
    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice.what {
            NoticeKind::MemberLost => remember(&mut self.lost, &notice.text),
            NoticeKind::MemberJoined => self.lost.retain(|name| *name != notice.text),
            NoticeKind::MemberComplete => self.any_complete = true,
            NoticeKind::SwitchLost | NoticeKind::AgentLost => remember(&mut self.trouble, &notice.text),
            NoticeKind::SwitchBack | NoticeKind::AgentBack => {
                self.trouble.retain(|name| *name != notice.text);
            }
            NoticeKind::MemberLeft | NoticeKind::SessionDeleted => {}
        }
    }

    /// The nodes that are known to be dead, while no acknowledgement comes.
    pub(crate) fn culprit(&self, controller_silent: bool) -> Option<String> {
        if !self.trouble.is_empty() {
            Some(self.trouble.join(", "))
        } else if controller_silent {
            Some("the controller, or the switch this host is connected to,".to_owned())
        } else {
            None
        }
    }
}

fn remember(names: &mut Vec<String>, name: &str) {
    if names.len() < NAMES && !names.iter().any(|n| n == name) {
        names.push(name.to_owned());
    }
}

#[cfg(test)]
#[path = "tests/health.rs"]
mod tests;
