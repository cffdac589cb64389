use super::*;
use crate::agent::digest;

#[test]
fn where_the_file_system_cannot_rename_without_replacing_a_link_does_the_same() {
    let folder = std::env::temp_dir().join(format!("gfagent-incoming-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder");
    let (part, path) = (folder.join("part"), folder.join("file"));
    let digest = digest::read(&b"new"[..]).expect("memory");
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
