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
fn a_member_that_comes_back_is_lost_until_it_has_everything() {
    let mut health = Health::default();
    health.notice(&notice(NoticeKind::MemberLost, "mb1"));
    health.notice(&notice(NoticeKind::MemberLost, "mb1"));
    assert_eq!(health.lost, ["mb1"]);
    health.notice(&notice(NoticeKind::MemberJoined, "mb1"));
    assert!(health.lost.is_empty());
    assert_eq!(health.returned, ["mb1"]);
    health.notice(&notice(NoticeKind::MemberComplete, "mb1"));
    assert!(health.returned.is_empty() && health.any_complete);
}
