//! Small changes of a program without mistakes, and what the compiler says of each.
//!
//! `changes.txt` has blocks of lines: `- old` and `+ new` for each piece of `golden/all-right.p4` that is
//! replaced, then the messages. `GOLDEN=write cargo test -p groupflow-compiler changes` writes the messages.

use std::fs;
use std::path::Path;

use super::{compiled, NoFiles};

const PROGRAM: &str = include_str!("golden/all-right.p4");

/// The changes of a block, with the messages of the changed program below them.
fn told(block: &str) -> String {
    let (mut program, mut made) = (PROGRAM.to_owned(), String::new());
    let mut lines = block.lines().filter(|line| line.starts_with(['-', '+']));
    while let (Some(old), Some(new)) = (lines.next(), lines.next()) {
        made += &format!("{old}\n{new}\n");
        let (old, new) = (&old[2..], &new[2..]);
        assert!(program.contains(old), "nowhere: {old}");
        program = program.replacen(old, new, 1);
    }
    for one in compiled("changed.p4", &program, &NoFiles).messages {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let help = one["help"].as_str().map_or(String::new(), |help| format!(" ({help})"));
        made += &format!("{}: {}{help}\n", text("severity"), text("message"));
    }
    made
}

#[test]
fn changes_have_their_messages() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/changes.txt");
    let written = fs::read_to_string(&path).expect("changes");
    let made: Vec<String> = written.split("\n\n").map(told).collect();
    let made = made.join("\n");
    if std::env::var("GOLDEN").is_ok_and(|mode| mode == "write") {
        fs::write(&path, &made).expect("messages are written");
    } else {
        assert!(made == written, "other messages:\n{made}");
    }
}
