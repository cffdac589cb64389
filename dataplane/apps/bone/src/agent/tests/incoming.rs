use super::*;

#[test]
fn a_digest_is_sha_256_in_hexadecimal() {
    let path = std::env::temp_dir().join(format!("gfagent-digest-{}", std::process::id()));
    fs::write(&path, b"abc").expect("written");
    let digest = digest_of(&File::open(&path).expect("a file")).expect("read");
    fs::remove_file(&path).expect("removed");
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), text);
    assert_eq!(Digest::parse(text), Some(digest));
    for bad in ["", "ba", &text[1..], &text.replace('b', "x"), &"é".repeat(32)] {
        assert_eq!(Digest::parse(bad), None, "{bad}");
    }
}

#[test]
fn where_the_file_system_cannot_rename_without_replacing_a_link_does_the_same() {
    let folder = std::env::temp_dir().join(format!("gfagent-incoming-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder");
    let (part, path) = (folder.join("part"), folder.join("file"));
    let digest = Digest(Sha256::digest(b"new").into());
    let name = FileName::parse("file").expect("a name");
    let incoming = || {
        let announced = Announced { name: name.clone(), size: 3, digest };
        let incoming = IncomingFile::create(part.clone(), announced).expect("a file");
        incoming.write(&FileWrite { offset: 0, bytes: b"new".to_vec() }).expect("written");
        incoming
    };
    incoming().adopt_by(&path, |_, _| Err(Errno::EINVAL)).expect("adopted");
    assert_eq!((fs::read(&path).expect("a file"), part.exists()), (b"new".to_vec(), false));
    fs::write(&path, b"old").expect("written");
    let error = incoming().adopt_by(&path, |_, _| Err(Errno::EINVAL)).expect_err("there is one");
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!((fs::read(&path).expect("a file"), part.exists()), (b"old".to_vec(), false));
    let _ = fs::remove_dir_all(&folder);
}
