//! Sends stdin to a server that gathers, through the library.
//!
//! `gather_send IP:PORT NAME TOKEN [PIN]`: PIN is the fingerprint that the server reports; without it,
//! nothing is encrypted.

use std::error::Error;
use std::io;

use groupflow_gather::agent::args::GatherSendArgs;
use groupflow_gather::agent::stream::GatherStream;
use groupflow_host::secure::SecureSend;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [to, name, token, pin @ ..] = &arguments[..] else {
        return Err("usage: gather_send IP:PORT NAME TOKEN [PIN]".into());
    };
    let known = match pin.first() {
        Some(pin) => SecureSend::pinned(pin).ok_or("PIN is no SHA-256")?,
        None => SecureSend::plain(),
    };
    let mut stream = GatherStream::start(GatherSendArgs::new(to.parse()?, name, token, known)?)?;
    let copied = io::copy(&mut io::stdin(), &mut stream);
    // The stream knows better than the pipe why it is over.
    let (id, summary) = (stream.id(), stream.finish()?);
    copied?;
    println!("stream {id}: {} bytes delivered in {:.1} s", summary.bytes, summary.seconds);
    Ok(())
}
