use super::*;

const RATE: u64 = 1200;
const TICK: Nanos = Nanos::from_millis(10);

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
fn acknowledgements_for_the_other_direction_leave_less() {
    let mut link = LinkUse { acknowledgements: 200, ..LinkUse::default() };
    [Use::Greedy, Use::Greedy].iter().for_each(|&one| link.add(one));
    assert_eq!(link.share(RATE, Use::Greedy), 500);
    link.acknowledgements = 2 * RATE;
    assert_eq!(link.share(RATE, Use::Greedy), RATE / 4, "more than there is, for a moment");
}

#[test]
fn a_connection_is_greedy_when_nothing_but_links_slows_it() {
    let (mut share, mut now) = (Share::default(), Nanos::from_secs(1));
    let mut uses = |acknowledged, unsent, window_limited_us| {
        now += TICK;
        let under_way = TcpState { unacknowledged: 1, ..TcpState::default() };
        share.note(TcpState { acknowledged, unsent, window_limited_us, ..under_way }, now, false);
        [0, 1].map(|link| share.of(link))
    };
    let greedy = [Use::Greedy, Use::Slowed(0)];
    assert_eq!(uses(1 << 40, 1, 0), greedy, "an adopted one, whose earlier bytes do not count");
    assert_eq!(
        uses((1 << 40) + 400, 0, 0),
        [Use::Slowed(10_000); 2],
        "its source slows it: 400 / 4 bytes in 10 ms"
    );
    assert_eq!(uses((1 << 40) + 800, 1, 0), [Use::Greedy, Use::Slowed(17_500)]);
    assert_eq!(uses((1 << 40) + 800, 1, 500), [Use::Slowed(13_125); 2], "its receiver slows it");
    assert_eq!(uses((1 << 40) + 800, 1, 500)[0], Use::Greedy);
    now += TICK;
    share.note(TcpState::default(), now, false);
    assert_eq!(share.of(0), Use::Idle);
}

#[test]
fn a_connection_that_losses_slow_down_is_not_greedy() {
    let (mut share, mut now) = (Share { pace: 100_000, ..Share::default() }, Nanos::from_secs(1));
    let mut rounds = |ticks, bytes| {
        for _ in 0..ticks {
            now += TICK;
            let acknowledged = share.acknowledged.noted.map_or(0, |(total, _)| total) + bytes;
            share.note(TcpState { acknowledged, unsent: 1, ..TcpState::default() }, now, true);
        }
        share.of(0)
    };
    assert_eq!(rounds(SHORT, 400), Use::Greedy, "it may have begun");
    assert!(matches!(rounds(1, 400), Use::Slowed(39_000..=40_000)));
    assert_eq!(rounds(10, 600), Use::Greedy, "it has grown");
}
