//! The texts that a program is made of, and places in them.

use std::collections::HashMap;
use std::rc::Rc;

/// A word of the program.
pub type Name = Rc<str>;

/// The blocks around a place of the program, the innermost last, each with its names.
pub struct Blocks<T>(Vec<HashMap<Name, T>>);

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self(vec![HashMap::new()])
    }
}

impl<T> Blocks<T> {
    pub fn enter(&mut self) {
        self.0.push(HashMap::new());
    }

    pub fn leave(&mut self) {
        self.0.pop();
    }

    /// The number of blocks around, 1 outside of all.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Adds a name to the innermost block, and gives what it was there before.
    pub fn declare(&mut self, name: &Name, what: T) -> Option<T> {
        self.0.last_mut()?.insert(name.clone(), what)
    }

    /// The kind of a name; with `absolute`, outside of all blocks.
    pub fn find(&self, name: &str, absolute: bool) -> Option<&T> {
        let blocks = if absolute { &self.0[..1] } else { &self.0[..] };
        blocks.iter().rev().find_map(|block| block.get(name))
    }

    /// The name of an outer block that `name` in the innermost one would hide.
    pub fn hidden(&self, name: &str) -> Option<&T> {
        let outer = self.0.len().saturating_sub(1);
        self.0[..outer].iter().rev().find_map(|block| block.get(name))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Name, &T)> {
        self.0.iter().rev().flatten()
    }
}

/// A file of [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u16);

/// A piece of a file: bytes `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The piece from the start of `self` to the end of `last`; `self` if they are in two files, as the body
    /// of a macro and its arguments may be.
    pub fn to(self, last: Span) -> Span {
        if self.file == last.file && last.end >= self.start {
            Span { end: last.end, ..self }
        } else {
            self
        }
    }

    /// The empty place behind the piece.
    pub fn behind(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// A place as people count: both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// A text with the name by which messages call it.
pub struct SourceFile {
    pub path: String,
    pub text: String,
    /// The byte at which each line starts.
    lines: Vec<u32>,
}

/// All texts of a compilation.
#[derive(Default)]
pub struct Sources(Vec<SourceFile>);

/// The most bytes of one file: offsets are 32 bits, and a line of a macro may not grow them.
const LONGEST: usize = 64 << 20;

impl Sources {
    /// Adds a text; `None` if it is longer than 64 MiB, or if there are 65,535 already.
    pub fn add(&mut self, path: &str, text: String) -> Option<FileId> {
        let id = u16::try_from(self.0.len()).ok().filter(|_| text.len() <= LONGEST)?;
        let ends = text.bytes().zip(1..).filter(|&(byte, _)| byte == b'\n').map(|(_, next)| next);
        let lines = std::iter::once(0).chain(ends).collect();
        self.0.push(SourceFile { path: path.to_owned(), text, lines });
        Some(FileId(id))
    }

    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.0[usize::from(id.0)]
    }

    /// The text of a piece.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The place where a piece starts.
    pub fn position(&self, span: Span) -> Position {
        let file = self.file(span.file);
        let line = file.lines.partition_point(|&start| start <= span.start);
        let start = file.lines[line - 1] as usize;
        let before = file.text.get(start..span.start as usize).unwrap_or_default();
        Position { line, column: before.chars().count() + 1 }
    }
}

/// The nearest of some names, if it is near enough to be meant; with the place where it is declared.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = (&'n Name, Span)>) -> Option<(Name, Span)> {
    names
        .map(|(one, span)| (strsim::damerau_levenshtein(name, one), one, span))
        .filter(|&(distance, one, _)| {
            distance <= (name.len().max(one.len()) / 3).max(1) && (1..name.len()).contains(&distance)
        })
        .min()
        .map(|(_, one, span)| (one.clone(), span))
}

/// The same of names that are declared nowhere.
pub fn near(name: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> Option<(Name, Span)> {
    let names: Vec<Name> = names.into_iter().map(|one| one.as_ref().into()).collect();
    nearest(name, names.iter().map(|one| (one, Span::default())))
}

/// Finds the files that a program includes.
pub trait Files {
    /// The text of the file at `path`; `None` if there is none.
    fn read(&self, path: &str) -> Option<String>;
}
