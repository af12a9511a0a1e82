// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collects messages.

use marklab_p4::Diagnostic;
use marklab_p4::diagnostics::Label;
use marklab_p4::source::Span;

use crate::limit::Limit;

/// The messages about one program.
#[derive(Default, Debug)]
pub(crate) struct Findings {
    list: Vec<Diagnostic<Limit>>,
}

impl Findings {
    /// Reports a problem. Reports the same problem at the same place only once.
    pub(crate) fn report(&mut self, span: Span, limit: Limit) {
        self.report_with(span, limit, Vec::new());
    }

    /// Reports a problem with labels at other places.
    pub(crate) fn report_with(&mut self, span: Span, limit: Limit, labels: Vec<Label>) {
        if !self.list.iter().any(|old| old.span == span && old.problem == limit) {
            let help = Some(limit.remedy().to_string());
            self.list.push(Diagnostic { problem: limit, span, labels, help });
        }
    }

    /// Whether a limit was reported for which `holds` is true.
    pub(crate) fn contain(&self, holds: impl Fn(&Limit) -> bool) -> bool {
        self.list.iter().any(|old| holds(&old.problem))
    }

    /// All messages by place.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic<Limit>> {
        self.list.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.start));
        self.list
    }
}

/// A label at another place of a message.
pub(crate) fn label(span: Span, text: impl Into<String>) -> Label {
    Label { span, text: text.into() }
}
