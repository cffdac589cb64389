//! An HTTP server in a thread of its own, apart from the loop that handles datagrams; and the bytes of a file
//! as the body of a response: each chunk is read once the client has room for it and the chunk has arrived.

use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use groupflow_host::error::{plain, AgentError};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::sync::{mpsc, watch, Semaphore};
use tokio_stream::wrappers::ReceiverStream;

use super::shelf::{PartialFile, Progress};

/// The most clients served at one time; further clients wait to be accepted.
const CLIENTS: usize = 512;
/// Time within which a client must send its request's headers.
const HEADERS: Duration = Duration::from_secs(30);
/// Time after which a client that reads nothing is disconnected, since it takes another client's place.
pub const STALLED: Duration = Duration::from_secs(60);
/// Pause after an error of `accept`, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A response: a file, or a text.
pub type HttpResponse = Response<http_body_util::combinators::UnsyncBoxBody<Bytes, io::Error>>;

pub fn listen(address: SocketAddrV4) -> Result<(TcpListener, SocketAddr), AgentError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|e| {
        let cause = format!("cannot serve HTTP at {address}: {}", plain(&e));
        AgentError::new("http", cause, "choose another --http")
    })
}

/// Answers requests until the process ends. A client that reads nothing of its response for `stalled` is
/// disconnected.
pub fn serve<H, F>(listener: TcpListener, stalled: Duration, handler: H) -> Result<(), AgentError>
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = HttpResponse> + Send + 'static,
{
    let failed =
        |e: io::Error| AgentError::new("http", format!("no HTTP server: {}", plain(&e)), "report this");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(failed)?
    };
    let run = move || runtime.block_on(accept(listener, stalled, Arc::new(handler)));
    std::thread::Builder::new().name("http".to_owned()).spawn(run).map(drop).map_err(failed)
}

async fn accept<H, F>(listener: tokio::net::TcpListener, stalled: Duration, handler: Arc<H>)
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = HttpResponse> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(CLIENTS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // The time limit also covers a receive window that stays closed, and a client that has vanished.
        if socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(stalled)).is_err() {
            continue;
        }
        let handler = Arc::clone(&handler);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = handler(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(CHUNK as usize);
            // A client that disconnects is not an error of the server.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

pub fn empty(status: StatusCode) -> HttpResponse {
    bytes(status, Bytes::new())
}

pub fn json(status: StatusCode, form: &Value) -> HttpResponse {
    let mut answer = bytes(status, format!("{form}\n").into());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// A response that states an error in one line.
pub fn problem(status: StatusCode, text: &str) -> HttpResponse {
    json(status, &serde_json::json!({"error": text}))
}

fn bytes(status: StatusCode, bytes: Bytes) -> HttpResponse {
    let body = Full::new(bytes).map_err(|never: Infallible| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer
}

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
