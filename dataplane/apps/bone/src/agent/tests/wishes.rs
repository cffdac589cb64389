use super::*;

#[test]
fn each_rim_is_told_once_and_wishes_are_bounded() {
    let name = |number: usize| FileName::parse(&format!("f{number}")).expect("a name");
    let from = |port| SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    let mut wishes = Wishes::default();
    wishes.add(&name(0), RimId(1), from(1));
    wishes.add(&name(0), RimId(1), from(2));
    wishes.add(&name(0), RimId(2), from(3));
    wishes.add(&name(1), RimId(1), from(1));
    assert_eq!(wishes.take(&name(0)), [(RimId(1), from(2)), (RimId(2), from(3))]);
    assert_eq!(wishes.take(&name(0)), []);
    assert_eq!(wishes.take(&name(1)), [(RimId(1), from(1))], "other wishes stay");
    (0..2 * MOST).for_each(|number| wishes.add(&name(number), RimId(1), from(1)));
    assert_eq!(wishes.0.len(), MOST);
}

#[test]
fn the_share_that_was_sent_again_is_of_all_copies() {
    let said = |size, sent, copies, without: &[&str]| {
        let name = FileName::parse("a").expect("a name");
        let (started, ended_at) = (Nanos::ZERO, Nanos::from_secs(1));
        let without = without.iter().map(|&rim| rim.to_owned()).collect();
        let (outcome, packets, rounds, answers, complete, lost) = (TransferOutcome::Done, 0, 0, 0, 2, 0);
        let report = TransferReport {
            name,
            outcome,
            size,
            started,
            ended: ended_at,
            sent,
            copies,
            packets,
            rounds,
            answers,
            complete,
            lost,
            without,
        };
        ended(&report).human
    };
    assert_eq!(said(0, 0, 1, &[]), "a: sent in 1.0 s, 2 rims complete");
    assert_eq!(said(1, 1, 1, &[]), "a: sent in 1.0 s, 0 % again, 2 rims complete");
    assert_eq!(said(1, 3, 1, &[]), "a: sent in 1.0 s, 200 % again, 2 rims complete");
    assert_eq!(said(1000, 3000, 3, &["r1"]), "a: sent in 1.0 s, 0 % again, 2 rims complete, without r1");
    assert_eq!(said(1000, 0, 0, &[]), "a: sent in 1.0 s, 2 rims complete");
}
