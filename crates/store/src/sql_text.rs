//! Reading SQL text just far enough: where statements end and where whole words stand, without being fooled by
//! comments, quoted text or quoted names. It knows only what the migration files use; anything it does not understand
//! (an unfinished quote) it leaves to the engine to refuse.

/// What a piece of SQL is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Word,
    Quoted,
    Comment,
    End,
    Other,
}

/// Cuts text into pieces; joined together they are the text again.
fn pieces(text: &str) -> Vec<(Piece, &str)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let (piece, length) = match bytes[at] {
            b'-' if rest.starts_with("--") => (Piece::Comment, rest.find('\n').map_or(rest.len(), |end| end + 1)),
            b'/' if rest.starts_with("/*") => (Piece::Comment, rest[2..].find("*/").map_or(rest.len(), |end| end + 4)),
            quote @ (b'\'' | b'"') => (Piece::Quoted, quoted_length(rest, quote)),
            b';' => (Piece::End, 1),
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => (Piece::Word, word_length(rest)),
            _ => (Piece::Other, rest.chars().next().map_or(1, char::len_utf8)),
        };
        found.push((piece, &rest[..length]));
        at += length;
    }
    found
}

fn word_length(rest: &str) -> usize {
    rest.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(rest.len())
}

// A doubled quote inside is two quoted pieces side by side, which is just as good here.
fn quoted_length(rest: &str, quote: u8) -> usize {
    rest.bytes().skip(1).position(|byte| byte == quote).map_or(rest.len(), |end| end + 2)
}

/// The statements of a script, without comments and without the closing semicolons.
pub(crate) fn statements(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    for (piece, text) in pieces(script) {
        match piece {
            Piece::Comment => current.push(' '),
            Piece::End => found.push(std::mem::take(&mut current)),
            Piece::Word | Piece::Quoted | Piece::Other => current.push_str(text),
        }
    }
    found.push(current);
    found.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// The text with every whole word `from` outside quotes and comments written as `to`.
pub(crate) fn replace_word(text: &str, from: &str, to: &str) -> String {
    pieces(text).into_iter().map(|(piece, part)| if piece == Piece::Word && part == from { to } else { part }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_that_count() {
        let script = "-- one; two\nCREATE TABLE a (b TEXT DEFAULT ';--''x'); /* ; */\n\nDROP TABLE \"a;b\"; -- end";
        assert_eq!(statements(script), ["CREATE TABLE a (b TEXT DEFAULT ';--''x')", "DROP TABLE \"a;b\""]);
        assert!(statements(" -- nothing\n ;; ").is_empty());
    }

    #[test]
    fn only_whole_words_are_replaced() {
        let text = "a TEXT, TEXTUAL TEXT_b 'TEXT' \"TEXT\" -- TEXT é\n, c TEXT)";
        assert_eq!(replace_word(text, "TEXT", "T!"), "a T!, TEXTUAL TEXT_b 'TEXT' \"TEXT\" -- TEXT é\n, c T!)");
    }
}
