use super::*;
use proptest::prelude::*;

#[test]
fn a_frame_has_64_bytes_and_the_standard_s_fields() {
    let (head, tail) = frame(0x1234);
    assert_eq!(head.len() as u32 + tail, 64);
    assert_eq!(head[..6], [0x01, 0x80, 0xC2, 0, 0, 1]);
    assert_eq!(head[12..20], [0x88, 0x08, 0x01, 0x01, 0, 1, 0x12, 0x34]);
    assert_eq!(read(&head), Some(0x1234));
    assert_eq!(read(&head[..19]), None, "cut short");
}

#[test]
fn a_quantum_is_512_bit_times() {
    let gigabit = Some(BitRate(1_000_000_000));
    assert_eq!(span(1, gigabit), Nanos(512));
    assert_eq!(span(LONGEST, gigabit), Nanos(33_553_920));
    assert_eq!(span(RESUME, gigabit), Nanos::ZERO);
    assert_eq!(span(3, None), Nanos(3 * 512));
}

proptest! {
    #[test]
    fn only_pause_frames_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let is_pause = bytes.len() >= 20 && bytes[12..18] == [0x88, 0x08, 0x01, 0x01, 0, 1];
        prop_assert_eq!(read(&bytes).is_some(), is_pause);
    }
}

#[test]
fn the_neighbour_is_told_above_xoff_and_again_at_xon() {
    let mut restraint = Restraint::new(Some(PauseSpec { xoff: 3, xon: 1 }), None);
    (0..3).for_each(|_| restraint.enter());
    assert_eq!(restraint.due(), Nanos::MAX, "xoff is not exceeded");
    restraint.enter();
    assert_eq!(restraint.due(), Nanos::ZERO);
    assert_eq!(restraint.announce(Nanos(100)), LONGEST);
    let again = Nanos(100 + 33_553_920 / 2);
    assert_eq!(restraint.due(), again, "before the pause ends");
    assert_eq!(restraint.announce(again), LONGEST);
    (0..2).for_each(|_| restraint.leave());
    assert!(restraint.due() > again, "not yet");
    restraint.leave();
    assert_eq!(restraint.due(), Nanos::ZERO);
    assert_eq!(restraint.announce(again), RESUME);
    assert_eq!((restraint.due(), restraint.pauses()), (Nanos::MAX, 1));
}

#[test]
fn what_was_not_told_yet_need_not_be_taken_back() {
    let mut restraint = Restraint::new(Some(PauseSpec { xoff: 1, xon: 1 }), None);
    (0..2).for_each(|_| restraint.enter());
    restraint.leave();
    assert_eq!((restraint.due(), restraint.pauses()), (Nanos::MAX, 0));
    let mut silent = Restraint::new(None, None);
    (0..1000).for_each(|_| silent.enter());
    assert_eq!(silent.due(), Nanos::MAX);
}
