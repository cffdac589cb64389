use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use groupflow_host::sockopt::PrivateListener;

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gf-private-{name}-{}", std::process::id()))
}

#[test]
fn the_file_is_its_owners_while_somebody_listens() {
    let path = path("owner");
    let listener = PrivateListener::open(&path).expect("it listens");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(listener.accept().expect_err("nobody came").kind(), ErrorKind::WouldBlock);
    let client = UnixStream::connect(listener.path()).expect("connected");
    let served = listener.accept().expect("it is this user's");
    assert_eq!(
        served.peer_addr().expect("an address").is_unnamed(),
        client.local_addr().expect("one").is_unnamed()
    );
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn only_the_socket_of_a_dead_program_is_replaced() {
    let path = path("dead");
    drop(UnixListener::bind(&path).expect("a socket"));
    let listener = PrivateListener::open(&path).expect("the dead socket is replaced");
    let in_use = PrivateListener::open(&path).expect_err("somebody answers there");
    assert_eq!(in_use.kind(), ErrorKind::AddrInUse);
    UnixStream::connect(&path).expect("the first one still listens");
    drop(listener);
    std::fs::write(&path, "kept").expect("a file");
    let refused = PrivateListener::open(&path).expect_err("no socket is there");
    assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    assert_eq!(std::fs::read(&path).expect("the file is there"), b"kept");
    std::fs::remove_file(&path).expect("removed");
}
