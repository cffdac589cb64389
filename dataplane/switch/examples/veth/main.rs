//! The two ends of the bench over veth, and what gfswitch is compared with.
//!
//! `veth send INTERFACE FRAME`: sends a frame (in hexadecimal) as fast as it can, or `--rate` a second.
//! `veth forward IN OUT...`: a forwarder without any P4: what comes in goes out of every OUT.

mod ring;
mod socket;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ring::Ring;
use socket::{Sender, BATCH};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["send", interface, frame] => send(interface, frame, u64::MAX),
        ["send", interface, frame, rate] => send(interface, frame, rate.parse().unwrap_or(u64::MAX)),
        ["forward", input, ref outputs @ ..] => forward(input, outputs),
        _ => {
            eprintln!("usage: veth send INTERFACE FRAME [RATE] | veth forward IN OUT...");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("veth: {error}");
            ExitCode::FAILURE
        }
    }
}

fn send(interface: &str, frame: &str, rate: u64) -> std::io::Result<()> {
    let frame: Vec<u8> = (0..frame.len() / 2)
        .map(|n| u8::from_str_radix(&frame[2 * n..2 * n + 2], 16))
        .collect::<Result<_, _>>()
        .map_err(std::io::Error::other)?;
    let mut sender = Sender::open(interface)?;
    let start = Instant::now();
    let mut sent = 0u128;
    loop {
        sender.send(std::iter::repeat(&frame[..]));
        sent += BATCH as u128;
        if rate != u64::MAX {
            let due = Duration::from_nanos((sent * 1_000_000_000 / u128::from(rate)) as u64);
            if let Some(left) = due.checked_sub(start.elapsed()) {
                std::thread::sleep(left);
            }
        }
    }
}

fn forward(input: &str, outputs: &[&str]) -> std::io::Result<()> {
    let slots = std::env::var("SLOTS").ok().and_then(|s| s.parse().ok()).unwrap_or(2048);
    let mode = std::env::var("MODE").unwrap_or_default();
    let mut senders: Vec<Sender> = outputs.iter().map(|name| Sender::open(name)).collect::<Result<_, _>>()?;
    if mode == "mmsg" {
        return forward_mmsg(input, &mut senders);
    }
    let mut ring = Ring::open(input, slots)?;
    loop {
        let count = ring.ready(BATCH);
        if count == 0 {
            ring.wait();
            continue;
        }
        for sender in &mut senders {
            sender.send((0..count).map(|n| ring.frame(n)));
        }
        ring.release(count);
    }
}

fn forward_mmsg(input: &str, senders: &mut [Sender]) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    let socket = socket::open()?;
    socket::set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
    let value: libc::c_int = 8 << 20;
    let p: *const libc::c_int = &value;
    unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, p.cast(), 4) };
    socket::bind(&socket, input, libc::ETH_P_ALL)?;
    let mut bytes = vec![[0u8; 2048]; BATCH];
    let mut vectors: Vec<libc::iovec> =
        bytes.iter_mut().map(|b| libc::iovec { iov_base: b.as_mut_ptr().cast(), iov_len: 2048 }).collect();
    let mut messages: Vec<libc::mmsghdr> = vectors
        .iter_mut()
        .map(|v| {
            let mut m: libc::mmsghdr = unsafe { std::mem::zeroed() };
            m.msg_hdr.msg_iov = v;
            m.msg_hdr.msg_iovlen = 1;
            m
        })
        .collect();
    loop {
        let n = socket::check(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_WAITFORONE as _,
                std::ptr::null_mut(),
            )
        })?;
        for sender in senders.iter_mut() {
            sender.send((0..n as usize).map(|i| &bytes[i][..messages[i].msg_len as usize]));
        }
    }
}
