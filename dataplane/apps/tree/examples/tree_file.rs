//! Sends a file to all hosts of a tree, or receives one, through the library.
//!
//! `tree_file send|recv IP:PORT TOKEN PIN|plain PATH [MEMBERS]`: PIN is the fingerprint that the dispatchers
//! report; with `plain` nothing is encrypted. `send` begins when MEMBERS hosts are in the tree.

use std::error::Error;
use std::fs::File;
use std::io;

use groupflow_host::options::StreamStart;
use groupflow_host::secure::SecureSend;
use groupflow_tree::agent::session::{HostOptions, TreeReader, TreeWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, to, token, pin, path, members @ ..] = &arguments[..] else {
        return Err("usage: tree_file send|recv IP:PORT TOKEN PIN|plain PATH [MEMBERS]".into());
    };
    let known = match pin.as_str() {
        "plain" => SecureSend::plain(),
        pin => SecureSend::pinned(pin).ok_or("PIN is no SHA-256")?,
    };
    let mut options = HostOptions::new(to.parse()?, token, known)?;
    let summary = if what == "send" {
        options.members = members.first().map_or(Ok(1), |members| members.parse())?;
        let mut stream = TreeWriter::start(options)?;
        let copied = io::copy(&mut File::open(path)?, &mut stream);
        // The host knows better than the pipe why it is over.
        let summary = stream.finish()?;
        copied?;
        summary
    } else {
        options.from = StreamStart::Start;
        let options = options.on_event(|event, fields| eprintln!("{event} {fields}"));
        let mut stream = TreeReader::start(options)?;
        io::copy(&mut stream, &mut File::create(path)?)?;
        stream.finish()?
    };
    println!("{} bytes in {:.1} s", summary.bytes, summary.seconds);
    Ok(())
}
