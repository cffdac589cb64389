use super::*;

#[test]
fn the_latest_lost_members_are_remembered() {
    let mut lost = LostMembers::default();
    for number in 0..10_000 {
        let mut tally = Tally::default();
        tally.failed(Fault::MemberFailed, number, "h", 0, "gone");
        lost.remember(StreamId(number.into()), &tally);
    }
    lost.remember(StreamId(10_000), &Tally::default());
    assert!(lost.tally(StreamId(0)).failed.is_empty());
    assert!(lost.count <= MEMBERS && lost.streams.len() <= MEMBERS);
    assert_eq!(lost.tally(StreamId(9_999)).failed[0].member, 9_999);
}
