//! `--thrift-port`: p4-utils and p4net wait until a switch listens there. Each call is refused, with what to
//! use instead and where the switch is found: `gfswitch-cli` finds it so.
//!
//! Thrift's binary protocol: a message begins with version and type, the call's name and its number.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// The most connections at a time; the oldest gives way.
const CONNECTIONS: usize = 16;
/// The longest name of a call, in bytes.
const NAME_LIMIT: usize = 256;
/// Version 1 with the type of a call, and of an exception.
const CALL: [u8; 4] = [0x80, 1, 0, 1];
const EXCEPTION: [u8; 4] = [0x80, 1, 0, 3];
const UNKNOWN_METHOD: u32 = 1;

/// Refuses calls for ever. `place` says where the switch is found.
pub async fn serve(listener: TcpListener, place: String) {
    let message: Arc<str> = format!(
        "gfswitch offers no Thrift service: use P4Runtime, or gfswitch-cli, which has the commands of \
        simple_switch_CLI; {place}"
    )
    .into();
    let mut clients = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                clients.push_back(tokio::spawn(refuse(client, Arc::clone(&message))).abort_handle());
            }
            // No more files can be opened, for now.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
        clients.retain(|client: &AbortHandle| !client.is_finished());
        if clients.len() > CONNECTIONS {
            if let Some(oldest) = clients.pop_front() {
                oldest.abort();
            }
        }
    }
}

/// Answers each call. A client sends a call at once and then waits; other bytes are the arguments of a long
/// one.
async fn refuse(mut client: TcpStream, message: Arc<str>) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let length = client.read(&mut bytes).await?;
        if length == 0 {
            return Ok(());
        }
        if let Some((name, number)) = call(&bytes[..length]) {
            client.write_all(&answer(name, number, &message)).await?;
        }
    }
}

/// The name and the number of the call that begins here.
fn call(bytes: &[u8]) -> Option<(&[u8], [u8; 4])> {
    let rest = bytes.strip_prefix(&CALL)?;
    let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
    let rest = rest.get(4..).filter(|_| length <= NAME_LIMIT)?;
    Some((rest.get(..length)?, rest.get(length..length + 4)?.try_into().ok()?))
}

/// A TApplicationException: field 1 is its message, a string (type 11); field 2 its kind, an i32 (type 8).
fn answer(name: &[u8], number: [u8; 4], message: &str) -> Vec<u8> {
    let text = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
    let mut bytes = [&EXCEPTION[..], &text(name), &number].concat();
    bytes.extend([11, 0, 1]);
    bytes.extend(text(message.as_bytes()));
    bytes.extend([8, 0, 2]);
    bytes.extend(UNKNOWN_METHOD.to_be_bytes());
    bytes.push(0);
    bytes
}
