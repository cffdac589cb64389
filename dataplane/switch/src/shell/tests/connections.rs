use super::*;
use tokio::io::AsyncReadExt;
use tokio_stream::StreamExt;

async fn listening() -> io::Result<(Connections, std::net::SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Ok((Connections::new(listener), address))
}

#[tokio::test]
async fn connections_without_a_client_give_way_those_without_a_call_first() -> io::Result<()> {
    let (mut connections, address) = listening().await?;
    let mut held = Vec::new();
    for _ in 0..CONNECTION_LIMIT {
        let client = TcpStream::connect(address).await?;
        let Some(connection) = connections.next().await.transpose()? else { panic!("no connection") };
        connection.place.call();
        held.push((client, connection));
    }
    let clients: Vec<Client> = held[1..].iter().map(|(_, taken)| taken.place.client()).collect();
    let mut newer = Vec::new();
    for gone in [0, CONNECTION_LIMIT] {
        newer.push(TcpStream::connect(address).await?);
        let Some(connection) = connections.next().await.transpose()? else { panic!("no connection") };
        held.push((TcpStream::connect(address).await?, connection));
        let error = held[gone].1.read(&mut [0]).await.expect_err("gave way");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    }
    drop(clients);
    Ok(())
}

#[tokio::test]
async fn where_all_have_clients_a_newcomer_is_closed() -> io::Result<()> {
    let (mut connections, address) = listening().await?;
    let mut held = Vec::new();
    for _ in 0..CONNECTION_LIMIT {
        let client = TcpStream::connect(address).await?;
        let Some(connection) = connections.next().await.transpose()? else { panic!("no connection") };
        held.push((connection.place.client(), client, connection));
    }
    let mut refused = TcpStream::connect(address).await?;
    let next = tokio::spawn(async move { connections.next().await.is_some() });
    assert_eq!(refused.read(&mut [0]).await?, 0, "closed");
    held.pop();
    let _last = TcpStream::connect(address).await?;
    assert!(next.await?, "a place was free again");
    Ok(())
}
