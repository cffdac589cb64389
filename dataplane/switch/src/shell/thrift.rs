//! `--thrift-port`: p4-utils and p4net wait until a switch listens there. Each call is refused, with what to use
//! instead.
//!
//! Thrift's binary protocol: a message begins with version and type, the call's name and its number.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// The most connections at a time; others wait.
const CONNECTIONS: usize = 16;
/// The time for a call.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of a call's name.
const NAME_LIMIT: usize = 256;
/// Version 1 with the type of a call, and of an exception.
const CALL: u32 = 0x8001_0001;
const EXCEPTION: u32 = 0x8001_0003;
const UNKNOWN_METHOD: u32 = 1;
const MESSAGE: &str = "gfswitch offers no Thrift service: use P4Runtime, or gfswitch queue, link and stats";

/// Refuses calls for ever.
pub async fn serve(listener: TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(PATIENCE, refuse(client)).await;
                    drop(place);
                });
            }
            // No more files can be opened, for now.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn refuse(mut client: TcpStream) -> std::io::Result<()> {
    if client.read_u32().await? != CALL {
        return Ok(());
    }
    let length = client.read_u32().await? as usize;
    if length > NAME_LIMIT {
        return Ok(());
    }
    let mut name = vec![0; length];
    client.read_exact(&mut name).await?;
    let number = client.read_u32().await?;
    client.write_all(&answer(&name, number)).await?;
    client.shutdown().await?;
    // Closing with unread arguments would take the answer back.
    tokio::io::copy(&mut client, &mut tokio::io::sink()).await.map(drop)
}

/// A TApplicationException: field 1 is its message, a string (type 11); field 2 its kind, an i32 (type 8).
fn answer(name: &[u8], number: u32) -> Vec<u8> {
    let text = |text: &[u8]| [&(text.len() as u32).to_be_bytes()[..], text].concat();
    let mut bytes = [&EXCEPTION.to_be_bytes()[..], &text(name), &number.to_be_bytes()].concat();
    bytes.extend([11, 0, 1]);
    bytes.extend(text(MESSAGE.as_bytes()));
    bytes.extend([8, 0, 2]);
    bytes.extend(UNKNOWN_METHOD.to_be_bytes());
    bytes.push(0);
    bytes
}
