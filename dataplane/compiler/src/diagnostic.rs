//! The compiler's messages about a program: errors and warnings, each with its places.

use annotate_snippets::{Level, Renderer, Snippet};

use crate::source::{FileId, Name, Sources, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

/// One message: the place it is about, others that explain it (a declaration, an earlier use), and a cure.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub message: String,
    pub span: Span,
    pub others: Vec<(Span, String)>,
    pub help: Option<String>,
}

impl Diagnostic {
    /// Marks another place.
    pub fn note(&mut self, span: Span, label: impl Into<String>) -> &mut Self {
        self.others.push((span, label.into()));
        self
    }

    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Shows where a name is declared.
    pub fn declared(&mut self, name: &str, span: Span) -> &mut Self {
        self.note(span, format!("`{name}` is declared here"))
    }

    /// Proposes the name that was meant probably, if one is near enough.
    pub fn meant(&mut self, near: Option<(Name, Span)>) -> &mut Self {
        let Some((near, span)) = near else { return self };
        if span != Span::default() {
            self.declared(&near, span);
        }
        self.help(format!("`{near}` may be meant"))
    }

    /// The message with its pieces of source, as text for people.
    pub fn render(&self, sources: &Sources) -> String {
        let level = match self.severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
        };
        let others = self.others.iter().map(|(span, label)| (Level::Info, *span, &label[..]));
        let marks: Vec<_> = std::iter::once((level, self.span, "")).chain(others).collect();
        let mut files: Vec<FileId> = Vec::new();
        for (_, span, _) in &marks {
            if !files.contains(&span.file) {
                files.push(span.file);
            }
        }
        let snippets = files.into_iter().map(|id| {
            let file = sources.file(id);
            let marks = marks.iter().filter(|(_, span, _)| span.file == id).map(|(level, span, label)| {
                level.span(span.start as usize..(span.end as usize).min(file.text.len())).label(label)
            });
            Snippet::source(&file.text).origin(&file.path).fold(true).annotations(marks)
        });
        let mut message = level.title(&self.message).snippets(snippets);
        if let Some(help) = &self.help {
            message = message.footer(Level::Help.title(help));
        }
        Renderer::plain().render(message).to_string()
    }
}

/// A message about the program was given; nothing comes of this piece.
#[derive(Clone, Copy, Debug)]
pub struct Told;

/// The most errors that are kept, and the most warnings: who has more mends these first.
const MOST: usize = 100;

/// The messages of a compilation, in the order in which they were found.
#[derive(Default)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    /// The last one that was not kept.
    dropped: Option<Diagnostic>,
}

impl Diagnostics {
    pub fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Error, span, message.into())
    }

    pub fn warning(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Warning, span, message.into())
    }

    pub fn push(&mut self, severity: Severity, span: Span, message: String) -> &mut Diagnostic {
        let one = Diagnostic { severity, message, span, others: Vec::new(), help: None };
        let same: Vec<_> = self.kept.iter().filter(|other| other.severity == severity).collect();
        if same.len() >= MOST || same.iter().any(|other| other.span == span && severity == Severity::Error) {
            return self.dropped.insert(one);
        }
        self.kept.push(one);
        let last = self.kept.len() - 1;
        &mut self.kept[last]
    }

    pub fn has_errors(&self) -> bool {
        self.kept.iter().any(|one| one.severity == Severity::Error)
    }

    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Forgets all messages but the first `count`: those of an attempt that was given up.
    pub fn truncate(&mut self, count: usize) {
        self.kept.truncate(count);
    }

    /// Marks a place in all messages from `first` on, unless it stands on a line with them anyway.
    pub fn explain(&mut self, first: usize, span: Span, label: &str) {
        for one in self.kept.iter_mut().skip(first) {
            one.note(span, label);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.kept.iter()
    }
}
