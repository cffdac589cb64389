use std::os::unix::fs::PermissionsExt;

use groupflow_host::sockopt::{is_ours, listen};
use socket2::{Domain, SockAddr, Socket, Type};

#[test]
fn the_file_is_its_owners_and_the_peer_is_known() {
    let path = std::env::temp_dir().join(format!("gf-private-{}", std::process::id()));
    let listener = listen(&path).expect("it listens");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let client = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
    client.connect(&SockAddr::unix(&path).expect("short")).expect("connected");
    let (served, _) = listener.accept().expect("accepted");
    assert!(is_ours(&served) && is_ours(&client));
    std::fs::remove_file(&path).expect("removed");
}
