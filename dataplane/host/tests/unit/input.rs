//! A file that is overwritten while it is sent.

use std::fs;
use std::io::Write;

use groupflow_base::SeekableBytes;
use groupflow_host::files::{FileBytes, Input, Stamp, CHANGED};

/// A file of its own for each test.
fn file(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("gfagent-{name}-{}", std::process::id()));
    fs::write(&path, b"before").expect("written");
    path
}

/// Writes until the file's stamp has changed, as the clock of files is coarse.
fn overwrite(path: &std::path::Path, bytes: &[u8]) {
    let stamp = || Stamp::of(&fs::metadata(path).expect("it is there"));
    let before = stamp();
    while stamp() == before {
        let mut file = fs::File::options().write(true).open(path).expect("it is there");
        file.write_all(bytes).expect("written");
    }
}

#[test]
fn a_file_that_is_read_at_any_place_is_given_up() {
    let path = file("read-at");
    let mut file = FileBytes::open(&path).expect("it is there");
    let mut bytes = [0; 3];
    assert_eq!(file.read_at(0, &mut bytes), Ok(()));
    overwrite(&path, b"behind");
    assert_eq!(file.read_at(3, &mut bytes), Err(CHANGED.to_owned()), "of the same length, in the same block");
    fs::remove_file(&path).expect("removed");
}

#[test]
fn a_file_that_is_read_in_order_has_no_end() {
    let path = file("in-order");
    let input = Input::open(Some(&path)).expect("it is there");
    let mut bytes = [0; 64];
    assert_eq!(input.read(&mut bytes).expect("readable"), Some(6));
    overwrite(&path, b"behind");
    let error = input.read(&mut bytes).expect_err("it is another file now");
    assert!(error.to_string().contains(CHANGED), "{error}");
    let unchanged = Input::open(Some(&path)).expect("it is there");
    assert_eq!(unchanged.read(&mut bytes).expect("readable"), Some(6));
    assert_eq!(unchanged.read(&mut bytes).expect("readable"), Some(0));
    fs::remove_file(&path).expect("removed");
}
