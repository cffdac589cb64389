//! What a sender knows of the group's health: who was lost, and how long nothing moved.

use groupflow_base::Nanos;

use crate::control::{Notice, NoticeKind};

/// No acknowledgement for this long is worth telling, or, when the cause is known, an error.
pub(crate) const STALL: Nanos = Nanos::from_secs(8);
/// Not even an answer to a poll for this long.
const SILENCE: Nanos = Nanos::from_secs(60);
/// Names that are kept.
const NAMES: usize = 256;

/// What a lack of acknowledgements means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Somebody is slow.
    Waiting(Nanos),
    /// Somebody is dead.
    Dead { quiet: Nanos, who: String },
}

/// The health of a group.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Members that were lost.
    lost: Vec<String>,
    /// Switches and agents that were lost and are not back.
    trouble: Vec<String>,
    completed: u32,
    progress: Nanos,
    heard: Nanos,
    told: Nanos,
}

impl Watch {
    pub(crate) fn new(now: Nanos) -> Watch {
        let (lost, trouble) = (Vec::new(), Vec::new());
        Watch { lost, trouble, completed: 0, progress: now, heard: now, told: now }
    }

    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice.what {
            NoticeKind::MemberLost => remember(&mut self.lost, &notice.text),
            NoticeKind::MemberJoined => self.lost.retain(|name| *name != notice.text),
            NoticeKind::MemberComplete => self.completed += 1,
            NoticeKind::SwitchLost | NoticeKind::AgentLost => remember(&mut self.trouble, &notice.text),
            NoticeKind::SwitchBack | NoticeKind::AgentBack => {
                self.trouble.retain(|name| *name != notice.text);
            }
            NoticeKind::MemberLeft | NoticeKind::SessionDeleted => {}
        }
    }

    /// An acknowledgement came, new or not.
    pub(crate) fn heard(&mut self, now: Nanos) {
        self.heard = now;
    }

    /// The group's acknowledgement advanced, or waiting for one begins.
    pub(crate) fn progress(&mut self, now: Nanos) {
        self.progress = now;
        self.heard = now;
        self.told = now;
    }

    /// Whether it is time to speak of a stall, and what it means.
    pub(crate) fn stall(&mut self, now: Nanos, controller_silent: bool) -> Option<Stall> {
        if now < self.deadline() {
            return None;
        }
        self.told = now;
        let quiet = now - self.progress;
        let dead = |who: &str| Some(Stall::Dead { quiet, who: who.to_owned() });
        if !self.trouble.is_empty() {
            dead(&self.trouble.join(", "))
        } else if controller_silent {
            dead("the controller, or the switch this host is connected to,")
        } else if now - self.heard >= SILENCE {
            dead("the group")
        } else {
            Some(Stall::Waiting(quiet))
        }
    }

    /// When [`Watch::stall`] speaks next.
    pub(crate) fn deadline(&self) -> Nanos {
        self.told + STALL
    }

    pub(crate) fn lost(&self) -> Vec<String> {
        self.lost.clone()
    }

    /// Whether some receiver reported that it has everything.
    pub(crate) fn any_complete(&self) -> bool {
        self.completed > 0
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
    use crate::ids::MemberId;

    fn notice(what: NoticeKind, name: &str) -> Notice {
        Notice { what, about: MemberId(2), text: name.to_owned(), receivers: 1 }
    }

    #[test]
    fn a_stall_names_its_cause() {
        use NoticeKind::{AgentLost, SwitchBack, SwitchLost};
        type Case<'a> = (&'a [(NoticeKind, &'a str)], bool, Option<&'a str>);
        let cases: [Case<'_>; 5] = [
            (&[], false, None),
            (&[(SwitchLost, "s1")], false, Some("s1")),
            (&[(SwitchLost, "s1"), (SwitchBack, "s1")], false, None),
            (&[(SwitchLost, "s1"), (AgentLost, "sa2")], false, Some("s1, sa2")),
            (&[], true, Some("the controller, or the switch this host is connected to,")),
        ];
        for (notices, silent, expected) in cases {
            let mut watch = Watch::new(Nanos::ZERO);
            notices.iter().for_each(|&(what, name)| watch.notice(&notice(what, name)));
            assert_eq!(watch.stall(Nanos(STALL.0 - 1), silent), None);
            let named = match watch.stall(STALL, silent) {
                Some(Stall::Dead { who, .. }) => Some(who),
                _ => None,
            };
            assert_eq!(named.as_deref(), expected, "{notices:?}");
            assert_eq!(watch.stall(STALL, silent), None, "told once in {STALL}");
        }
    }

    #[test]
    fn a_group_that_answers_polls_is_alive() {
        let mut watch = Watch::new(Nanos::ZERO);
        watch.heard(Nanos::from_secs(30));
        assert_eq!(watch.stall(Nanos::from_secs(61), false), Some(Stall::Waiting(Nanos::from_secs(61))));
        let dead = Stall::Dead { quiet: Nanos::from_secs(90), who: "the group".to_owned() };
        assert_eq!(watch.stall(Nanos::from_secs(90), false), Some(dead));
    }

    #[test]
    fn who_comes_back_is_not_lost() {
        let mut watch = Watch::new(Nanos::ZERO);
        watch.notice(&notice(NoticeKind::MemberLost, "mb1"));
        watch.notice(&notice(NoticeKind::MemberLost, "mb1"));
        assert_eq!(watch.lost(), ["mb1"]);
        watch.notice(&notice(NoticeKind::MemberJoined, "mb1"));
        assert!(watch.lost().is_empty());
    }
}
