//! Text from elsewhere, made harmless for a terminal.
//!
//! Names and sentences that the server sends may have been written by anybody. Control characters could move the cursor,
//! recolour or retitle the terminal; direction marks could make a line read differently from what it says. They are shown
//! as visible escapes instead, in every output format.

use std::borrow::Cow;

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// One line of text: harmful characters, line breaks included, become `\u{…}`.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len() + 16), |mut safe, c| {
        if is_harmful(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
        safe
    }))
}

/// Text of several lines: line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    text.split('\n')
        .map(|part| part.split('\t').map(line).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// JSON text: harmful characters that JSON itself lets through become `\uXXXX`, which means the same to a parser.
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut units = [0u16; 2];
    for c in text.chars() {
        if c != '\n' && is_harmful(c) {
            for unit in c.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_left_alone() {
        for text in ["", "Acme Research", "Müller GmbH", "研究所", "a\u{301}"] {
            assert_eq!(line(text), text);
            assert_eq!(json(text), text);
        }
        assert_eq!(lines("a\n\tb\n"), "a\n\tb\n");
    }

    #[test]
    fn escapes_and_direction_marks_become_visible() {
        assert_eq!(line("a\u{1b}[31mred"), "a\\u{1b}[31mred");
        assert_eq!(line("two\nlines"), "two\\u{a}lines");
        assert_eq!(line("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(line("abc\u{202e}def"), "abc\\u{202e}def");
        assert_eq!(lines("a\r\nb"), "a\\u{d}\nb");
    }

    #[test]
    fn safe_json_means_the_same() {
        let value = serde_json::json!({ "name": "a\u{1b}[31m\u{9b}2J\u{202e}\u{e0041}\nb", "list": ["\u{7f}"] });
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| c != '\n' && is_harmful(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
