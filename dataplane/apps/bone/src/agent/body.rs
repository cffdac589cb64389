//! The bytes of a file as the body of a response: each chunk is read once the client has room for it and the
//! chunk has arrived.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;

use super::shelf::{PartialFile, Progress};

/// Bytes of one read. At most two chunks wait for a client: one here, and one that is being sent.
pub const CHUNK: u64 = 256 << 10;

type Chunk = io::Result<Frame<Bytes>>;
pub type FileBody = StreamBody<ReceiverStream<Chunk>>;

/// The body of a file that is stored whole.
pub fn stored(file: File, range: Range<u64>) -> FileBody {
    let (sender, chunks) = mpsc::channel(1);
    tokio::spawn(async move {
        send(&sender, &Arc::new(file), range).await;
    });
    StreamBody::new(ReceiverStream::new(chunks))
}

/// The body of a file that is still arriving. The last byte is held back until the whole file matches its
/// digest, so that a complete response is always a correct one.
pub fn arriving(arriving: PartialFile, range: Range<u64>, progress: watch::Receiver<Progress>) -> FileBody {
    let (sender, chunks) = mpsc::channel(1);
    tokio::spawn(follow(sender, arriving, range, progress));
    StreamBody::new(ReceiverStream::new(chunks))
}

async fn follow(
    sender: mpsc::Sender<Chunk>, arriving: PartialFile, range: Range<u64>,
    mut progress: watch::Receiver<Progress>,
) {
    let Range { mut start, end } = range;
    while start < end {
        let there = match &*progress.borrow_and_update() {
            Progress::Stored => Ok(end),
            Progress::Arriving(now) if now.digest == arriving.digest => Ok(now.position.min(end - 1)),
            Progress::Arriving(_) | Progress::Asked => Err("the hub sends another file".to_owned()),
            Progress::Failed(_, why) => Err(why.clone()),
        };
        match there {
            Ok(there) if there > start => {
                if !send(&sender, &arriving.file, start..there).await {
                    return;
                }
                start = there;
            }
            Ok(_) => {
                let gone = tokio::select! {
                    changed = progress.changed() => changed.is_err(),
                    () = sender.closed() => return,
                };
                if gone {
                    let _ = sender.send(Err(io::Error::other("the rim stopped"))).await;
                    return;
                }
            }
            Err(why) => {
                let _ = sender.send(Err(io::Error::other(why))).await;
                return;
            }
        }
    }
}

/// Sends the bytes of a range. False: the client is gone, or the file cannot be read.
async fn send(sender: &mpsc::Sender<Chunk>, file: &Arc<File>, range: Range<u64>) -> bool {
    let mut start = range.start;
    while start < range.end {
        // A chunk is read only when the client has room for it.
        let Ok(room) = sender.reserve().await else { return false };
        let (file, count) = (Arc::clone(file), (range.end - start).min(CHUNK));
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = vec![0; count as usize];
            file.read_exact_at(&mut chunk, start).map(|()| Bytes::from(chunk))
        });
        let chunk = read.await.unwrap_or_else(|_| Err(io::Error::other("reading failed")));
        let failed = chunk.is_err();
        room.send(chunk.map(Frame::data));
        if failed {
            return false;
        }
        start += count;
    }
    true
}
