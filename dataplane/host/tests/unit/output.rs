use std::fs;

use std::path::Path;

use groupflow_host::files::Output;

#[test]
fn a_longer_part_left_by_an_earlier_run_leaves_nothing_behind() {
    let path = std::env::temp_dir().join(format!("gfagent-part-{}", std::process::id()));
    let part = path.with_extension("part");
    fs::write(&part, b"something longer than the file").expect("written");
    let mut output = Output::open(&path).expect("opened");
    output.write(&mut b"short".to_vec()).expect("written");
    output.finish().expect("renamed");
    assert_eq!(fs::read(&path).expect("there"), b"short");
    fs::remove_file(&path).expect("removed");
}

#[test]
fn a_file_appears_when_it_is_complete() {
    let folder = std::env::temp_dir().join(format!("gfagent-output-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("out.bin");
    let mut output = Output::open(&path).expect("opened");
    output.write(&mut b"abc".to_vec()).expect("written");
    assert!(!path.exists());
    output.finish().expect("renamed");
    assert_eq!(fs::read(&path).expect("read"), b"abc");
    assert!(!folder.join("out.bin.part").exists());
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn only_a_stream_that_began_leaves_a_part() {
    let path = std::env::temp_dir().join(format!("gfagent-begun-{}", std::process::id()));
    let part = path.with_extension("part");
    drop(Output::open(&path).expect("opened"));
    assert!(!part.exists());
    Output::open(&path).expect("opened").write(&mut b"abc".to_vec()).expect("written");
    assert_eq!(fs::read(&part).expect("kept"), b"abc");
    fs::remove_file(&part).expect("removed");
}

#[test]
fn special_files_are_written_in_place() {
    let mut output = Output::open(Path::new("/dev/null")).expect("opened");
    output.write(&mut b"abc".to_vec()).expect("written");
    output.finish().expect("nothing to rename");
    assert!(!Path::new("/dev/null.part").exists());
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let error = Output::open(Path::new("/nonexistent/x")).map(|_| ()).map_err(|e| e.cause);
    assert_eq!(error, Err("cannot write /nonexistent/x: no such file or directory".to_owned()));
}
