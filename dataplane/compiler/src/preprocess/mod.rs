//! Includes, macros and conditions (P4_16 specification, section 6.2, which takes C's): a file becomes one
//! row of words.
//!
//! The preprocessor works on words, not on text, so that each word keeps its place and every message can show
//! it.

mod condition;
mod expand;

use std::collections::HashMap;
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::source::{near, FileId, Files, Name, Sources, Span};
use crate::token::{tokens, Hidden, Kind, Token};
use expand::{spell, Macro};

/// The most files that include each other: a cycle ends here.
const DEEPEST: usize = 64;
/// The most words of a program, those that macros make among them.
const MOST_TOKENS: usize = 1_000_000;

/// The files that the compiler brings, by the name in `#include <name>`.
const OWN: [(&str, &str); 2] = [
    ("core.p4", include_str!("../../include/core.p4")),
    ("v1model.p4", include_str!("../../include/v1model.p4")),
];

/// The beginnings of a directive; the first means nothing in a string.
const DIRECTIVES: &str = "include define undef error warning pragma if ifdef ifndef elif else endif";

/// Architectures that p4c brings and this compiler does not.
const FOREIGN: &str =
    "psa.p4 bmv2/psa.p4 pna.p4 dpdk/pna.p4 dpdk/psa.p4 tna.p4 t2na.p4 tofino.p4 ubpf_model.p4 \
    ebpf_model.p4 xdp_model.p4";

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
        macros: HashMap::new(),
        output: Vec::new(),
        expanded: 0,
        in_condition: false,
        once: Vec::new(),
    };
    preprocessor.define_all(&options.defines);
    preprocessor.file(file, 0);
    let end = u32::try_from(preprocessor.sources.file(file).text.trim_end().len()).unwrap_or(u32::MAX);
    let (text, span, hidden) = ("".into(), Span { file, start: end, end }, Hidden::default());
    preprocessor.output.push(Token { kind: Kind::End, text, span, first: true, spaced: true, hidden });
    preprocessor.output
}

