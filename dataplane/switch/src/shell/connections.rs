//! The clients' connections: so many at once, and no silent ones. Nothing that a client does ends the listener.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, Sleep};
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// The most connections at once. Further ones are closed at once.
pub const CONNECTION_LIMIT: usize = 256;
/// The time that a new connection may stay silent.
const SILENCE: Duration = Duration::from_secs(10);
/// The pause after a connection that could not be taken, for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection, which counts until it is dropped.
pub struct Connection {
    stream: TcpStream,
    /// Until the client has said something.
    silence: Option<Pin<Box<Sleep>>>,
    _permit: OwnedSemaphorePermit,
}

/// The connections of a listener, one after the other.
pub struct Connections {
    listener: TcpListener,
    free: Arc<Semaphore>,
    silence: Duration,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Connections {
    /// The connections of a listener.
    pub fn new(listener: TcpListener) -> Connections {
        let free = Arc::new(Semaphore::new(CONNECTION_LIMIT));
        Connections { listener, free, silence: SILENCE, pause: None }
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
            let stream = match ready!(self.listener.poll_accept(context)) {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    self.pause = Some(Box::pin(sleep(PAUSE)));
                    continue;
                }
            };
            let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else {
                tracing::warn!("more than {CONNECTION_LIMIT} connections, one is closed");
                continue;
            };
            // A connection that is gone already ends by itself.
            drop(stream.set_nodelay(true));
            let silence = Some(Box::pin(sleep(self.silence)));
            return Poll::Ready(Some(Ok(Connection { stream, silence, _permit: permit })));
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.silence = None;
        } else if let Some(silence) = &mut self.silence {
            ready!(silence.as_mut().poll(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
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
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
    use tokio_stream::StreamExt;

    #[tokio::test]
    async fn connections_beyond_the_limit_are_closed_and_the_rest_goes_on() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let mut connections = Connections::new(listener);
        let mut held = Vec::new();
        for _ in 0..CONNECTION_LIMIT {
            let client = TcpStream::connect(address).await?;
            held.push((client, connections.next().await.transpose()?));
        }
        let mut refused = TcpStream::connect(address).await?;
        let next = tokio::spawn(async move { connections.next().await.is_some() });
        assert_eq!(refused.read(&mut [0]).await?, 0, "closed");
        held.pop();
        let _last = TcpStream::connect(address).await?;
        assert!(next.await?, "a place was free again");
        Ok(())
    }

    #[tokio::test]
    async fn a_silent_connection_is_let_go() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let _client = TcpStream::connect(listener.local_addr()?).await?;
        let mut connections = Connections { silence: Duration::from_millis(1), ..Connections::new(listener) };
        let Some(mut connection) = connections.next().await.transpose()? else { panic!("no connection") };
        let error = connection.read(&mut [0]).await.expect_err("let go");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        Ok(())
    }
}
