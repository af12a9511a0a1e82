// SPDX-License-Identifier: MIT OR Apache-2.0
//! A declaration as its author wrote it, from the place of its name.

/// A declaration, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// From its first word to its body, or to its end; on one line.
    pub text: String,
    /// The comment above it or behind it, without its marks. Here programs name the unit.
    pub comment: String,
}

/// The declaration of the name at bytes `start..end` of a file.
pub fn declaration(text: &str, start: usize, end: usize) -> Declaration {
    let code = without_comments(text);
    let (first, last) = (begin(&code, start), finish(&code, end));
    let words = String::from_utf8_lossy(&code[first..last]);
    Declaration {
        text: words.split_whitespace().collect::<Vec<_>>().join(" "),
        comment: comment_of(text, first + words.len() - words.trim_start().len(), last),
    }
}

/// The text with blanks in the place of comments and directives, so that all else keeps its place.
fn without_comments(text: &str) -> Vec<u8> {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    let mut first_of_line = true;
    while at < code.len() {
        let end = match &code[at..] {
            [b'/', b'/', ..] => line_end(text, at),
            [b'#', ..] if first_of_line => line_end(text, at),
            [b'/', b'*', ..] => text[at + 2..].find("*/").map_or(code.len(), |found| at + 2 + found + 2),
            _ => at,
        };
        code[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at = end.max(at);
        if at < code.len() && end <= at {
            first_of_line = code[at] == b'\n' || first_of_line && code[at].is_ascii_whitespace();
            at += 1;
        }
    }
    code
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found)
}

/// The byte after what ends the thing before a declaration.
fn begin(code: &[u8], name: usize) -> usize {
    let mut depth = 0;
    for at in (0..name).rev() {
        match code[at] {
            b')' | b'>' | b']' => depth += 1,
            b'(' | b'<' | b'[' if depth > 0 => depth -= 1,
            b';' | b'{' | b'}' | b'(' => return at + 1,
            b',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    0
}

/// The byte that ends a declaration, or begins its body.
fn finish(code: &[u8], name: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.iter().enumerate().skip(name) {
        match byte {
            b'(' | b'<' | b'[' => depth += 1,
            b')' | b'>' | b']' if depth > 0 => depth -= 1,
            b';' | b'{' | b'}' | b')' => return at,
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

/// The comment on the line of a declaration's end, or the lines of comments above its begin.
fn comment_of(text: &str, first: usize, last: usize) -> String {
    let behind = text[last..line_end(text, last)].trim_start_matches([';', ',', ')']).trim_start();
    if behind.starts_with("//") || behind.starts_with("/*") {
        return words(behind);
    }
    let mut lines: Vec<&str> = Vec::new();
    let mut inside = false;
    for line in text[..first].lines().rev().skip_while(|line| line.trim().is_empty()) {
        let line = line.trim();
        let is_comment = inside || line.starts_with("//") || line.ends_with("*/");
        if !is_comment || line.contains("SPDX-License-Identifier") {
            break;
        }
        inside = (inside || line.ends_with("*/")) && !line.contains("/*");
        lines.push(line);
    }
    lines.reverse();
    words(&lines.join("\n"))
}

/// The words of a comment, without its marks.
fn words(comment: &str) -> String {
    let lines = comment.lines().map(|line| line.trim().trim_start_matches(['/', '*']).trim_end_matches("*/").trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
// SPDX-License-Identifier: MIT
#include <core.p4>

/* Counts bytes;
 * of a flow. */
register<bit<32>>(4096, (1 + 2)) bytes;
// Two of them.
control swapped(inout pair both,
                in bit<8> by) { /* body */
    bit<19>  depth;     // packets
    action swap(bit<8> amount) { }
    apply { }
}
enum bit<8> Fruit { Apple = 1, Pear = 2 }
";

    fn of(name: &str) -> (String, String) {
        let start = TEXT.find(name).expect("it is there") + name.len() - name.trim_start_matches([')', ' ']).len();
        let Declaration { text, comment } = declaration(TEXT, start, start + 1);
        (text, comment)
    }

    fn both(text: &str, comment: &str) -> (String, String) {
        (text.into(), comment.into())
    }

    #[test]
    fn a_declaration_ends_where_its_body_begins() {
        assert_eq!(of("swapped").0, "control swapped(inout pair both, in bit<8> by)");
        assert_eq!(of("both"), both("inout pair both", ""));
        assert_eq!(of("amount").0, "bit<8> amount");
        assert_eq!(of("Fruit").0, "enum bit<8> Fruit");
        assert_eq!(of("Pear").0, "Pear = 2");
    }

    #[test]
    fn comments_above_and_behind_belong_to_it() {
        assert_eq!(of(") bytes"), both("register<bit<32>>(4096, (1 + 2)) bytes", "Counts bytes; of a flow."));
        assert_eq!(of("swapped").1, "Two of them.");
        assert_eq!(of("depth"), both("bit<19> depth", "packets"));
        assert_eq!(of("swap(").1, "");
    }

    #[test]
    fn no_text_is_too_short() {
        for text in ["a", "/*", "//", "a /", "#"] {
            for start in 0..text.len() {
                declaration(text, start, start + 1);
            }
        }
    }
}
