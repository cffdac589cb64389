//! The words of P4 (P4_16 specification, section 6.4), which the preprocessor shares.

use std::rc::Rc;

use logos::{Filter, Logos};

use crate::source::{FileId, Name, Span};

/// The kinds of words. Keywords are identifiers here: a macro may have the name of one.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\f\v]+", skip r"//[^\n]*")]
pub enum Kind {
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Identifier,
    /// Whatever starts with a digit: the parser of numbers says what is wrong with it.
    #[regex(r"[0-9][0-9A-Za-z_]*")]
    Number,
    /// A string, with its quotes.
    #[token("\"", string)]
    Text,
    #[token("\n")]
    Newline,
    /// `/*` without its `*/`.
    #[token("/*", comment)]
    OpenComment,
    /// A character that P4 does not use.
    Stray,
    /// The end of the program.
    End,
    #[token("#")]
    Hash,
    #[token("##")]
    Paste,
    #[regex(r"&&&|\.\.\.?|<<=?|&&|\|\||[=!<>]=|\+\+|[-+*/%&|^]=|\|[-+]\|=?|\+:|\{#\}")]
    #[regex(r"[-+*/%|&^~()\[\]{}<>!:,?.=;@]")]
    Mark,
}

/// Passes a comment over, if it has an end.
fn comment(lexer: &mut logos::Lexer<'_, Kind>) -> Filter<()> {
    match lexer.remainder().find("*/") {
        Some(end) => {
            lexer.bump(end + 2);
            Filter::Skip
        }
        None => Filter::Emit(()),
    }
}

/// Takes the rest of a string; without an end it is one quote.
fn string(lexer: &mut logos::Lexer<'_, Kind>) {
    let mut escaped = false;
    for (place, byte) in lexer.remainder().bytes().enumerate() {
        if byte == b'"' && !escaped {
            lexer.bump(place + 1);
            return;
        }
        escaped = byte == b'\\' && !escaped;
    }
}

/// The names of macros that an expansion passed: none of them is expanded in it again.
#[derive(Clone, Debug, Default)]
pub struct Hidden(Option<Rc<(Name, Hidden)>>);

impl Hidden {
    pub fn and(&self, name: Name) -> Hidden {
        Hidden(Some(Rc::new((name, self.clone()))))
    }

    pub fn holds(&self, name: &Name) -> bool {
        std::iter::successors(self.0.as_ref(), |link| link.1 .0.as_ref()).any(|link| link.0 == *name)
    }
}

/// A word. Its place is the place where a reader finds it: that of the macro's use if it comes from a macro's
/// body.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    pub text: Name,
    pub span: Span,
    /// Whether it is the first of its line.
    pub first: bool,
    /// Whether space, or a comment, is before it.
    pub spaced: bool,
    pub hidden: Hidden,
}

impl Token {
    pub fn is(&self, text: &str) -> bool {
        !matches!(self.kind, Kind::Text | Kind::End) && &*self.text == text
    }
}

/// A text without the ends of lines that have `\` before them; and places in it, each with the bytes that are
/// left out before.
fn joined(text: &str) -> (String, Vec<(usize, usize)>) {
    let (mut made, mut begin, mut cuts) = (String::new(), 0, vec![(0, 0)]);
    for (place, _) in text.match_indices('\\') {
        let behind = text[place + 1..].trim_start_matches([' ', '\t', '\r']);
        if behind.starts_with('\n') {
            made += &text[begin..place];
            begin = text.len() - behind.len() + 1;
            cuts.push((made.len(), begin - made.len()));
        }
    }
    (made + &text[begin..], cuts)
}

/// The words of a piece of a file that begins at the byte `offset`.
pub fn tokens(text: &str, file: FileId, offset: u32) -> Vec<Token> {
    let (text, cuts) = joined(text);
    let place = |at: usize| {
        let cut = cuts.partition_point(|(start, _)| *start <= at);
        offset + (at + cuts[cut - 1].1) as u32
    };
    let mut found = Vec::new();
    let mut first = true;
    let mut last_end = 0;
    for (kind, range) in Kind::lexer(&text).spanned() {
        if kind == Ok(Kind::Newline) {
            first = true;
            continue;
        }
        let span = Span { file, start: place(range.start), end: place(range.end - 1) + 1 };
        let (word, kind) = (&text[range.clone()], kind.unwrap_or(Kind::Stray));
        found.push(Token {
            kind,
            text: word.into(),
            span,
            first,
            spaced: first || range.start != last_end,
            hidden: Hidden::default(),
        });
        first = false;
        last_end = range.end;
    }
    found
}
