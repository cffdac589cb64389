//! A load for `gfagent gather-serve`: many clients in one process.
//!
//! `gather_load IP:PORT CLIENTS KBIT SECONDS [PIN]` sends as the clients c0, c1, ... with the token c0ffee.
//! Each client sends KBIT kbit/s over as many connections as the server wants, encrypted if there is a PIN.
//! At the end the program says how many streams were delivered as a whole.

use std::io::{self, Write};
use std::net::SocketAddrV4;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use groupflow_gather::agent::args::GatherSendArgs;
use groupflow_gather::agent::stream::GatherStream;
use groupflow_host::secure::SecureSend;
use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::sys::resource::{getrlimit, setrlimit, Resource};

/// Memory of each client for bytes that are not delivered yet.
const MEMORY: u64 = 64 << 10;
/// Inputs are fed so often.
const TICK: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(delivered) => {
            println!("{delivered} delivered");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("gather_load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> io::Result<usize> {
    let [to, clients, kbit, seconds, pin @ ..] = arguments else {
        return Err(io::Error::other("usage: gather_load IP:PORT CLIENTS KBIT SECONDS [PIN]"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(io::Error::other);
    let (clients, kbit, seconds) = (number(clients)?, number(kbit)?, number(seconds)?);
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let mut senders = Vec::new();
    for client in 0..clients {
        let known = match pin.first() {
            Some(pin) => SecureSend::pinned(pin).ok_or_else(|| io::Error::other("PIN is no SHA-256"))?,
            None => SecureSend::plain(),
        };
        let to = to.parse::<SocketAddrV4>().map_err(io::Error::other)?;
        let options = GatherSendArgs::new(to, &format!("c{client}"), "c0ffee", known);
        let options = GatherSendArgs { memory: MEMORY, ..options.map_err(io::Error::other)? };
        let sender = GatherStream::start(options).map_err(io::Error::other)?;
        fcntl(std::os::fd::AsRawFd::as_raw_fd(sender.pipe()), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        senders.push(sender);
    }
    feed(&mut senders, kbit, seconds);
    // All end at once.
    let ended: Vec<_> = senders.into_iter().map(|sender| thread::spawn(|| sender.finish())).collect();
    let ended = ended.into_iter().map(thread::JoinHandle::join);
    Ok(ended.filter(|result| matches!(result, Ok(Ok(_)))).count())
}

/// Gives each client its bytes at a steady pace; bytes for which a client has no room are left out.
fn feed(senders: &mut [GatherStream], kbit: u64, seconds: u64) {
    let block = vec![0x5a; (kbit * 125 * TICK.as_millis() as u64 / 1000) as usize];
    let (began, mut next) = (Instant::now(), Instant::now());
    while began.elapsed() < Duration::from_secs(seconds) {
        for sender in &mut *senders {
            let _ = sender.write(&block);
        }
        next += TICK;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}
