use std::os::fd::AsFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use groupflow_base::Nanos;
use groupflow_host::poller::is_ready;
use groupflow_host::process::{nanos, Clock, Wake};
use nix::poll::{PollFlags, PollTimeout};

#[test]
fn wakes_add_up_to_one() {
    let wake = Wake::new().expect("a descriptor");
    let is_readable = || is_ready(wake.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO);
    assert!(!is_readable());
    wake.wake();
    wake.wake();
    assert!(is_readable());
    wake.clear();
    assert!(!is_readable());
}

#[test]
fn a_clock_counts_from_its_start() {
    let before = Instant::now();
    let clock = Clock::start();
    assert_eq!(clock.at(before), Nanos::ZERO);
    assert!(clock.now() <= nanos(before.elapsed()));
    let time = Nanos::from_millis(1234);
    assert_eq!(clock.at(clock.instant(time)), time);
    // A time that means "never" is an instant that can be waited for.
    assert!(clock.instant(Nanos::MAX) > Instant::now() + Duration::from_secs(1 << 30));
}

#[test]
fn a_clock_knows_the_wall_clock_at_its_start() {
    let wall = nanos(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970"));
    let offset = Clock::start().wall_offset();
    // Both clocks run on between the readings; ten seconds are far more than that takes.
    assert!(offset.abs_diff(wall.0) < Nanos::from_secs(10).0, "{offset} {wall}");
}
