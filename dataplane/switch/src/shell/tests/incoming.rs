use super::*;

fn message(all: &Arc<AtomicUsize>) -> Message {
    Message { all: Arc::clone(all), head: Vec::new(), missing: 0, size: 0 }
}

/// A message with its head.
fn bytes(size: u32) -> Vec<u8> {
    [&[0][..], &size.to_be_bytes(), &vec![7; size as usize]].concat()
}

#[test]
fn messages_count_until_they_are_whole_however_they_are_cut() {
    let all = Arc::new(AtomicUsize::new(0));
    let large = FREE as u32 + 100;
    let stream = [bytes(0), bytes(large), bytes(1), bytes(0), bytes(large)].concat();
    for piece in [1, 2, 7, 4096, stream.len()] {
        let mut message = message(&all);
        let mut most = 0;
        for piece in stream.chunks(piece) {
            assert!(message.take(piece));
            most = most.max(all.load(Ordering::Relaxed));
        }
        assert_eq!(all.load(Ordering::Relaxed), 0);
        assert_eq!(most > 90, piece < 8, "{most} with pieces of {piece}");
    }
}

#[test]
fn what_is_beyond_the_limit_is_refused_until_there_is_room() {
    let all = Arc::new(AtomicUsize::new(0));
    let (mut first, mut second, mut small) = (message(&all), message(&all), message(&all));
    let (large, more) = (bytes(UNFINISHED_LIMIT as u32 + 1), bytes(FREE as u32 + 1000));
    assert!(first.take(&large[..UNFINISHED_LIMIT]));
    let begun = &more[..FREE + 900];
    assert!(small.take(&more[..FREE]), "small ones have their room");
    assert!(second.take(begun));
    let mut third = message(&all);
    assert!(!third.take(&large[..2 * FREE]));
    drop((first, third));
    assert!(message(&all).take(&large[..2 * FREE]));
    drop((second, small));
    assert_eq!(all.load(Ordering::Relaxed), 0);
}
