//! The sender of the bench over veth (experiments/bench/veth.py), and what gfswitch is compared with.
//!
//! `veth send INTERFACE FRAME` sends a frame, given in hexadecimal, as fast as it can.
//! `veth forward IN OUT...` is a forwarder without any P4: what comes in goes out of every OUT. It has the
//! fastest mode that was found: a receive ring, and a batch of messages for each interface it sends to
//! (docs/performance.md).

mod ring;
mod socket;

use std::process::ExitCode;

use ring::Ring;
use socket::{Sender, BATCH};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["send", interface, frame] => send(interface, frame),
        ["forward", input, ref outputs @ ..] => forward(input, outputs),
        _ => {
            eprintln!("usage: veth send INTERFACE FRAME | veth forward IN OUT...");
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

fn send(interface: &str, frame: &str) -> std::io::Result<()> {
    let frame: Vec<u8> = (0..frame.len() / 2)
        .map(|n| u8::from_str_radix(&frame[2 * n..2 * n + 2], 16))
        .collect::<Result<_, _>>()
        .map_err(std::io::Error::other)?;
    let mut sender = Sender::open(interface)?;
    loop {
        sender.send(std::iter::repeat(&frame[..]));
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
