use std::net::SocketAddrV4;

use groupflow_base::Nanos;
use groupflow_bone::machine::message::Body;
use groupflow_bone::machine::{Asker, FileName, RimId, Verdict, MAX_ASKED};

const HUB: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 1);
const MINUTE: Nanos = Nanos::from_secs(60);

fn name(text: &str) -> FileName {
    FileName::parse(text).expect("a name")
}

fn answer(rim: u32, verdict: Verdict) -> Body {
    Body::Answer { rim: RimId(rim), name: name("a"), verdict }
}

#[test]
fn it_asks_again_until_it_gives_up() {
    let mut asker = Asker::new(RimId(1));
    let (mut now, mut asks) = (Nanos::from_secs(5), Vec::new());
    assert!(asker.ask(now, name("a")) && asker.ask(now, name("a")));
    while let Some(at) = asker.next_deadline() {
        now = now.max(at);
        if asker.poll_transmit(now, HUB).is_some() {
            asks.push(now.0 / 1_000_000_000);
        }
    }
    assert_eq!(asks, [5, 6, 8, 12, 20, 36]);
    assert_eq!(now, Nanos::from_secs(52));
    assert_eq!(asker.events().collect::<Vec<_>>(), [(name("a"), None)]);
}

#[test]
fn an_answer_is_believed_for_a_while() {
    let mut asker = Asker::new(RimId(1));
    let now = Nanos::from_secs(5);
    asker.ask(now, name("a"));
    assert!(asker.poll_transmit(now, HUB).is_some());
    asker.handle(now, &answer(2, Verdict::Unknown));
    assert_eq!(asker.next_deadline(), Some(Nanos::from_secs(6)), "another rim's");
    asker.handle(now, &answer(1, Verdict::Queued));
    assert_eq!(asker.next_deadline(), Some(now + MINUTE));
    assert!(asker.poll_transmit(now + MINUTE, HUB).is_some());
    asker.handle(now, &answer(1, Verdict::Unknown));
    assert_eq!(asker.next_deadline(), None, "it wishes for nothing more");
    let said = [Verdict::Queued, Verdict::Unknown].map(|verdict| (name("a"), Some(verdict)));
    assert_eq!(asker.events().collect::<Vec<_>>(), said);
}

#[test]
fn wishes_are_bounded() {
    let mut asker = Asker::new(RimId(1));
    let asked = (0..300).filter(|n| asker.ask(Nanos::ZERO, name(&format!("f{n}")))).count();
    assert_eq!(asked, MAX_ASKED);
    asker.forget(&name("f0"));
    assert!(asker.ask(Nanos::ZERO, name("late")));
}