struct Preprocessor<'a> {
    sources: &'a mut Sources,
    files: &'a dyn Files,
    paths: &'a [String],
    diagnostics: &'a mut Diagnostics,
    macros: HashMap<Name, Rc<Macro>>,
    output: Vec<Token>,
    /// Words that macros made so far.
    expanded: usize,
    /// Whether the words at hand are those of an `#if`.
    in_condition: bool,
    /// The files with `#pragma once`.
    once: Vec<FileId>,
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
    fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.error(span, message)
    }

    /// Options, and what p4c's compiler for BMv2 defines, are read as a file of their own.
    fn define_all(&mut self, defines: &[(String, String)]) {
        let defines = defines.iter().map(|(name, text)| format!("#define {name} {text}\n"));
        let text = std::iter::once("#define __TARGET_BMV2__ 1\n".to_owned()).chain(defines).collect();
        if let Some(file) = self.sources.add("command line", text) {
            self.file(file, 0);
        }
    }

    fn file(&mut self, file: FileId, depth: usize) {
        let words = tokens(&self.sources.file(file).text, file, 0);
        let mut open: Vec<Condition> = Vec::new();
        let mut run = Vec::new();
        for line in lines(&words) {
            let active = open.last().map_or(true, |condition| condition.active);
            if matches!(line[0].kind, Kind::Hash | Kind::Paste) {
                // Conditions may stand among the arguments of a macro.
                let ends = |word: &Token| matches!(&*word.text, "define" | "undef" | "include");
                if active && line.get(1).is_some_and(ends) {
                    self.flush(&mut run);
                }
                self.directive(line, &mut open, active, depth);
            } else if active {
                run.extend(line.iter().map(|word| self.text(word)));
            }
        }
        self.flush(&mut run);
        self.close(open);
    }

    /// Tells of conditions that have no end.
    fn close(&mut self, open: Vec<Condition>) {
        for condition in open {
            self.error(condition.hash, "this condition has no `#endif`");
        }
    }

    /// Expands the words between two directives.
    fn flush(&mut self, run: &mut Vec<Token>) {
        let words = self.expand(std::mem::take(run));
        if self.output.len() + words.len() > MOST_TOKENS {
            if let Some(word) = words.first().filter(|_| self.output.len() <= MOST_TOKENS) {
                self.error(word.span, format!("the program has more than {MOST_TOKENS} words"));
            }
            return;
        }
        self.output.extend(words);
    }

    fn directive(&mut self, line: &[Token], open: &mut Vec<Condition>, active: bool, depth: usize) {
        // `#` alone is allowed, as in C.
        let Some(word) = line.get(1).filter(|_| !self.conditional(line, open, active) && active) else {
            return;
        };
        let rest = &line[2..];
        match &*word.text {
            "define" => self.define(word, rest),
            "undef" => {
                let name = self.macro_name(word, rest);
                name.and_then(|name| self.macros.remove(&name.text));
            }
            "include" => self.include(word, rest, depth),
            "error" | "warning" => {
                let span = whole(rest, word.span);
                let text = match rest {
                    [] => format!("#{}", word.text),
                    [only] => only.text.trim_matches('"').to_owned(),
                    _ => self.sources.text(span).to_owned(),
                };
                let severity = if word.is("error") { Severity::Error } else { Severity::Warning };
                self.diagnostics.push(severity, span, text);
            }
            "pragma" if rest.first().is_some_and(|what| what.is("once")) => self.once.push(word.span.file),
            // A line of another preprocessor, and what compilers may pass over.
            "pragma" | "line" | "ident" => {}
            _ if word.kind == Kind::Number => {}
            other => {
                let near = near(other, DIRECTIVES.split(' '));
                let message = format!("the preprocessor has no `#{other}`");
                // cpp passes over such a line, and so does p4c.
                let severity = if near.is_some() { Severity::Error } else { Severity::Warning };
                let told = self.diagnostics.push(severity, word.span, message);
                told.help("a comment begins with `//`").meant(near);
            }
        }
    }

    /// Reads the line if it begins or ends what is read on a condition.
    fn conditional(&mut self, line: &[Token], open: &mut Vec<Condition>, active: bool) -> bool {
        let [hash, word, rest @ ..] = line else { return false };
        match &*word.text {
            "if" | "ifdef" | "ifndef" => {
                let holds = active && self.holds(word, rest);
                let (done, otherwise) = (holds || !active, None);
                open.push(Condition { hash: hash.span, active: holds, done, otherwise });
            }
            "elif" | "elifdef" | "elifndef" | "else" | "endif" => self.next_branch(word, rest, open),
            _ => return false,
        }
        true
    }

    /// The word. To C a string of several lines is text of the program, but for what is behind a quote on its
    /// line: directives in it become empty lines, and macros are expanded.
    fn text(&mut self, word: &Token) -> Token {
        if word.kind != Kind::Text || !word.text.contains('\n') {
            return word.clone();
        }
        let (mut open, mut text, mut start) = (Vec::new(), String::new(), word.span.start);
        for line in word.text.split_inclusive('\n') {
            let active = open.last().map_or(true, |condition: &Condition| condition.active);
            let head = &line[..line.find(['"', '\n']).unwrap_or(line.len())];
            let (words, is_last) = (tokens(head, word.span.file, start), !line.ends_with('\n'));
            start += line.len() as u32;
            let mut known = DIRECTIVES.split(' ').skip(1);
            let is_told =
                matches!(&words[..], [hash, one, ..] if hash.is("#") && known.any(|own| one.is(own)));
            if !is_last && (is_told || !active) {
                if is_told {
                    self.directive(&words, &mut open, active, 0);
                }
                text.push('\n');
                continue;
            }
            let (indent, bare) = (head.len() - head.trim_start().len(), head.trim());
            // A comment stays, for C's preprocessor keeps it for p4c.
            let stays = head.contains("//") || head.contains("/*");
            text += &line[..indent];
            text += &if stays { bare.to_owned() } else { spell(&self.expand(words)) };
            text += &line[indent + bare.len()..];
        }
        self.close(open);
        Token { text: text.into(), ..word.clone() }
    }

    /// Whether the lines after `#if`, `#ifdef`, `#elifndef` and their like are read.
    fn holds(&mut self, word: &Token, rest: &[Token]) -> bool {
        if matches!(&*word.text, "if" | "elif") {
            return self.condition(word.span, rest);
        }
        let name = self.macro_name(word, rest);
        name.is_some_and(|name| self.is_macro(&name.text) == word.text.ends_with("ifdef"))
    }

    /// The name behind a directive.
    pub fn macro_name<'l>(&mut self, directive: &Token, line: &'l [Token]) -> Option<&'l Token> {
        let name = line.first().filter(|name| name.kind == Kind::Identifier);
        if name.is_none() {
            let message = format!("`#{}` needs the name of a macro", directive.text);
            self.error(directive.span, message);
        }
        name
    }

    fn next_branch(&mut self, word: &Token, rest: &[Token], open: &mut Vec<Condition>) {
        let Some(condition) = open.last_mut() else {
            self.error(word.span, format!("`#{}` without an `#if` before it", word.text));
            return;
        };
        if word.is("endif") {
            open.pop();
        } else if let Some(otherwise) = condition.otherwise {
            self.error(word.span, format!("`#{}` after the `#else` of the same condition", word.text))
                .note(otherwise, "the `#else`");
        } else {
            condition.otherwise = word.is("else").then_some(word.span);
            condition.active = !condition.done && (word.is("else") || self.holds(word, rest));
            condition.done |= condition.active;
        }
    }

    fn include(&mut self, word: &Token, rest: &[Token], depth: usize) {
        let is_macro = matches!(rest.first(), Some(first) if first.kind == Kind::Identifier);
        let rest = if is_macro { self.expand(rest.to_vec()) } else { rest.to_vec() };
        let span = whole(&rest, word.span);
        let quoted = matches!(rest.first(), Some(first) if first.kind == Kind::Text);
        let name: String = match &rest[..] {
            [first, ..] if quoted => first.text.trim_matches('"').to_owned(),
            [first, name @ .., last] if first.is("<") && last.is(">") => {
                name.iter().map(|word| &*word.text).collect()
            }
            _ => {
                self.error(span, "`#include` needs a file: \"headers.p4\" or <core.p4>");
                return;
            }
        };
        if depth >= DEEPEST {
            self.error(span, format!("{DEEPEST} files include each other: is this a circle?"));
            return;
        }
        let path = &self.sources.file(word.span.file).path;
        let beside = quoted.then(|| path[..path.rfind('/').map_or(0, |end| end + 1)].to_owned());
        let is_read = |text: &String| self.once.iter().any(|file| self.sources.file(*file).text == *text);
        match self.find(&name, beside) {
            Some((_, text)) if is_read(&text) => {}
            Some((path, text)) => match self.sources.add(&path, text) {
                Some(file) => self.file(file, depth + 1),
                None => {
                    self.error(span, format!("`{name}` is too large, or one file too many"));
                }
            },
            None => self.not_found(&name, span),
        }
    }

    /// The path and text of an included file: beside the file that includes it, in the folders of the
    /// options, or one of the compiler's own.
    fn find(&self, name: &str, beside: Option<String>) -> Option<(String, String)> {
        let folders = self.paths.iter().map(|folder| format!("{}/", folder.trim_end_matches('/')));
        let candidates = beside.into_iter().chain(folders).map(|folder| format!("{folder}{name}"));
        let absolute = name.starts_with('/').then(|| name.to_owned());
        let mut paths = absolute.into_iter().chain(candidates);
        paths.find_map(|path| self.files.read(&path).map(|text| (path, text))).or_else(|| {
            let (_, text) = OWN.iter().find(|(own, _)| *own == name)?;
            Some((format!("<{name}>"), (*text).to_owned()))
        })
    }

    fn not_found(&mut self, name: &str, span: Span) {
        if FOREIGN.split(' ').any(|one| one == name) {
            let message = format!("`{name}` is for another architecture than v1model: p4c compiles for it");
            self.error(span, message);
            return;
        }
        let near = near(name, OWN.map(|(name, _)| name));
        let error = self.error(span, format!("there is no file `{name}`"));
        error.help("`-I FOLDER` names a folder of files to include").meant(near);
    }
}

/// The place of some words; `otherwise` if there are none.
fn whole(words: &[Token], otherwise: Span) -> Span {
    words.first().map_or(otherwise, |first| first.span.to(words[words.len() - 1].span))
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
