// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the front end tells its user.
//!
//! Every message is a [`Problem`] of a closed list ([`problems`](crate::problem)), with a stable id. Where it happened,
//! second places and advice belong to the [`Diagnostic`] around it.

mod render;

pub use crate::problem::{Category, Kind, Problem};
use crate::source::{SourceMap, Span};

/// Most errors that one compilation reports.
const MAX_ERRORS: usize = 100;

/// Most messages of all kinds.
const MAX_MESSAGES: usize = 1_000;

/// A second place that has to do with a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// A message: of the front end, or of who looks at what it made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic<K = Problem> {
    /// What is wrong.
    pub problem: K,
    /// Where.
    pub span: Span,
    /// Other places to look at.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl<K: Kind> Diagnostic<K> {
    /// Whose matter it is.
    pub fn category(&self) -> Category {
        self.problem.category()
    }

    /// Renders the message with file, line and column, the source line and carets.
    pub fn render(&self, sources: &SourceMap, colour: bool) -> String {
        render::render(self, sources, colour)
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

    /// Adds advice, in place of what the problem has by itself.
    pub(crate) fn help(self, text: impl Into<String>) -> Self {
        let mut entry = self;
        if let Some(diagnostic) = &mut entry.0 {
            diagnostic.help = Some(text.into());
        }
        entry
    }

    /// Whether the message will be shown: it is not one of too many, nor one that is known. Advice on others is in vain.
    pub(crate) fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Nothing to add.
    pub(crate) fn done(self) {}
}

impl Diagnostics {
    /// Reports a problem; the same one at the same place only once.
    pub(crate) fn report(&mut self, span: Span, problem: Problem) -> Entry<'_> {
        let is_error = problem.category() != Category::Warning;
        let is_known = || self.list.iter().any(|old| old.span == span && old.problem == problem);
        if is_error && self.is_full() || self.list.len() >= MAX_MESSAGES && !is_error || is_known() {
            return Entry(None);
        }
        self.errors += usize::from(is_error);
        let help = problem.remedy();
        self.list.push(Diagnostic { problem, span, labels: Vec::new(), help });
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

    /// Whether no more errors are shown.
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= MAX_ERRORS
    }

    /// Whether nothing was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All messages by place, those of one file together; at one place in the order in which they were found.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.start));
        self.list
    }
}
