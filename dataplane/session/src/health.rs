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
mod tests {
    use super::*;
    use groupflow_base::BitRate;
    use groupflow_transport::MemberId;

    fn notice(what: NoticeKind, name: &str) -> Notice {
        Notice { what, about: MemberId(2), text: name.to_owned(), receivers: 1, rate: BitRate(0) }
    }

    #[test]
    fn a_stall_names_its_cause() {
        use NoticeKind::{AgentLost, SwitchBack, SwitchLost};
        type Case<'a> = (&'a [(NoticeKind, &'a str)], bool, Option<&'a str>);
        let cases: [Case<'_>; 5] = [
            (&[], false, None),
            (&[(SwitchLost, "s1")], false, Some("s1")),
            (&[(SwitchLost, "s1"), (SwitchBack, "s1")], false, None),
            (&[(SwitchLost, "s1"), (AgentLost, "sa2")], true, Some("s1, sa2")),
            (&[], true, Some("the controller, or the switch this host is connected to,")),
        ];
        for (notices, silent, expected) in cases {
            let mut health = Health::default();
            notices.iter().for_each(|&(what, name)| health.notice(&notice(what, name)));
            assert_eq!(health.culprit(silent).as_deref(), expected, "{notices:?}");
        }
    }

    #[test]
    fn who_comes_back_is_not_lost() {
        let mut health = Health::default();
        health.notice(&notice(NoticeKind::MemberLost, "mb1"));
        health.notice(&notice(NoticeKind::MemberLost, "mb1"));
        assert_eq!(health.lost, ["mb1"]);
        health.notice(&notice(NoticeKind::MemberJoined, "mb1"));
        assert!(health.lost.is_empty());
    }
}
