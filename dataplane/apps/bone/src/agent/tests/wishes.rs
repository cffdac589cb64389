use super::*;

#[test]
fn each_rim_is_told_once_and_wishes_are_bounded() {
    let name = |number: usize| FileName::parse(&format!("f{number}")).expect("a name");
    let from = |port| SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    let mut wishes = Wishes::default();
    wishes.add(&name(0), RimId(1), from(1));
    wishes.add(&name(0), RimId(1), from(2));
    wishes.add(&name(0), RimId(2), from(3));
    assert_eq!(wishes.take(&name(0)), BTreeMap::from([(RimId(1), from(2)), (RimId(2), from(3))]));
    assert_eq!(wishes.take(&name(0)), BTreeMap::new());
    (0..2 * MOST).for_each(|number| wishes.add(&name(number), RimId(1), from(1)));
    assert_eq!((wishes.count, wishes.of.len()), (MOST, MOST));
    (0..2 * MOST).for_each(|number| drop(wishes.take(&name(number))));
    assert_eq!((wishes.count, wishes.of.len()), (0, 0));
}
