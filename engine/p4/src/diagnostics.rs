//! What the front end tells its user.
//!
//! Every message is a [`Problem`] of a closed list ([`problems`](crate::problem)), with a stable id. Where it happened,
//! second places and advice belong to the [`Diagnostic`] around it.

use std::fmt;

use ariadne::{CharSet, Color, Config, IndexType, Label as FrameLabel, Report, ReportKind, Source};

pub use crate::problem::Problem;
use crate::source::{FileId, SourceMap, Span};

/// Most errors that one compilation reports.
const MAX_ERRORS: usize = 100;

/// Whose matter a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Category {
    /// The program is wrong (`E...`).
    Error,
    /// The program is fine as far as is known, but asks for what is not supported (`U...`).
    Unsupported,
    /// The front end itself is wrong (`I...`).
    Internal,
    /// The program can be compiled but is probably not meant so (`W...`).
    Warning,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Category::Error => "error",
            Category::Unsupported => "unsupported",
            Category::Internal => "internal error",
            Category::Warning => "warning",
        })
    }
}

/// A second place that has to do with a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Where.
    pub span: Span,
    /// Other places to look at.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Whose matter it is.
    pub fn category(&self) -> Category {
        self.problem.category()
    }

    /// Renders the message with the source line and a caret.
    pub fn render(&self, sources: &SourceMap, colour: bool) -> String {
        let category = self.category();
        let kind = match (colour, category) {
            (true, Category::Warning) => Color::Yellow,
            (true, _) => Color::Red,
            (false, _) => Color::Primary,
        };
        let title = category.to_string();
        let config = Config::new()
            .with_color(colour)
            .with_index_type(IndexType::Byte)
            .with_char_set(if colour { CharSet::Unicode } else { CharSet::Ascii })
            .with_compact(true);
        let place = |span: Span| (span.file, span.start as usize..(span.end as usize).max(span.start as usize));
        let mut report = Report::build(ReportKind::Custom(&title, kind), place(self.span))
            .with_config(config)
            .with_code(self.problem.id())
            .with_message(self.problem.to_string())
            .with_label(FrameLabel::new(place(self.span)).with_color(kind).with_order(-1));
        for label in &self.labels {
            report.add_label(FrameLabel::new(place(label.span)).with_message(&label.text));
        }
        if let Some(help) = &self.help {
            report.set_help(help);
        }
        let mut text = Vec::new();
        let written = report.finish().write(Cache::new(sources), &mut text);
        debug_assert!(written.is_ok(), "writing to memory does not fail");
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
    }
}

/// Gives ariadne the files of a [`SourceMap`].
struct Cache<'a> {
    sources: &'a SourceMap,
    read: Vec<Option<Source<&'a str>>>,
}

impl<'a> Cache<'a> {
    fn new(sources: &'a SourceMap) -> Cache<'a> {
        Cache { sources, read: sources.files().iter().map(|_| None).collect() }
    }
}

impl<'a> ariadne::Cache<FileId> for Cache<'a> {
    type Storage = &'a str;

    fn fetch(&mut self, id: &FileId) -> Result<&Source<&'a str>, impl fmt::Debug> {
        let text = &self.sources.file(*id).text;
        Ok::<_, fmt::Error>(self.read[id.0 as usize].get_or_insert_with(|| Source::from(text.as_str())))
    }

    fn display<'b>(&self, id: &'b FileId) -> Option<impl fmt::Display + 'b> {
        Some(self.sources.file(*id).path.display().to_string())
    }
}

/// The messages of one compilation, in the order in which they were found.
#[derive(Clone, Default, Debug)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
}

/// The message just reported, for adding to it.
pub(crate) struct Entry<'a>(Option<&'a mut Diagnostic>);

impl Entry<'_> {
    /// Adds a second place.
    pub(crate) fn label(self, span: Span, text: impl Into<String>) -> Self {
        let mut entry = self;
        if let Some(diagnostic) = &mut entry.0 {
            diagnostic.labels.push(Label { span, text: text.into() });
        }
        entry
    }

    /// Adds advice.
    pub(crate) fn help(self, text: impl Into<String>) -> Self {
        let mut entry = self;
        if let Some(diagnostic) = &mut entry.0 {
            diagnostic.help = Some(text.into());
        }
        entry
    }

    /// Nothing to add.
    pub(crate) fn done(self) {}
}

impl Diagnostics {
    /// Reports a problem; the same one at the same place only once.
    pub(crate) fn report(&mut self, span: Span, problem: Problem) -> Entry<'_> {
        let is_error = problem.category() != Category::Warning;
        let known = self.list.iter().any(|old| old.span == span && old.problem == problem);
        if known || (is_error && self.errors >= MAX_ERRORS) {
            return Entry(None);
        }
        self.errors += usize::from(is_error);
        self.list.push(Diagnostic { problem, span, labels: Vec::new(), help: None });
        Entry(self.list.last_mut())
    }

    /// Reports an error.
    pub(crate) fn error(&mut self, span: Span, problem: Problem) -> Entry<'_> {
        debug_assert_ne!(problem.category(), Category::Warning);
        self.report(span, problem)
    }

    /// Reports a warning.
    pub(crate) fn warning(&mut self, span: Span, problem: Problem) -> Entry<'_> {
        debug_assert_eq!(problem.category(), Category::Warning);
        self.report(span, problem)
    }

    /// Number of errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// Whether nothing was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }
}
