//! The clients' connections, and their bound. When all places are taken, one without a client of P4Runtime
//! gives way. Nothing that a client does ends the listener.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{ready, Context, Poll};
use std::time::Duration;

use groupflow_base::gives_way;
use groupflow_host::process::lock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{sleep, Sleep};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

/// The most connections at once. Clients, of which arbitration takes fewer, keep their places.
pub const CONNECTION_LIMIT: usize = 256;
/// The pause after a connection that could not be taken, for want of file descriptors; another one gives way.
const PAUSE: Duration = Duration::from_millis(10);

/// The use of a connection, which its calls note: 1 once there was a call, and 2 more for each open stream of
/// a client that takes part in arbitration.
#[derive(Debug, Clone, Default)]
pub struct Place(Arc<AtomicUsize>);

/// A client that takes part in arbitration: its connection keeps its place.
#[derive(Debug)]
pub struct Client(Place);

impl Place {
    pub fn call(&self) {
        self.0.fetch_or(1, Ordering::Relaxed);
    }

    pub fn client(&self) -> Client {
        self.0.fetch_add(2, Ordering::Relaxed);
        Client(self.clone())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(2, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Taken {
    from: IpAddr,
    place: Place,
    /// When this goes, the connection does.
    _hold: oneshot::Sender<()>,
}

type Places = BTreeMap<u64, Taken>;

/// A connection, which has a place until it is dropped.
pub struct Connection {
    stream: TcpStream,
    number: u64,
    place: Place,
    places: Arc<Mutex<Places>>,
    /// Resolves when the connection has to give way.
    gone: oneshot::Receiver<()>,
}

/// The connections of a listener, one after the other.
pub struct Connections {
    listener: TcpListener,
    places: Arc<Mutex<Places>>,
    next: u64,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Connections {
    pub fn new(listener: TcpListener) -> Connections {
        Connections { listener, places: Arc::default(), next: 0, pause: None }
    }

    fn take(&mut self, stream: TcpStream, from: IpAddr) -> Option<Connection> {
        let mut places = lock(&self.places);
        if places.len() >= CONNECTION_LIMIT {
            make_way(&mut places)?;
        }
        let (number, place) = (self.next, Place::default());
        self.next += 1;
        let (hold, gone) = oneshot::channel();
        places.insert(number, Taken { from, place: place.clone(), _hold: hold });
        let places = Arc::clone(&self.places);
        Some(Connection { stream, number, place, places, gone })
    }
}

/// Closes a connection without a client, if there is one.
fn make_way(places: &mut Places) -> Option<()> {
    let of_use = |most| {
        let all = places.iter().filter(move |(_, other)| other.place.0.load(Ordering::Relaxed) <= most);
        gives_way(all.map(|(number, other)| (*number, other.from)))
    };
    let gone = of_use(0).or_else(|| of_use(1))?;
    tracing::warn!("a connection without a client gives way");
    places.remove(&gone).map(drop)
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.places).remove(&self.number);
    }
}

impl Stream for Connections {
    type Item = io::Result<Connection>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match ready!(self.listener.poll_accept(context)) {
                Ok((stream, peer)) => {
                    // A connection that is gone already ends by itself.
                    drop(stream.set_nodelay(true));
                    if let Some(connection) = self.take(stream, peer.ip()) {
                        return Poll::Ready(Some(Ok(connection)));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    make_way(&mut lock(&self.places));
                    self.pause = Some(Box::pin(sleep(PAUSE)));
                }
            }
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Place;

    fn connect_info(&self) -> Place {
        self.place.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if Pin::new(&mut self.gone).poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[path = "tests/connections.rs"]
mod tests;
