//! Includes, macros and conditions (P4_16 specification, section 6.2, which takes C's): a file becomes one
//! row of words.
//!
//! The preprocessor works on words, not on text, so that each word keeps its place and every message can show it.

mod condition;
mod expand;

use std::collections::HashMap;

use crate::diagnostic::Diagnostics;
use crate::source::{nearest, FileId, Files, Interner, Name, Sources, Span};
use crate::token::{tokens, Hidden, Kind, Token};
use expand::Macro;

/// The most files that include each other: a cycle ends here.
const DEEPEST: usize = 64;
/// The most words of a program, those that macros make among them.
const MOST_TOKENS: usize = 1_000_000;

/// The files that the compiler brings, by the name in `#include <name>`.
const OWN: [(&str, &str); 2] = [
    ("core.p4", include_str!("../../include/core.p4")),
    ("v1model.p4", include_str!("../../include/v1model.p4")),
];

/// Architectures that p4c brings and this compiler does not.
const FOREIGN: [&str; 11] = [
    "psa.p4",
    "bmv2/psa.p4",
    "pna.p4",
    "dpdk/pna.p4",
    "dpdk/psa.p4",
    "tna.p4",
    "t2na.p4",
    "tofino.p4",
    "ubpf_model.p4",
    "ebpf_model.p4",
    "xdp_model.p4",
];

/// Settings of the preprocessor.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Folders to look into for included files, in order.
    pub include_paths: Vec<String>,
    /// Macros that are defined from the start: the name and its text.
    pub defines: Vec<(String, String)>,
}

/// The words of the program in `file`, ended by one of [`Kind::End`].
pub fn preprocess(
    sources: &mut Sources, files: &dyn Files, file: FileId, options: &Options, diagnostics: &mut Diagnostics,
) -> Vec<Token> {
    let mut preprocessor = Preprocessor {
        sources,
        files,
        paths: &options.include_paths,
        diagnostics,
        interner: Interner::default(),
        macros: HashMap::new(),
        output: Vec::new(),
        expanded: 0,
    };
    preprocessor.define_all(&options.defines);
    preprocessor.file(file, 0);
    let end = u32::try_from(preprocessor.sources.file(file).text.trim_end().len()).unwrap_or(u32::MAX);
    let span = Span { file, start: end, end };
    let text = Name::from("");
    preprocessor.output.push(Token {
        kind: Kind::End,
        text,
        span,
        first: true,
        spaced: true,
        hidden: Hidden::default(),
    });
    preprocessor.output
}

struct Preprocessor<'a> {
    sources: &'a mut Sources,
    files: &'a dyn Files,
    paths: &'a [String],
    diagnostics: &'a mut Diagnostics,
    interner: Interner,
    macros: HashMap<Name, Macro>,
    output: Vec<Token>,
    /// Words that macros made so far.
    expanded: usize,
}

/// An `#if` that is open.
struct Condition {
    hash: Span,
    /// Whether the lines are read now.
    active: bool,
    /// Whether a branch was read already, or none may be.
    done: bool,
    otherwise: Option<Span>,
}

