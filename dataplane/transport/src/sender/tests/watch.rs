use super::*;

#[test]
fn a_group_that_answers_polls_is_alive() {
    let mut watch = Watch::new(Nanos::ZERO);
    assert_eq!(watch.stall(Nanos(STALL.0 - 1)), None);
    watch.heard(Nanos::from_secs(30));
    let secs = Nanos::from_secs;
    assert_eq!(watch.stall(secs(37)), Some(SenderEvent::Stalled(secs(37))));
    assert_eq!(watch.stall(secs(44)), None, "told once in {STALL}");
    assert_eq!(watch.stall(secs(61)), Some(SenderEvent::Unanswered(secs(61))));
    assert_eq!(watch.stall(secs(90)), Some(SenderEvent::Failed(SenderError::Silence(secs(90)))));
}
