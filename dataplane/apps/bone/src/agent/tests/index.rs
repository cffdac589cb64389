use super::*;

#[test]
fn what_is_written_reads_back_and_what_is_wrong_is_named() {
    let folder = std::env::temp_dir().join(format!("gfagent-index-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("index.json");
    assert_eq!(read_index(&path), Ok(BTreeMap::new()));
    let name = FileName::parse("日本.txt").expect("a name");
    let known = KnownFile { size: 7, digest: Digest([9; 32]), used: 3 };
    write_index(&path, [(&name, known)].into_iter()).expect("written");
    assert_eq!(read_index(&path), Ok(BTreeMap::from([(name, known)])));
    let digest = "00".repeat(32);
    for (text, problem) in [
        ("{", "not JSON: EOF while parsing an object at line 1 column 1".to_owned()),
        (r#"{"version": 2}"#, "version: 2 is not 1".to_owned()),
        (r#"{"version": 1}"#, "files: no list".to_owned()),
        (r#"{"version": 1, "files": [{"name": ""}]}"#, "files[0].name: must have 1 to 200 bytes".to_owned()),
        (
            r#"{"version": 1, "files": [{"name": "../x"}]}"#,
            "files[0].name: must not begin with a dot".to_owned(),
        ),
        (
            r#"{"version": 1, "files": [{"name": "a", "sha256": "00"}]}"#,
            "files[0].sha256: no digest".to_owned(),
        ),
        (
            &format!(r#"{{"version": 1, "files": [{{"name": "a", "sha256": "{digest}"}}]}}"#),
            "files[0].size: no number".to_owned(),
        ),
    ] {
        fs::write(&path, text).expect("written");
        assert_eq!(read_index(&path), Err(problem), "{text}");
    }
    fs::remove_dir_all(&folder).expect("removed");
}
