use super::*;
use sha2::{Digest as _, Sha256};
use std::fs;

#[test]
fn a_file_that_changes_is_given_up_and_a_link_is_no_file() {
    let folder = std::env::temp_dir().join(format!("gfagent-outgoing-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("a");
    fs::write(&path, b"before").expect("written");
    let (digest, stamp, _) = hash(&path).expect("a file");
    assert_eq!(digest, Digest(Sha256::digest(b"before").into()));
    let mut source = OutgoingFile::new(path.clone(), stamp);
    let mut bytes = [0; 6];
    assert_eq!((source.len(), source.read_at(0, &mut bytes)), (6, Ok(())));
    assert_eq!(&bytes, b"before");
    // The new content has the old length and lies within the block already read. File timestamps are
    // coarse, so this waits until the stamp differs.
    while fs::metadata(&path).map(|about| Stamp::of(&about) == stamp).expect("there") {
        fs::write(&path, b"behind").expect("written");
    }
    assert_eq!(source.read_at(0, &mut bytes), Err(CHANGED.to_owned()));
    assert_eq!(
        OutgoingFile::new(path.clone(), stamp).read_at(0, &mut bytes),
        Err(CHANGED.to_owned()),
        "not begun yet"
    );
    let link = folder.join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    assert!(hash(&link).is_err());
    assert!(hash(&folder).is_err());
    fs::remove_dir_all(&folder).expect("removed");
}
