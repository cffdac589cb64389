//! The sender of the bench over veth (experiments/bench/veth.py), and the forwarder that gfswitch is compared
//! with.
//!
//! `veth send INTERFACE FRAME` sends a frame, given in hexadecimal, as fast as it can.
//! `veth forward IN OUT...` is a forwarder without any P4: every frame goes out of every OUT. It receives and
//! sends as gfswitch does, which is the fastest mode that was found: a receive ring, and a batch of messages
//! for each interface it sends to (docs/results/performance.md).

use std::error::Error;
use std::os::fd::AsFd;
use std::process::ExitCode;

use groupflow_host::sockopt::set_option;
use groupflow_switch::shell::{bind, interface_index, packet_socket, Ring, ShellError, Transmitter};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

/// Frames copied, or sent, at a time.
const BATCH: usize = 64;
const SLOTS: usize = 4096;

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

fn index(interface: &str) -> Result<i32, ShellError> {
    interface_index(interface).ok_or_else(|| ShellError::NoInterface(interface.into()))
}

fn send(interface: &str, frame: &str) -> Result<(), Box<dyn Error>> {
    let frame = hex::decode(frame)?;
    let mut transmitter = Transmitter::open(index(interface)?)?;
    loop {
        transmitter.send(std::iter::repeat(&frame[..]).take(BATCH), |_, _| {});
    }
}

/// Copies at most a batch at a time, as far as it is there: waiting for more would only add delay.
fn forward(input: &str, outputs: &[&str]) -> Result<(), Box<dyn Error>> {
    let open = |name: &&str| Transmitter::open(index(name)?);
    let mut transmitters: Vec<Transmitter> = outputs.iter().map(open).collect::<Result<_, _>>()?;
    let socket = packet_socket()?;
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
    let mut ring = Ring::new(&socket, SLOTS)?;
    bind(&socket, index(input)?, libc::ETH_P_ALL)?;
    let mut slots = Vec::with_capacity(BATCH);
    loop {
        slots.extend(std::iter::from_fn(|| ring.take()).take(BATCH));
        if slots.is_empty() {
            poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE)?;
            continue;
        }
        for transmitter in &mut transmitters {
            transmitter.send(slots.iter().map(|slot| ring.bytes(slot.start, slot.captured)), |_, _| {});
        }
        slots.clear();
        ring.release();
    }
}
