//! The sender of the bench over veth (experiments/bench/veth.py), and what gfswitch is compared with.
//!
//! `veth send INTERFACE FRAME [RATE]` sends a frame, given in hexadecimal, as fast as it can or RATE times a
//! second. `veth forward IN OUT...` is a forwarder without any P4: what comes in goes out of every OUT. It has
//! the fastest mode that was found: a receive ring, and a batch of messages for each interface it sends to.

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

/// Copies at most a batch at a time, as far as it is there: waiting for more would only add delay.
fn forward(input: &str, outputs: &[&str]) -> std::io::Result<()> {
    let mut senders: Vec<Sender> = outputs.iter().map(|name| Sender::open(name)).collect::<Result<_, _>>()?;
    let mut ring = Ring::open(input)?;
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
