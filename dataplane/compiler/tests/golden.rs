//! What the compiler says about small programs with a mistake each: `golden/NAME.p4` with the messages in `NAME.txt`.
//!
//! `GOLDEN=write cargo test -p groupflow-compiler golden` writes the messages as they are now.

use std::fs;
use std::path::Path;

use groupflow_compiler::source::NoFiles;

use super::messages;

#[test]
fn messages_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder of programs")
        .filter_map(|entry| entry.expect("a file").file_name().into_string().ok())
        .filter(|name| name.ends_with(".p4"))
        .collect();
    names.sort();
    let mut differ = Vec::new();
    for name in &names {
        let text = fs::read_to_string(folder.join(name)).expect("a program");
        let found = messages(name, &text, &NoFiles);
        let path = folder.join(name).with_extension("txt");
        if std::env::var("GOLDEN").is_ok_and(|mode| mode == "write") {
            fs::write(&path, &found).expect("messages are written");
        } else if fs::read_to_string(&path).unwrap_or_default() != found {
            differ.push(format!("{name}:\n{found}"));
        }
    }
    assert!(names.len() >= 60, "{} programs are there", names.len());
    assert!(differ.is_empty(), "messages changed; see above in this file:\n{}", differ.join("\n"));
}
