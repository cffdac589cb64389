//! The load of the bench of split agents (experiments/bench/split.py), and two bare relays to compare with.
//!
//! `split_load sink IP:PORT...` listens and throws received bytes away, without copying them (MSG_TRUNC).
//! `split_load source IP:PORT` sends as fast as it can. `split_load copy IN OUT...` and `split_load splice
//! IN OUT...` are relays of one connection to every OUT, without a cache: by read and write, and by splice
//! and tee through pipes, which moves pages instead of bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;

use nix::fcntl::{fcntl, FcntlArg};

/// Bytes that one call moves, as in `gfagent split`.
const BLOCK: usize = 256 << 10;
/// The largest pipe that needs no privilege.
const PIPE: usize = 1 << 20;

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
    let (what, addresses) =
        arguments.split_first().ok_or_else(|| io::Error::other("sink, source, copy or splice?"))?;
    let parse = |text: &String| text.parse().map_err(io::Error::other);
    let addresses: Vec<SocketAddr> = addresses.iter().map(parse).collect::<io::Result<_>>()?;
    match (what.as_str(), &addresses[..]) {
        ("sink", all @ [_, ..]) => sink(all),
        ("source", [to]) => source(*to),
        ("copy", [from, to @ ..]) => relay(*from, to, copy),
        ("splice", [from, to @ ..]) => relay(*from, to, splice_all),
        _ => Err(io::Error::other("usage: split_load sink|source|copy|splice IP:PORT...")),
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

fn relay(
    from: SocketAddr, to: &[SocketAddr], run: fn(TcpStream, Vec<TcpStream>) -> io::Result<()>,
) -> io::Result<()> {
    let listener = TcpListener::bind(from)?;
    println!("ready");
    loop {
        let (input, _) = listener.accept()?;
        let outputs = to.iter().map(TcpStream::connect).collect::<io::Result<_>>()?;
        // The end of one connection is no reason to stop.
        let _ = run(input, outputs);
    }
}

fn copy(mut input: TcpStream, mut outputs: Vec<TcpStream>) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK];
    loop {
        let count = input.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        for output in &mut outputs {
            output.write_all(&buffer[..count])?;
        }
    }
}

fn splice_all(input: TcpStream, outputs: Vec<TcpStream>) -> io::Result<()> {
    let pipes: Vec<(OwnedFd, OwnedFd)> = outputs.iter().map(|_| pipe()).collect::<io::Result<_>>()?;
    let Some(((first, into_first), others)) = pipes.split_first() else { return Ok(()) };
    loop {
        let count = splice(&input, into_first, BLOCK)?;
        if count == 0 {
            return Ok(());
        }
        for ((pipe, into_pipe), output) in others.iter().zip(&outputs[1..]) {
            // An empty pipe of the same size takes all pages of the first one.
            if tee(first, into_pipe, count)? != count {
                return Err(io::Error::other("tee moved less than all"));
            }
            move_all(pipe, output, count)?;
        }
        move_all(first, &outputs[0], count)?;
    }
}

fn move_all(from: &OwnedFd, to: &TcpStream, mut count: usize) -> io::Result<()> {
    while count > 0 {
        count -= splice(from, to, count)?;
    }
    Ok(())
}

fn splice(from: &impl AsRawFd, to: &impl AsRawFd, count: usize) -> io::Result<usize> {
    let (from, to, none) = (from.as_raw_fd(), to.as_raw_fd(), std::ptr::null_mut());
    // SAFETY: splice takes two descriptors, which live through the call, and no offsets.
    let moved = unsafe { libc::splice(from, none, to, none, count, libc::SPLICE_F_MOVE) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

fn tee(from: &OwnedFd, to: &OwnedFd, count: usize) -> io::Result<usize> {
    // SAFETY: tee takes two descriptors, which live through the call.
    let copied = unsafe { libc::tee(from.as_raw_fd(), to.as_raw_fd(), count, 0) };
    usize::try_from(copied).map_err(|_| io::Error::last_os_error())
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (out, into) = nix::unistd::pipe()?;
    fcntl(into.as_raw_fd(), FcntlArg::F_SETPIPE_SZ(PIPE as libc::c_int))?;
    Ok((out, into))
}
