use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn it_counts_what_entered_at_most_a_delay_ago(
        gaps in proptest::collection::vec(0u64..30, 1..100),
        delay in 0u64..200,
        interval in 1u64..50,
    ) {
        let mut transit = Transit::new(FlowId(0), [0; 12], Nanos(interval), Nanos(delay));
        let mut sent = Vec::new();
        let mut at = 1;
        let mut sampled = 0;
        for gap in gaps {
            at += gap;
            while (sampled + 1) * interval < at {
                sampled += 1;
                let instant = sampled * interval;
                let on_link = sent.iter().filter(|&&s| s <= instant && s + delay > instant).count();
                prop_assert_eq!(transit.sample(), (on_link as u64, 100 * on_link as u64));
            }
            transit.enter(Nanos(at), 100);
            sent.push(at);
        }
    }
}

#[test]
fn frames_announced_ahead_count_from_their_time() {
    let mut transit = Transit::new(FlowId(0), [0; 12], Nanos(100), Nanos(50));
    [90, 110, 130, 290].into_iter().for_each(|sent| transit.enter(Nanos(sent), 10));
    assert_eq!([transit.sample().0, transit.sample().0, transit.sample().0], [1, 0, 1]);
}

#[test]
fn a_frame_is_its_flows() {
    for count in [1, FEW as u8, 3 * FEW as u8] {
        let key = |n: u8| [9 - n % 7, n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let flow = |n: u8| Transit::new(FlowId(n.into()), key(n), Nanos(1), Nanos(1));
        let mut transits: Vec<Transit> = (0..count).map(flow).collect();
        Transit::sort(&mut transits);
        let mut head = [0; 54];
        for n in 0..count {
            head[KEY_AT..KEY_AT + 12].copy_from_slice(&key(n));
            assert_eq!(Transit::find(&mut transits, &head).map(|t| t.flow), Some(FlowId(n.into())));
        }
        head[KEY_AT + 11] = 1;
        assert!(Transit::find(&mut transits, &head).is_none());
        assert!(Transit::find(&mut transits, &head[..30]).is_none());
    }
}
