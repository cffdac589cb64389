use super::*;

const RATE: u64 = 1200;
const TICK: Duration = Duration::from_millis(10);

/// The shares of connections of these uses, each in a link of `RATE`.
fn shares<const N: usize>(uses: [Use; N]) -> [u64; N] {
    let mut link = LinkUse::default();
    uses.iter().for_each(|&one| link.add(one));
    uses.map(|one| link.share(RATE, one))
}

#[test]
fn greedy_connections_divide_what_the_others_leave() {
    use Use::{Greedy, Idle, Slowed};
    assert_eq!(shares([Greedy]), [1200]);
    assert_eq!(shares([Greedy, Greedy]), [600, 600]);
    assert_eq!(shares([Greedy, Slowed(200), Greedy]), [500, 400, 500], "a slow one may grow");
    assert_eq!(shares([Greedy, Idle]), [1200, 600], "an idle one may begin");
    assert_eq!(shares([Slowed(200), Slowed(300)]), [900, 1000]);
}

#[test]
fn nobody_gets_less_than_in_an_equal_division() {
    use Use::{Greedy, Slowed};
    assert_eq!(shares([Greedy, Slowed(1100), Slowed(90)]), [400, 555, 400]);
    assert_eq!(shares([Greedy, Slowed(5000)]), [600, 600], "more than there is, for a moment");
}

#[test]
fn a_connection_is_greedy_when_nothing_but_links_slows_it() {
    let mut share = Share::default();
    let mut uses = |acknowledged, unsent, window_limited_us| {
        let under_way = TcpInfo { unacknowledged: 1, ..TcpInfo::default() };
        share.note(TcpInfo { acknowledged, unsent, window_limited_us, ..under_way }, TICK, false);
        [0, 1].map(|link| share.of(link))
    };
    assert_eq!(uses(0, 1, 0), [Use::Greedy, Use::Slowed(0)], "the other link has it as fast as it is");
    assert_eq!(uses(400, 0, 0), [Use::Slowed(10_000); 2], "its source slows it: 400 / 4 bytes in 10 ms");
    assert_eq!(uses(800, 1, 0), [Use::Greedy, Use::Slowed(17_500)]);
    assert_eq!(uses(800, 1, 500), [Use::Slowed(13_125); 2], "its receiver slows it");
    assert_eq!(uses(800, 1, 500)[0], Use::Greedy);
    share.note(TcpInfo::default(), TICK, false);
    assert_eq!(share.of(0), Use::Idle);
}
