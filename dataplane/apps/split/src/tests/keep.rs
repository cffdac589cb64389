use super::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn a_connection_outlives_whoever_gave_it_away() {
    let path = std::env::temp_dir().join(format!("gfkeep-{}", std::process::id()));
    let unix = listen_at(&path).expect("a listener");
    let keeper_path = path.clone();
    let keeper = std::thread::spawn(move || run(&unix, &keeper_path, Duration::from_secs(20)));
    let join = || Keeper::join(dial(&path).expect("it listens"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut ours = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let (mut theirs, _) = listener.accept().expect("accepted");
    let (first, kept) = join().expect("a keeper");
    assert!(kept.is_empty());
    ours.write_all(b"one ").expect("sent");
    first.keep(7, &json!({"who": "m1"}), &ours).expect("kept");
    first.keep(8, &json!({}), &ours).expect("kept");
    first.drop_kept(8).expect("dropped");
    drop((first, ours));
    let (second, mut kept) = join().expect("the keeper");
    let (key, note, fd) = kept.pop().expect("one is kept");
    assert!(kept.is_empty() && key == 7 && note == json!({"who": "m1"}));
    let mut ours = TcpStream::from(fd);
    ours.write_all(b"two").expect("sent");
    second.drop_kept(7).expect("dropped");
    drop((second, ours));
    let mut got = String::new();
    theirs.read_to_string(&mut got).expect("the end comes when nobody keeps it");
    assert_eq!(got, "one two");
    keeper.join().expect("no panic").expect("it ends when nothing is kept");
}
