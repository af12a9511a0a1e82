// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages as text: the headline, then source lines with carets under the range concerned.
//!
//! ```text
//! error[E0302]: `nhop` is not declared
//!   --> fwd.p4:12:9
//!    |
//! 12 |     x = nhop;
//!    |         ^^^^
//!    = help: did you mean `next_hop`?
//! ```

use crate::source::{FileId, SourceMap, Span};

use super::{Category, Diagnostic, Kind};

/// Columns that a tab takes in the output.
const TAB: &str = "    ";
/// Longest source line that is shown whole.
const MAX_LINE: usize = 400;

/// A source range to underline, and the text beside the carets.
struct Mark<'a> {
    span: Span,
    text: &'a str,
    caret: char,
}

/// Escape sequences, empty without colour.
struct Paint {
    headline: &'static str,
    frame: &'static str,
    caret: &'static str,
    reset: &'static str,
}

impl Paint {
    fn new(colour: bool, category: Category) -> Paint {
        match (colour, category) {
            (false, _) => Paint { headline: "", frame: "", caret: "", reset: "" },
            (true, Category::Warning) => {
                Paint { headline: "\x1b[1;33m", frame: "\x1b[34m", caret: "\x1b[33m", reset: "\x1b[0m" }
            }
            (true, _) => Paint { headline: "\x1b[1;31m", frame: "\x1b[34m", caret: "\x1b[31m", reset: "\x1b[0m" },
        }
    }
}

pub(super) fn render<K: Kind>(diagnostic: &Diagnostic<K>, sources: &SourceMap, colour: bool) -> String {
    let paint = Paint::new(colour, diagnostic.category());
    let marks: Vec<Mark<'_>> = std::iter::once(Mark { span: diagnostic.span, text: "", caret: '^' })
        .chain(diagnostic.labels.iter().map(|label| Mark { span: label.span, text: &label.text, caret: '-' }))
        .collect();
    let last = marks.iter().map(|mark| sources.line_column(mark.span).0).max().unwrap_or(1);
    let mut frame = Frame { sources, paint, gutter: last.to_string().len(), text: String::new() };
    frame.headline(diagnostic);
    frame.marks(&marks);
    if let Some(help) = &diagnostic.help {
        frame.note("help", help);
    }
    frame.text
}

struct Frame<'a> {
    sources: &'a SourceMap,
    paint: Paint,
    /// Width of the line numbers.
    gutter: usize,
    text: String,
}

impl Frame<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn headline<K: Kind>(&mut self, diagnostic: &Diagnostic<K>) {
        let Paint { headline, reset, .. } = self.paint;
        let (category, id) = (diagnostic.category(), diagnostic.problem.id());
        self.line(&format!("{headline}{category}[{id}]{reset}: {}", diagnostic.problem));
    }

    fn note(&mut self, kind: &str, text: &str) {
        let Paint { frame, reset, .. } = self.paint;
        self.line(&format!("{:1$} {frame}={reset} {kind}: {text}", "", self.gutter));
    }

    fn marks(&mut self, marks: &[Mark<'_>]) {
        let mut file: Option<FileId> = None;
        let mut shown = 0;
        for mark in marks {
            let (line, column) = self.sources.line_column(mark.span);
            let Paint { frame, reset, .. } = self.paint;
            if file != Some(mark.span.file) {
                let arrow = if file.is_none() { "-->" } else { ":::" };
                let path = self.sources.file(mark.span.file).path.display();
                self.line(&format!("{:1$}{frame}{arrow}{reset} {path}:{line}:{column}", "", self.gutter));
                (file, shown) = (Some(mark.span.file), 0);
            }
            if shown != line {
                self.source_line(mark.span, line);
                shown = line;
            }
            self.underline(mark);
        }
    }

    /// An empty line of the frame, and a line of the source.
    fn source_line(&mut self, span: Span, line: usize) {
        let Paint { frame, reset, .. } = self.paint;
        let (text, _) = self.text_of(span);
        let shown: String = text.replace('\t', TAB).chars().take(MAX_LINE).collect();
        self.line(&format!("{:1$} {frame}|{reset}", "", self.gutter));
        let gutter = self.gutter;
        self.line(&format!("{frame}{line:>gutter$} |{reset} {shown}"));
    }

    /// The line that a range starts in, and the offset of the range in it.
    fn text_of(&self, span: Span) -> (&str, usize) {
        let text = &self.sources.file(span.file).text;
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let begin = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        (text[begin..end].trim_end_matches('\r'), start - begin)
    }

    /// Carets under the part of a range that lies in its first line.
    fn underline(&mut self, mark: &Mark<'_>) {
        let Paint { frame, caret, reset, .. } = self.paint;
        let (line, start) = self.text_of(mark.span);
        let start = start.min(line.len());
        let mut end = (start + (mark.span.end.saturating_sub(mark.span.start)) as usize).min(line.len());
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let columns = |text: &str| text.replace('\t', TAB).chars().count();
        let before = columns(&line[..start]).min(MAX_LINE);
        let width = columns(&line[start..end]).clamp(1, MAX_LINE);
        let carets = mark.caret.to_string().repeat(width);
        let gutter = " ".repeat(self.gutter);
        let blanks = " ".repeat(before);
        let space = if mark.text.is_empty() { "" } else { " " };
        self.line(&format!("{gutter} {frame}|{reset} {blanks}{caret}{carets}{space}{}{reset}", mark.text));
    }
}
