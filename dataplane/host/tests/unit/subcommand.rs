use std::ffi::OsString;

use groupflow_host::subcommand::with_token;

#[test]
fn a_token_comes_from_a_file() {
    let path = std::env::temp_dir().join(format!("gf-token-{}", std::process::id()));
    std::fs::write(&path, "c0ffee\n").expect("written");
    let path = path.to_str().expect("UTF-8");
    let read = |words: &[&str]| with_token(words.iter().map(OsString::from));
    let wanted: Vec<OsString> = ["send", "--token-file=c0ffee", "--json"].map(OsString::from).into();
    assert_eq!(read(&["send", "--token-file", path, "--json"]), Ok(wanted.clone()));
    assert_eq!(read(&["send", &format!("--token-file={path}"), "--json"]), Ok(wanted));
    assert_eq!(read(&["--token-file"]), Ok(vec![OsString::from("--token-file")]), "clap refuses it");
    std::fs::remove_file(path).expect("removed");
    let gone = read(&["--token-file", path]);
    assert_eq!(gone, Err(format!("--token-file {path}: no such file or directory")));
}
