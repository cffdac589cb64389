use super::*;

#[test]
fn nobody_is_a_round_ahead() {
    let (barrier, counts) = (Barrier::new(3), [(); 3].map(|()| AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (barrier, counts) = (&barrier, &counts);
            scope.spawn(move || {
                for round in 1..500 {
                    counts[thread].store(round, Ordering::Release);
                    assert!(barrier.wait());
                    assert!(counts.iter().all(|count| count.load(Ordering::Acquire) >= round));
                    assert!(barrier.wait());
                }
            });
        }
    });
}

#[test]
fn a_thread_that_panics_does_not_keep_the_others() {
    let barrier = Barrier::new(2);
    let result = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _guard = Guard(&barrier);
            panic!("on purpose");
        });
        let waited = barrier.wait();
        assert!(other.join().is_err());
        waited
    });
    assert!(!result);
}
