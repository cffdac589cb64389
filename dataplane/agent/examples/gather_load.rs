//! A load for `gfagent gather-serve`: many clients in one process.
//!
//! `gather_load IP:PORT CLIENTS KBIT SECONDS` sends as c0, c1, ... with the token c0ffee, each client KBIT kbit/s
//! over as many connections as the server wants, and says at the end how many streams were delivered as a whole.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use groupflow_agent::gather::args::GatherSendArgs;
use groupflow_agent::gather::client::Client;
use groupflow_agent::gather::send::Input;
use groupflow_agent::report::Reporter;
use groupflow_protocol::gather::StreamId;
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::SignalFd;

/// A client needs little stack.
const STACK: usize = 128 << 10;
/// Inputs are fed so often.
const TICK: Duration = Duration::from_millis(50);

#[derive(Debug, Parser)]
struct Options {
    #[command(flatten)]
    send: GatherSendArgs,
}

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
    let [to, clients, kbit, seconds] = arguments else {
        return Err(io::Error::other("usage: gather_load IP:PORT CLIENTS KBIT SECONDS"));
    };
    let number = |text: &String| text.parse::<u64>().map_err(io::Error::other);
    let (clients, kbit, seconds) = (number(clients)?, number(kbit)?, number(seconds)?);
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let mut feeds = Vec::new();
    let mut threads = Vec::new();
    for client in 0..clients {
        let (reader, writer) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        nix::fcntl::fcntl(
            std::os::fd::AsRawFd::as_raw_fd(&writer),
            nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK),
        )?;
        feeds.push(std::fs::File::from(writer));
        let to = to.clone();
        let run = move || send(&to, client, reader);
        threads.push(thread::Builder::new().stack_size(STACK).spawn(run)?);
    }
    feed(feeds, kbit, seconds);
    let ended = threads.into_iter().map(thread::JoinHandle::join);
    Ok(ended.filter(|result| matches!(result, Ok(Ok(())))).count())
}

/// Gives each client its bytes at a steady pace; what a client has no room for is left out.
fn feed(mut feeds: Vec<std::fs::File>, kbit: u64, seconds: u64) {
    let block = vec![0x5a; (kbit * 125 * TICK.as_millis() as u64 / 1000) as usize];
    let (began, mut next) = (Instant::now(), Instant::now());
    while began.elapsed() < Duration::from_secs(seconds) {
        for feed in &mut feeds {
            let _ = feed.write(&block);
        }
        next += TICK;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn send(to: &str, client: u64, input: OwnedFd) -> io::Result<()> {
    let name = format!("c{client}");
    let arguments =
        ["gather_load", "--to", to, "--client", &name, "--token", "c0ffee", "--memory", "64KiB", "--plain"];
    let options = Options::try_parse_from(arguments).map_err(io::Error::other)?;
    // No signal comes to it.
    let signals = SignalFd::new(&SigSet::empty())?;
    let input = Input::new(input.into(), "its feed");
    let mut client = Client::new(&options.send, None, StreamId(rand::random()), input, signals)?;
    let mut reporter = Reporter::new(false, false, "gather-send", &name, None);
    client.run(&mut reporter).map(drop).map_err(io::Error::other)
}
