//! The load of the bench of split agents (experiments/bench/split.py).
//!
//! `split_load sink IP:PORT...` listens and throws received bytes away, without copying them (MSG_TRUNC).
//! `split_load source IP:PORT` sends as fast as it can.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::ExitCode;

/// Bytes that one call moves.
const BLOCK: usize = 256 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("split_load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> io::Result<()> {
    let (what, addresses) = arguments.split_first().ok_or_else(|| io::Error::other("sink or source?"))?;
    let parse = |text: &String| text.parse().map_err(io::Error::other);
    let addresses: Vec<SocketAddr> = addresses.iter().map(parse).collect::<io::Result<_>>()?;
    match (what.as_str(), &addresses[..]) {
        ("sink", all @ [_, ..]) => sink(all),
        ("source", [to]) => source(*to),
        _ => Err(io::Error::other("usage: split_load sink|source IP:PORT...")),
    }
}

fn sink(addresses: &[SocketAddr]) -> io::Result<()> {
    let threads: Vec<_> = addresses
        .iter()
        .map(|&address| {
            let listener = TcpListener::bind(address)?;
            Ok(std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    std::thread::spawn(move || while discard(&stream) {});
                }
            }))
        })
        .collect::<io::Result<_>>()?;
    println!("ready");
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}

/// Takes bytes off a connection without looking at them; false at its end.
fn discard(stream: &TcpStream) -> bool {
    // SAFETY: with MSG_TRUNC, TCP discards up to so many bytes and writes nothing to the buffer.
    let count = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), 1 << 20, libc::MSG_TRUNC) };
    count > 0
}

fn source(to: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let bytes = vec![0x5a; BLOCK];
    loop {
        stream.write_all(&bytes)?;
    }
}
