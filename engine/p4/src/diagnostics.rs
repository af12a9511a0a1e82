// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of the front end to its user.
//!
//! Every message is a [`Problem`] of a closed list ([`problems`](crate::problem)), with a stable id. The [`Diagnostic`]
//! around it adds the position, related positions and advice.

mod render;

pub use crate::problem::{Category, Kind, Problem};
use crate::source::{SourceMap, Span};

/// Maximum number of errors that one compilation reports.
const MAX_ERRORS: usize = 100;

/// Maximum number of messages; beyond it, warnings are dropped.
const MAX_MESSAGES: usize = 1_000;

/// A position that is related to a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// Text at that position.
    pub text: String,
}

/// A message of the front end, or of a crate that checks its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic<K = Problem> {
    /// What is wrong.
    pub problem: K,
    /// Where.
    pub span: Span,
    /// Related positions.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl<K: Kind> Diagnostic<K> {
    /// The category of the problem.
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

/// The message just reported, to which more can be added.
pub(crate) struct Entry<'a>(Option<&'a mut Diagnostic>);

impl Entry<'_> {
    /// Adds a related position.
    pub(crate) fn label(self, span: Span, text: impl Into<String>) -> Self {
        let mut entry = self;
        if let Some(diagnostic) = &mut entry.0 {
            diagnostic.labels.push(Label { span, text: text.into() });
        }
        entry
    }

    /// Adds advice, which replaces the general advice for the problem.
    pub(crate) fn help(self, text: impl Into<String>) -> Self {
        let mut entry = self;
        if let Some(diagnostic) = &mut entry.0 {
            diagnostic.help = Some(text.into());
        }
        entry
    }

    /// Whether the message will be shown: it is neither a duplicate nor beyond the limit. Others need no advice.
    pub(crate) fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Ends a report to which nothing more is added.
    pub(crate) fn done(self) {}
}

impl Diagnostics {
    /// Reports a problem; the same one at the same position only once.
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

    /// All messages, ordered by file and position; at one position, in the order in which they were found.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.start));
        self.list
    }
}
