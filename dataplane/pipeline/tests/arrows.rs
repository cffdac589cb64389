//! The crate's layers: which folder imports which, and that no file is above and below another at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each module of the crate with the modules that it may import, from the bottom up.
const LAYERS: [(&str, &[&str]); 11] = [
    ("error", &[]),
    ("port", &[]),
    ("program", &["error"]),
    ("trace", &["program"]),
    ("load", &["error", "program"]),
    ("packet", &["port", "program"]),
    ("state", &["port", "program", "packet", "trace"]),
    ("interpret", &["program", "packet", "state", "trace"]),
    ("native", &["program", "packet", "state", "interpret"]),
    ("run", &["port", "program", "packet", "state", "interpret", "native", "trace"]),
    ("pipeline", &["error", "port", "program", "packet", "state", "run", "trace"]),
];

/// The paths below `prefix` that a source names, segment by segment.
fn named<'a>(source: &'a str, prefix: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(move |line| line.split(prefix).skip(1)).map(|path| {
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len());
        path[..end].split("::").collect()
    })
}

/// The files of a module, each with its unit tests, by name: those of its folder, or the one file.
fn files(module: &str) -> BTreeMap<String, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folder = src.join(module);
    let paths: Vec<_> = match folder.is_dir() {
        true => {
            let entries = fs::read_dir(folder).expect("a folder");
            entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect()
        }
        false => vec![src.join(format!("{module}.rs"))],
    };
    let stem = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let source = |path: &Path| {
        let tests = path.with_file_name("tests").join(path.file_name().expect("a name"));
        fs::read_to_string(path).expect("a source") + &fs::read_to_string(tests).unwrap_or_default()
    };
    paths.iter().map(|path| (stem(path), source(path))).collect()
}

#[test]
fn each_module_imports_what_is_below_it() {
    let lib = include_str!("../src/lib.rs").lines();
    let modules: BTreeSet<_> = lib.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    assert_eq!(modules, LAYERS.map(|(module, _)| module).into(), "every module has its layer");
    let mut imports = 0;
    for (place, (module, below)) in LAYERS.iter().enumerate() {
        assert!(below.iter().all(|name| LAYERS[..place].iter().any(|(lower, _)| lower == name)), "{module}");
        for (file, source) in files(module) {
            for path in named(&source, "crate::") {
                let name = path[0];
                assert!(name == *module || below.contains(&name), "{module}/{file} imports {name}: {path:?}");
                imports += 1;
            }
        }
    }
    assert!(imports > 100, "{imports} imports were read");
}

#[test]
fn the_files_of_the_lower_modules_import_one_another_one_way() {
    for module in ["program", "load", "state"] {
        let sources = files(module);
        let mut left: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (file, source) in &sources {
            let prefix = format!("crate::{module}::");
            let mut paths: Vec<_> = named(source, &prefix).collect();
            if file != "mod" {
                paths.extend(named(source, "super::").filter(|path| !path[0].is_empty()));
            }
            // A name of no file is an item of the module's first file.
            let target = |path: &Vec<&str>| match sources.contains_key(path[0]) {
                true => path[0].to_owned(),
                false => "mod".to_owned(),
            };
            left.insert(file.as_str(), paths.iter().map(target).filter(|name| name != file).collect());
        }
        // Takes away, again and again, the files that import none of the others.
        while let Some(lowest) = left.iter().find(|(_, to)| to.is_empty()).map(|(file, _)| *file) {
            left.remove(lowest);
            for to in left.values_mut() {
                to.remove(lowest);
            }
        }
        assert!(left.is_empty(), "{module}: a cycle among {left:?}");
    }
}
