//! The window that a live connection advertises. Measurements of what moves it are in
//! docs/explanation/gather.md, "The window".

use std::io;
use std::os::fd::AsFd;

use groupflow_host::sockopt::{get_int, set_int};
use groupflow_host::tcp_info::TcpInfo;

/// The least bytes to which the kernel lets a window be clamped (half of SOCK_MIN_RCVBUF).
pub const LEAST: u64 = 1152;
/// The most bytes to which a window is set.
pub const MOST: u64 = 1 << 30;
/// Memory that the kernel counts for a segment of up to 1,500 bytes: 2 KiB, and its descriptor.
const FRAME: u64 = 2304;
/// Gives SO_RCVBUF back to the kernel; not in libc (asm-generic/socket.h, since Linux 5.15).
const SO_BUF_LOCK: libc::c_int = 72;
/// A buffer of up to this many times the bytes needed stays as it is, so that a window that goes up and down
/// costs one call.
const ROOMY: u64 = 2;
/// The buffer with which the kernel's autotuning begins (the default of tcp_rmem[1], 128 KiB), before it is
/// doubled.
const START: libc::c_int = 64 << 10;

/// Makes it possible to set the windows of accepted connections as exactly as windows up to `most` can be
/// set: a clamp on the listener makes the kernel choose the smallest window scale that reaches `most`.
pub fn prepare(listener: &impl AsFd, most: u64) -> io::Result<()> {
    set_int(listener, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes(most))
}

/// The window of a connection: its current setting, so that nothing is set twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdvertisedWindow {
    /// SO_RCVBUF and TCP_WINDOW_CLAMP in bytes; 0: the kernel's choice.
    buffer: u64,
    clamp: u64,
}

impl AdvertisedWindow {
    /// Lets the connection advertise `window` bytes from now on; `None`: as the kernel sees fit. `segment` is
    /// the size of the received segments in bytes; 0: not known.
    ///
    /// SO_RCVBUF switches off the kernel's autotuning, which would lift the clamp again, and bounds memory;
    /// the clamp makes the window exact. A window grows as soon as segments arrive; it shrinks as the bytes
    /// promised earlier arrive.
    pub fn set(&mut self, stream: &impl AsFd, window: Option<u64>, segment: u64) -> io::Result<()> {
        match window {
            Some(window) => {
                let needed = buffer(window, segment);
                if !(needed..=ROOMY * needed).contains(&self.buffer) {
                    set_int(stream, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes(needed))?;
                    self.buffer = needed;
                }
                if self.clamp != window {
                    set_int(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes(window))?;
                    self.clamp = window;
                }
            }
            None if *self == AdvertisedWindow::default() => {}
            None => {
                // From a small buffer, autotuning would never notice that a larger one would help.
                set_int(stream, libc::SOL_SOCKET, libc::SO_RCVBUF, START)?;
                set_int(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, libc::c_int::MAX)?;
                set_int(stream, libc::SOL_SOCKET, SO_BUF_LOCK, 0)?;
                *self = AdvertisedWindow::default();
            }
        }
        Ok(())
    }

    /// Repeats the setting, to be called regularly: the kernel moves the clamp when segments of another size
    /// arrive. If the peer was told the window that was set, the kernel did not move it.
    pub fn keep(&mut self, stream: &impl AsFd, window: u64, segment: u64, known: &TcpInfo) -> io::Result<()> {
        if self.clamp == window && !known.advertises(window) {
            self.clamp = get_int(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP)?.unsigned_abs().into();
        }
        self.set(stream, Some(window), segment)
    }
}

/// The SO_RCVBUF, which the kernel doubles, for a window of such segments: if they take more than twice their
/// payload in memory, the kernel would advertise less.
fn buffer(window: u64, segment: u64) -> u64 {
    match segment {
        0 => window,
        _ => window.max((window / 2).saturating_mul(FRAME) / segment),
    }
}

/// A window in bytes, at most MOST.
fn bytes(window: u64) -> libc::c_int {
    window.clamp(LEAST, MOST) as libc::c_int
}

#[cfg(test)]
mod tests {
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
        assert_eq!(bytes(buffer(MOST, 88)), MOST as libc::c_int);
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
            prepare(&listener, most).expect("an option");
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
        set_int(&rig.server, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, 12_000).expect("set");
        // `keep` would move the window back; it stays off once the window has moved.
        rig.kept = None;
        rig.until(|told| told > 10_000);
        rig.kept = Some(8_000);
        // A small window may be told because bytes are unread, which says nothing about the clamp.
        let until = Instant::now() + Duration::from_secs(10);
        while get_int(&rig.server, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).expect("known") != 8_000 {
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
            let got = get_int(&server, libc::SOL_SOCKET, libc::SO_RCVBUF).expect("known");
            assert_eq!(got, buffer, "{window}");
            let clamp = get_int(&server, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).expect("known");
            assert_eq!(clamp, window as libc::c_int);
        }
    }
}
