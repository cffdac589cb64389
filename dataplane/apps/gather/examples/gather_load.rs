//! A load for `gfagent gather-serve`: many clients in one process.
//!
//! `gather_load IP:PORT CLIENTS KBIT SECONDS [PIN]` sends as the clients c0, c1, ... with the token c0ffee.
//! Each client sends KBIT kbit/s over as many connections as the server wants, encrypted if there is a PIN.
//! At the end the program says how many streams were delivered as a whole.

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::Parser;
use groupflow_base::StreamId;
use groupflow_gather::agent::args::GatherSendArgs;
use groupflow_gather::agent::client::Client;
use groupflow_host::files::Input;
use groupflow_host::poller::Poller;
use groupflow_host::report::Reporter;
use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::sys::resource::{getrlimit, setrlimit, Resource};

/// Memory of each client for bytes that are not delivered yet.
const MEMORY: &str = "64KiB";
/// A client's thread needs little stack.
const STACK: usize = 256 << 10;
/// Inputs are fed so often.
const TICK: Duration = Duration::from_millis(50);

/// The command line of one client.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    send: GatherSendArgs,
}

/// A client with the pipe that takes its bytes. True: the stream was delivered as a whole.
type Sender = (File, JoinHandle<io::Result<bool>>);

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
    let known = match pin.first() {
        Some(pin) => format!("--tls-pin={pin}"),
        None => "--plain".to_owned(),
    };
    let mut senders = (0..clients)
        .map(|client| {
            let name = format!("c{client}");
            let line =
                ["", "--to", to, "--client", &name, "--token-file", "c0ffee", "--memory", MEMORY, &known];
            start(CommandLine::try_parse_from(line).map_err(io::Error::other)?.send)
        })
        .collect::<io::Result<Vec<Sender>>>()?;
    feed(&mut senders, kbit, seconds);
    // All end at once.
    let ending: Vec<_> = senders.into_iter().map(|(_, thread)| thread).collect();
    let ended = ending.into_iter().map(JoinHandle::join);
    Ok(ended.filter(|result| matches!(result, Ok(Ok(true)))).count())
}

/// Starts a client in a thread of its own, which takes no signals.
fn start(args: GatherSendArgs) -> io::Result<Sender> {
    let (reader, writer) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    fcntl(std::os::fd::AsRawFd::as_raw_fd(&writer), FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let run = move || {
        let trust = args.secure.trust(args.to).map_err(io::Error::other)?;
        let input = Input::new(reader.into(), "the load");
        let mut client = Client::new(&args, trust, StreamId(rand::random()), input, Poller::new()?)?;
        Ok(client.run(&mut Reporter::quiet()).is_ok())
    };
    Ok((writer.into(), thread::Builder::new().stack_size(STACK).spawn(run)?))
}

/// Gives each client its bytes at a steady pace; bytes for which a client has no room are left out.
fn feed(senders: &mut [Sender], kbit: u64, seconds: u64) {
    let block = vec![0x5a; (kbit * 125 * TICK.as_millis() as u64 / 1000) as usize];
    let (began, mut next) = (Instant::now(), Instant::now());
    while began.elapsed() < Duration::from_secs(seconds) {
        for (pipe, _) in &mut *senders {
            let _ = pipe.write(&block);
        }
        next += TICK;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}
