use super::*;

fn is_readable(fd: RawFd) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one pollfd that outlives the call.
    unsafe { libc::poll(&mut poll, 1, 0) == 1 }
}

#[test]
fn wakes_add_up_to_one() {
    let waker = Waker::new().expect("an eventfd");
    assert!(!is_readable(waker.fd()));
    waker.wake();
    waker.wake();
    assert!(is_readable(waker.fd()));
    waker.clear();
    assert!(!is_readable(waker.fd()));
}
