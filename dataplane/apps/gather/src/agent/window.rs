//! The window that a live connection advertises. Measurements of what moves it are in
//! docs/explanation/gather.md, "The window".

use std::io;
use std::os::fd::AsFd;

use groupflow_host::sockopt::{get_int, set_int};
use groupflow_host::tcp::TcpInfo;

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
#[path = "tests/window.rs"]
mod tests;
