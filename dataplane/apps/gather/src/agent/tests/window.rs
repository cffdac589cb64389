use super::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Loopback's own segments are larger than the windows of these tests.
const SEGMENT: u32 = 1448;
/// A window that became smaller may hold a sender up until its backed-off persist timer expires.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn small_segments_get_the_memory_that_they_take() {
    assert_eq!((buffer(20_000, 0), buffer(20_000, 1448)), (20_000, 20_000));
    assert_eq!(buffer(20_000, 1000), 23_040);
    assert_eq!(in_bounds(buffer(LARGEST_WINDOW, 88)), LARGEST_WINDOW as libc::c_int);
}

/// A connection whose client sends as fast as it can, and the window in the segments that came back to
/// the client.
struct Rig {
    server: TcpStream,
    client: TcpStream,
    window: AdvertisedWindow,
    /// The window that is kept regularly, as the server keeps it.
    kept: Option<u64>,
}

/// The client's end and the server's.
fn connected(most: Option<u64>) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    socket2::SockRef::from(&listener).set_mss(SEGMENT).expect("an option");
    if let Some(most) = most {
        clamp(&listener, most).expect("an option");
    }
    let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    (client, listener.accept().expect("accepted").0)
}

impl Rig {
    fn new(most: Option<u64>) -> Rig {
        let (client, server) = connected(most);
        let mut writer = client.try_clone().expect("a copy");
        std::thread::spawn(move || while writer.write_all(&[7; 8192]).is_ok() {});
        Rig { server, client, window: AdvertisedWindow::default(), kept: None }
    }

    fn set(&mut self, window: Option<u64>) {
        self.window.set(&self.server, window, 0).expect("set");
        self.kept = window;
    }

    /// Reads until the client was told a window that `fits`; fails if that never happens.
    fn until(&mut self, fits: impl Fn(u32) -> bool) -> u32 {
        let (until, mut buffer) = (Instant::now() + PATIENCE, vec![0; 65_536]);
        loop {
            let count = self.server.read(&mut buffer).expect("read");
            assert!(count > 0, "the client sends");
            if let Some(window) = self.kept {
                let known = TcpInfo::of(&self.server).expect("known");
                self.window.keep(&self.server, window, 0, &known).expect("kept");
            }
            let told = TcpInfo::of(&self.client).expect("known").peer_window;
            if fits(told) {
                return told;
            }
            assert!(Instant::now() < until, "{told} bytes in the end");
        }
    }
}

#[test]
fn the_window_that_the_peer_is_told_follows_up_and_down() {
    let mut rig = Rig::new(Some(1 << 20));
    for window in [64_000, 16_000, 200_000, 8_000, 100_000, 2_896] {
        rig.set(Some(window));
        // With a scale of 4, the window is told in units of 16 bytes.
        rig.until(|told| u64::from(told).abs_diff(window) <= 16);
        // The window stays there.
        for _ in 0..50 {
            let told = rig.until(|_| true);
            assert!(u64::from(told) <= window + 16, "{told} instead of {window}");
        }
    }
}

#[test]
fn the_kernel_tunes_again_when_the_window_is_given_back() {
    let mut rig = Rig::new(None);
    rig.set(Some(8_000));
    rig.until(|told| told < 10_000);
    rig.set(None);
    rig.until(|told| told > 100_000);
}

#[test]
fn a_clamp_that_was_moved_is_set_again() {
    let mut rig = Rig::new(None);
    rig.set(Some(8_000));
    rig.until(|told| told < 10_000);
    set_option(&rig.server, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &12_000).expect("set");
    // `keep` would move the window back; it stays off once the window has moved.
    rig.kept = None;
    rig.until(|told| told > 10_000);
    rig.kept = Some(8_000);
    // A small window may be told because bytes are unread, which says nothing about the clamp.
    let until = Instant::now() + Duration::from_secs(10);
    while option(&rig.server, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).map_err(drop) != Ok(8_000) {
        rig.until(|_| true);
        assert!(Instant::now() < until, "the clamp stays where it was moved to");
    }
    rig.until(|told| told < 10_000);
}

#[test]
fn the_buffer_stays_while_it_is_enough_and_not_far_too_much() {
    // No segments arrive, which would make the kernel move the clamp.
    let (_client, server) = connected(None);
    let mut set = AdvertisedWindow::default();
    // The kernel doubles the buffer.
    for (window, buffer) in
        [(30_000, 60_000), (16_000, 60_000), (15_000, 60_000), (14_000, 28_000), (20_000, 40_000)]
    {
        set.set(&server, Some(window), 0).expect("set");
        let got: libc::c_int = option(&server, libc::SOL_SOCKET, libc::SO_RCVBUF).expect("known");
        assert_eq!(got, buffer, "{window}");
        let clamp: libc::c_int = option(&server, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).expect("known");
        assert_eq!(clamp, window as libc::c_int);
    }
}