impl Preprocessor<'_> {
    /// Options are read as `#define`s of a file of their own.
    fn define_all(&mut self, defines: &[(String, String)]) {
        let text: String = defines.iter().map(|(name, text)| format!("{name} {text}\n")).collect();
        let Some(file) = self.sources.add("command line", text) else { return };
        let words = tokens(self.sources, file, &mut self.interner);
        for line in lines(&words) {
            self.define(line, line[0].span);
        }
    }

    fn file(&mut self, file: FileId, depth: usize) {
        let words = tokens(self.sources, file, &mut self.interner);
        let mut open: Vec<Condition> = Vec::new();
        let mut run = Vec::new();
        for line in lines(&words) {
            let active = open.last().map_or(true, |condition| condition.active);
            if line[0].kind == Kind::Hash {
                self.flush(&mut run);
                self.directive(line, &mut open, active, depth);
            } else if active {
                run.extend_from_slice(line);
            }
        }
        self.flush(&mut run);
        for condition in open {
            self.diagnostics.error(condition.hash, "this condition has no `#endif`");
        }
    }

    /// Expands the words between two directives.
    fn flush(&mut self, run: &mut Vec<Token>) {
        let words = self.expand(std::mem::take(run));
        if self.output.len() + words.len() > MOST_TOKENS {
            if let Some(word) = words.first().filter(|_| self.output.len() <= MOST_TOKENS) {
                self.diagnostics.error(word.span, format!("the program has more than {MOST_TOKENS} words"));
            }
            return;
        }
        self.output.extend(words);
    }

    fn directive(&mut self, line: &[Token], open: &mut Vec<Condition>, active: bool, depth: usize) {
        // `#` alone is allowed, as in C.
        let Some(word) = line.get(1) else { return };
        let rest = &line[2..];
        match &*word.text {
            "if" | "ifdef" | "ifndef" => {
                let holds = active && self.holds(word, rest);
                open.push(Condition {
                    hash: line[0].span,
                    active: holds,
                    done: holds || !active,
                    otherwise: None,
                });
            }
            "elif" | "else" | "endif" => self.next_branch(word, rest, open),
            _ if !active => {}
            "define" => self.define(rest, word.span),
            "undef" => match rest.first().filter(|name| name.kind == Kind::Identifier) {
                Some(name) => {
                    self.macros.remove(&name.text);
                }
                None => self.no_name(word),
            },
            "include" => self.include(word, rest, depth),
            "error" | "warning" => {
                let text = self.rest_of_line(word, rest);
                let span = rest.first().map_or(word.span, |first| first.span.to(rest[rest.len() - 1].span));
                if &*word.text == "error" {
                    self.diagnostics.error(span, text);
                } else {
                    self.diagnostics.warning(span, text);
                }
            }
            // A line of another preprocessor, and what compilers may pass over.
            "pragma" | "line" | "ident" => {}
            _ if word.kind == Kind::Number => {}
            other => {
                let message = format!("the preprocessor has no `#{other}`");
                self.diagnostics.error(word.span, message);
            }
        }
    }

    fn rest_of_line(&self, word: &Token, rest: &[Token]) -> String {
        match rest {
            [] => format!("#{}", word.text),
            [first, .., last] => self.sources.text(first.span.to(last.span)).to_owned(),
            [only] => only.text.trim_matches('"').to_owned(),
        }
    }

    /// Whether the lines after `#if`, `#ifdef`, `#ifndef` are read.
    fn holds(&mut self, word: &Token, rest: &[Token]) -> bool {
        if &*word.text == "if" {
            return self.condition(word.span, rest);
        }
        match rest.first().filter(|name| name.kind == Kind::Identifier) {
            Some(name) => self.macros.contains_key(&name.text) == (&*word.text == "ifdef"),
            None => {
                self.no_name(word);
                false
            }
        }
    }

    fn no_name(&mut self, word: &Token) {
        self.diagnostics.error(word.span, format!("`#{}` needs the name of a macro", word.text));
    }

    fn next_branch(&mut self, word: &Token, rest: &[Token], open: &mut Vec<Condition>) {
        let Some(condition) = open.last_mut() else {
            self.diagnostics.error(word.span, format!("`#{}` without an `#if` before it", word.text));
            return;
        };
        if &*word.text == "endif" {
            open.pop();
            return;
        }
        if let Some(otherwise) = condition.otherwise {
            self.diagnostics
                .error(word.span, format!("`#{}` after the `#else` of the same condition", word.text))
                .note(otherwise, "the `#else`");
            return;
        }
        if &*word.text == "else" {
            condition.otherwise = Some(word.span);
            condition.active = !condition.done;
        } else {
            condition.active = !condition.done && self.condition(word.span, rest);
        }
        condition.done |= condition.active;
    }

    fn include(&mut self, word: &Token, rest: &[Token], depth: usize) {
        let rest = if matches!(rest.first(), Some(first) if first.kind == Kind::Identifier) {
            self.expand(rest.to_vec())
        } else {
            rest.to_vec()
        };
        let quoted = matches!(rest.first(), Some(first) if first.kind == Kind::Text);
        let (Some(first), Some(last)) = (rest.first(), rest.last()) else {
            self.diagnostics.error(word.span, "`#include` needs a file: \"headers.p4\" or <core.p4>");
            return;
        };
        let span = first.span.to(last.span);
        let name = if quoted {
            first.text.trim_matches('"').to_owned()
        } else if first.is("<") && last.is(">") {
            rest[1..rest.len() - 1].iter().map(|word| &*word.text).collect()
        } else {
            self.diagnostics.error(span, "`#include` needs a file: \"headers.p4\" or <core.p4>");
            return;
        };
        if depth >= DEEPEST {
            self.diagnostics.error(span, format!("{DEEPEST} files include each other: is this a circle?"));
            return;
        }
        let beside = self
            .sources
            .file(word.span.file)
            .path
            .rfind('/')
            .map_or("", |end| &self.sources.file(word.span.file).path[..=end]);
        let beside = quoted.then(|| beside.to_owned());
        match self.find(&name, beside) {
            Some((path, text)) => match self.sources.add(&path, text) {
                Some(file) => self.file(file, depth + 1),
                None => {
                    self.diagnostics.error(span, format!("`{name}` is too large, or one file too many"));
                }
            },
            None => self.not_found(&name, span),
        }
    }

    /// The path and text of an included file: beside the file that includes it, in the folders of the options, or
    /// one of the compiler's own.
    fn find(&self, name: &str, beside: Option<String>) -> Option<(String, String)> {
        let folders = self.paths.iter().map(|folder| format!("{}/", folder.trim_end_matches('/')));
        let candidates = beside.into_iter().chain(folders).map(|folder| format!("{folder}{name}"));
        let absolute = name.starts_with('/').then(|| name.to_owned());
        let own = || {
            OWN.iter().find(|(own, _)| *own == name).map(|&(own, text)| (format!("<{own}>"), text.to_owned()))
        };
        absolute
            .into_iter()
            .chain(candidates)
            .find_map(|path| self.files.read(&path).map(|text| (path, text)))
            .or_else(own)
    }

    fn not_found(&mut self, name: &str, span: Span) {
        let error = self.diagnostics.error(span, format!("there is no file `{name}`"));
        if FOREIGN.contains(&name) {
            error.help("this compiler makes programs for v1model only: p4c compiles for other architectures");
        } else {
            let names = OWN.map(|(name, _)| Name::from(name));
            let near = nearest(name, names.iter().map(|name| (name, Span::default())));
            error.help("`-I FOLDER` names a folder of files to include").meant(near);
        }
    }
}

/// The words of each line: directives and the text between them are told apart by lines.
fn lines(words: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut rest = words;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.iter().skip(1).position(|word| word.first).map_or(rest.len(), |next| next + 1);
        let (line, others) = rest.split_at(end);
        rest = others;
        Some(line)
    })
}
