//! The compiler's results for small programs. `golden/NAME.p4` are programs with a mistake each, and the
//! messages in `NAME.txt`; the P4Info of some is in `NAME.txtpb`.
//!
//! `GOLDEN=write cargo test -p groupflow-compiler golden` writes these files as they are now.

use std::fs;
use std::path::Path;

use groupflow_compiler::source::Files;

use super::{compiled, messages, NoFiles};

/// Compares what `make` makes of the programs in `golden` with what is written beside each.
fn compare(extension: &str, is_there: impl Fn(&Path) -> bool, make: impl Fn(&str, &str) -> String) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder of programs")
        .filter_map(|entry| entry.expect("a file").file_name().into_string().ok())
        .filter(|name| name.ends_with(".p4") && is_there(&folder.join(name).with_extension(extension)))
        .collect();
    names.sort();
    let mut differ = Vec::new();
    for name in &names {
        let text = fs::read_to_string(folder.join(name)).expect("a program");
        let found = make(name, &text);
        let path = folder.join(name).with_extension(extension);
        if std::env::var("GOLDEN").is_ok_and(|mode| mode == "write") {
            fs::write(&path, &found).expect("a result is written");
        } else if fs::read_to_string(&path).unwrap_or_default() != found {
            differ.push(format!("{name}:\n{found}"));
        }
    }
    assert!(differ.is_empty(), "results changed; see above in this file:\n{}", differ.join("\n"));
    names.len()
}

#[test]
fn messages_are_as_written() {
    let count = compare("txt", |_| true, |name, text| messages(name, text, &NoFiles));
    assert!(count >= 60, "{count} programs are there");
}

#[test]
fn p4info_is_as_written() {
    let count = compare("txtpb", Path::exists, |name, text| {
        compiled(name, text, &NoFiles).p4info.expect("a program without errors")
    });
    assert!(count > 0);
}

/// A file that each of the others includes.
struct Twice;

impl Files for Twice {
    fn read(&self, path: &str) -> Option<String> {
        match path {
            "one.p4" | "other.p4" => Some("#include \"./sizes.p4\"\n#include \"sizes.p4\"\n".to_owned()),
            "sizes.p4" | "./sizes.p4" => Some("#pragma once\nconst bit<8> SIZE = 1;\n".to_owned()),
            _ => None,
        }
    }
}

#[test]
fn a_file_with_pragma_once_is_read_once() {
    let program =
        "#include \"one.p4\"\n#include \"other.p4\"\n".to_owned() + include_str!("golden/all-right.p4");
    assert_eq!(messages("once.p4", &program, &Twice), "");
}

/// p4c writes a string between JSON's quotes as it is, and so BMv2 reads its escapes.
#[test]
fn a_logged_string_has_no_escapes() {
    let log = r#"log_msg("\"high\" \\ low\n");"#;
    let text = include_str!("golden/all-right.p4").replacen("mark_to_drop(standard);", log, 1);
    let json = compiled("log.p4", &text, &NoFiles).json.expect("a program without errors").to_string();
    assert!(json.contains(r#""value":"\"high\" \\ low\n""#), "{json}");
}
