// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source files and positions in them.

use std::path::PathBuf;

/// Index of a file in its [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileId(pub u32);

/// A range of bytes in one file. Tokens from a macro have the range of the macro's use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// File.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
}

impl Span {
    /// The smallest range that contains both; `self` if they lie in different files.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A source file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path as the user or an `#include` wrote it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// All files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, path: PathBuf, text: String) -> FileId {
        self.files.push(SourceFile { path, text });
        FileId(self.files.len() as u32 - 1)
    }

    /// The file with an id, which must come from this map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All files, in the order in which they were opened.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The position after the last token of a file.
    pub(crate) fn end(&self, file: FileId) -> Span {
        let end = self.file(file).text.trim_end().len() as u32;
        Span { file, start: end, end }
    }

    /// Line and column of the start of a range, both from 1; columns count characters.
    pub fn line_column(&self, span: Span) -> (usize, usize) {
        let text = &self.file(span.file).text;
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let mut map = SourceMap::default();
        let file = map.add("a.p4".into(), "ab\nµc d\n".into());
        let at = |start| map.line_column(Span { file, start, end: start });
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(3), (2, 1));
        assert_eq!(at(5), (2, 2)); // µ is two bytes
        assert_eq!(at(999), (3, 1));
    }
}
