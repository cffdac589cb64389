//! The arrows between the crates of this workspace point down, and the crates below the agents do no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate, from the bottom up, with the crates that it may import.
const ARROWS: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("compiler", &[]),
    ("pipeline", &["base"]),
    ("host", &["base"]),
    ("switch", &["base", "pipeline", "host"]),
    ("transport", &["base"]),
    ("session", &["base", "transport", "host"]),
    ("apps/group", &["base", "transport", "session", "host"]),
    ("apps/split", &["base", "transport", "host"]),
    ("apps/gather", &["base", "host"]),
    ("apps/bone", &["base", "transport", "session", "host"]),
    ("apps/shape", &["base", "host"]),
    ("apps/tree", &["base", "transport", "host"]),
    ("gfagent", &["host", "group", "split", "gather", "bone", "shape", "tree"]),
    ("netsim", &["base", "pipeline", "switch", "transport", "session", "bone", "split", "tree"]),
    (
        "bindings",
        &[
            "base",
            "compiler",
            "pipeline",
            "switch",
            "transport",
            "session",
            "bone",
            "split",
            "tree",
            "netsim",
        ],
    ),
];

/// Crates without I/O, besides all apps: the outside crates that they import compute, and neither wait nor
/// ask the system.
const PURE: &[&str] = &["base", "compiler", "pipeline", "switch", "transport", "session", "netsim"];
const IO: &[&str] = &["hyper", "hyper-util", "nix", "rustls", "socket2", "tokio", "tokio-stream", "tonic"];

/// A dependency in a manifest.
#[derive(Debug)]
struct Dependency {
    name: String,
    optional: bool,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The `[dependencies]` of a crate.
fn dependencies(folder: &str) -> Vec<Dependency> {
    let manifest = fs::read_to_string(workspace().join(folder).join("Cargo.toml")).expect("a manifest");
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let entries = section.lines().filter_map(|line| line.split_once(" = "));
    entries
        .map(|(name, how)| Dependency { name: name.to_owned(), optional: how.contains("optional = true") })
        .collect()
}

fn ours(folder: &str) -> BTreeSet<String> {
    let names = dependencies(folder).into_iter();
    names.filter_map(|found| found.name.strip_prefix("groupflow-").map(str::to_owned)).collect()
}

#[test]
fn every_crate_imports_only_what_stands_below_it() {
    let root = fs::read_to_string(workspace().join("Cargo.toml")).expect("the workspace's manifest");
    let members = root.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("members");
    let members: BTreeSet<&str> = members.split('"').skip(1).step_by(2).collect();
    assert_eq!(members, ARROWS.iter().map(|&(folder, _)| folder).collect(), "the table has every crate");
    let mut below = BTreeSet::new();
    for &(folder, allowed) in ARROWS {
        let allowed: BTreeSet<String> = allowed.iter().map(|&name| name.to_owned()).collect();
        assert!(allowed.is_subset(&below), "{folder}: an arrow of the table points up");
        let up: Vec<String> = ours(folder).difference(&allowed).cloned().collect();
        assert!(up.is_empty(), "{folder} may not import {up:?}");
        below.insert(folder.rsplit('/').next().unwrap_or(folder).to_owned());
    }
}

#[test]
fn crates_without_io_reach_none() {
    let apps = ARROWS.iter().map(|&(folder, _)| folder).filter(|folder| folder.starts_with("apps/"));
    for folder in apps.chain(PURE.iter().copied()) {
        let found: Vec<String> = dependencies(folder)
            .into_iter()
            .filter(|dependency| IO.contains(&dependency.name.as_str()) && !dependency.optional)
            .map(|dependency| dependency.name)
            .collect();
        assert!(found.is_empty(), "{folder} imports {found:?}");
    }
}

#[test]
fn the_agent_links_no_pipeline() {
    let arrows: BTreeMap<&str, &str> =
        ARROWS.iter().map(|&(folder, _)| (folder.rsplit('/').next().unwrap_or(folder), folder)).collect();
    let (mut seen, mut next) = (BTreeSet::new(), vec!["gfagent".to_owned()]);
    while let Some(name) = next.pop() {
        if seen.insert(name.clone()) {
            next.extend(ours(arrows[name.as_str()]));
        }
    }
    assert!(seen.contains("session") && !seen.contains("pipeline") && !seen.contains("switch"), "{seen:?}");
}
