use super::*;

#[test]
fn polls_back_off_until_an_acknowledgement() {
    let mut polls = Polls::default();
    let mut rtt = Rtt::default();
    rtt.sample(Nanos::from_millis(60));
    assert!(!polls.poll(Nanos::ZERO, true, &rtt), "nothing was sent");
    polls.restart(Nanos::ZERO, true, &rtt);
    let mut at = Vec::new();
    for ms in 0..2000 {
        if polls.poll(Nanos::from_millis(ms), true, &rtt) {
            at.push(ms);
        }
    }
    assert_eq!(at, [120, 240, 480, 960, 1460, 1960]);
    assert_eq!(polls.number, 6);
    polls.restart(Nanos::from_secs(2), false, &rtt);
    assert_eq!(polls.next_deadline(), None);
}

#[test]
fn the_end_is_told_soon_even_while_acknowledgements_come() {
    let mut polls = Polls::default();
    polls.at_end(Nanos::ZERO);
    polls.restart(Nanos::from_millis(5), true, &Rtt::default());
    assert_eq!(polls.next_deadline(), Some(AFTER_END));
    assert!(polls.poll(AFTER_END, true, &Rtt::default()));
    assert_eq!(polls.next_deadline(), Some(AFTER_END + Nanos::from_millis(200)));
}

#[test]
fn the_number_skips_zero() {
    let mut polls = Polls::default();
    let numbers: Vec<u8> = (0..257)
        .map(|_| {
            polls.hurry(Nanos::ZERO);
            polls.poll(Nanos::ZERO, true, &Rtt::default());
            polls.number
        })
        .collect();
    assert_eq!((numbers[0], numbers[254], numbers[255], numbers[256]), (1, 255, 1, 2));
}
