//! Server-sent events, read from bytes as they come. Frames may be cut anywhere, also inside a character or a line end.

/// Bytes of one line, and of one frame's data, at most: a stream that breaks this is not ours.
pub(super) const LINE_BYTES_MAX: usize = 1024 * 1024;

/// One frame with data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// The position, where the server gave one.
    pub id: Option<String>,
    /// The type.
    pub event: Option<String>,
    /// The lines of data, joined.
    pub data: String,
}

/// The stream is not what the contract says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadStream {
    /// A line or frame went on for too long.
    #[error("a line or frame of the stream is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The bytes are not text.
    #[error("the stream is not UTF-8")]
    NotText,
}

/// Collects bytes into frames.
#[derive(Debug, Default)]
pub(super) struct Reader {
    line: Vec<u8>,
    after_return: bool,
    frame: Frame,
    has_data: bool,
}

impl Reader {
    /// Takes bytes and gives the frames that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, BadStream> {
        let mut frames = Vec::new();
        for byte in bytes {
            // A line ends with \n, \r or \r\n; the \n of the last is not another line.
            let second_half = self.after_return && *byte == b'\n';
            self.after_return = *byte == b'\r';
            if second_half {
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                let line = std::mem::take(&mut self.line);
                frames.extend(self.take_line(&line)?);
            } else if self.line.len() < LINE_BYTES_MAX {
                self.line.push(*byte);
            } else {
                return Err(BadStream::TooLong);
            }
        }
        Ok(frames)
    }

    fn take_line(&mut self, line: &[u8]) -> Result<Option<Frame>, BadStream> {
        let line = std::str::from_utf8(line).map_err(|_| BadStream::NotText)?;
        if line.is_empty() {
            let frame = std::mem::take(&mut self.frame);
            return Ok(std::mem::take(&mut self.has_data).then_some(frame));
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.frame.id = Some(value.to_owned()),
            "event" => self.frame.event = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.frame.data.push('\n');
                }
                if self.frame.data.len() + value.len() > LINE_BYTES_MAX {
                    return Err(BadStream::TooLong);
                }
                self.frame.data.push_str(value);
                self.has_data = true;
            }
            // Comments have an empty name; anything else is for later versions.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: &str, data: &str) -> Frame {
        Frame { id: Some(id.to_owned()), event: Some("t".to_owned()), data: data.to_owned() }
    }

    #[test]
    fn frames_are_the_same_however_the_bytes_are_cut() {
        let text = ": hello\n\nid: 1\nevent: t\ndata: {\"a\":\ndata: \"é\"}\n\nid: 2\r\nevent: t\r\ndata: x\r\n\r\n: beat\n\nid: 3\n";
        let expected = vec![frame("1", "{\"a\":\n\"é\"}"), frame("2", "x")];
        for size in 1..text.len() {
            let mut reader = Reader::default();
            let mut frames = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                frames.extend(reader.push(chunk).expect("a good stream"));
            }
            assert_eq!(frames, expected, "cut into {size} bytes");
        }
    }

    #[test]
    fn endless_lines_and_frames_are_refused() {
        let mut reader = Reader::default();
        assert_eq!(reader.push(&vec![b'a'; LINE_BYTES_MAX + 1]), Err(BadStream::TooLong));
        let mut reader = Reader::default();
        let line = [b"data: ".as_slice(), &vec![b'a'; LINE_BYTES_MAX - 10], b"\n"].concat();
        assert_eq!(reader.push(&line), Ok(vec![]));
        assert_eq!(reader.push(&line), Err(BadStream::TooLong));
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(Reader::default().push(b"data: \xff\n"), Err(BadStream::NotText));
    }
}
