//! Images for agents: the bytes with a digest, from any place in them on, so that a download that broke off goes on where it
//! ended. Only what the catalogue knows is served, to whoever has a node's certificate.

use std::{fs::File, io, io::SeekFrom};

use api::{Code, Problem, node_plane::IMAGES_PATH};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use store::{Db, images};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::service::{Answer, AnswerBody};
use crate::{
    front_door::{Refusal, internal},
    image_files::ImageFiles,
};

/// The digest that a path asks for.
pub(super) fn asked(path: &str) -> Option<&str> {
    let digest = path.strip_prefix(IMAGES_PATH)?.strip_prefix('/')?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    is_digest.then_some(digest)
}

/// Which bytes of so many are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    /// All of them.
    Whole,
    /// From here up to and without there.
    Part(u64, u64),
    /// None that there are.
    Beyond,
}

/// Reads `Range`. What is not one plain range of bytes is not a range, and everything is sent.
fn range(text: Option<&str>, length: u64) -> Range {
    let parsed = || {
        let (first, last) = text?.strip_prefix("bytes=")?.split_once('-')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let first: u64 = if digits(first) { first.parse().ok()? } else { return None };
        let end = match last {
            "" => length,
            last if digits(last) => last.parse::<u64>().ok()?.checked_add(1)?.min(length),
            _ => return None,
        };
        Some((first, end))
    };
    match parsed() {
        None => Range::Whole,
        Some((first, _)) if first >= length => Range::Beyond,
        Some((first, end)) if first < end => Range::Part(first, end),
        Some(_) => Range::Whole,
    }
}

/// Answers with the bytes of an image.
pub(super) async fn send(
    db: &Db,
    files: Option<&ImageFiles>,
    sha256: &str,
    wanted: Option<&str>,
) -> Result<Answer, Problem> {
    let absent = || Problem::new(Code::NotFound, "There is no image with these bytes.");
    let digest = sha256.to_owned();
    let known = db.read_async(move |tx| images::with_bytes(tx, &digest)).await;
    let known = known.map_err(|error| Refusal::from(error).into_problem())?.ok_or_else(absent)?;
    let (Some(files), digest) = (files.cloned(), sha256.to_owned()) else { return Err(absent()) };
    let opened = tokio::task::spawn_blocking(move || files.read(&digest)).await;
    let opened = opened.map_err(io::Error::other).and_then(|opened| opened).map_err(|error| unreadable(&error))?;
    let (file, length) = opened.ok_or_else(absent)?;
    if length != known.spec.size_bytes {
        // Somebody changed what must not change. The agent would find out too, after the whole of it.
        tracing::error!(
            alert = "image_changed",
            image = known.spec.id,
            length,
            "an image on the disk has another length"
        );
        return Err(absent());
    }
    answer(file, length, range(wanted, length), sha256).await
}

fn unreadable(error: &io::Error) -> Problem {
    tracing::error!(%error, alert = "image_unreadable", "an image could not be read");
    internal()
}

async fn answer(file: File, length: u64, range: Range, sha256: &str) -> Result<Answer, Problem> {
    let (status, first, end) = match range {
        Range::Whole => (StatusCode::OK, 0, length),
        Range::Part(first, end) => (StatusCode::PARTIAL_CONTENT, first, end),
        Range::Beyond => {
            let detail = format!("The image has {length} bytes.");
            return Err(Problem::new(Code::RangeRefused, detail));
        }
    };
    let mut file = tokio::fs::File::from_std(file);
    file.seek(SeekFrom::Start(first)).await.map_err(|error| unreadable(&error))?;
    let mut answer = hyper::Response::new(body(file, end - first));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(end - first));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{sha256}\"")) {
        headers.insert(header::ETAG, tag);
    }
    if status == StatusCode::PARTIAL_CONTENT
        && let Ok(place) = HeaderValue::from_str(&format!("bytes {first}-{}/{length}", end - 1))
    {
        headers.insert(header::CONTENT_RANGE, place);
    }
    Ok(answer)
}

/// Bytes read at a time.
const CHUNK_BYTES: u64 = 256 * 1024;

fn body(file: tokio::fs::File, left: u64) -> AnswerBody {
    let chunks = stream::try_unfold((file, left), |(mut file, left)| async move {
        let Ok(room) = usize::try_from(left.min(CHUNK_BYTES)) else { return Ok(None) };
        if room == 0 {
            return Ok(None);
        }
        let mut chunk = vec![0u8; room];
        let count = file.read(&mut chunk).await?;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        chunk.truncate(count);
        Ok::<_, io::Error>(Some((Frame::data(Bytes::from(chunk)), (file, left - count as u64))))
    });
    BodyExt::boxed(StreamBody::new(Box::pin(chunks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_plain_range_is_a_range_and_nothing_else_is() {
        assert_eq!(range(None, 10), Range::Whole);
        assert_eq!(range(Some("bytes=0-"), 10), Range::Part(0, 10));
        assert_eq!(range(Some("bytes=4-"), 10), Range::Part(4, 10));
        assert_eq!(range(Some("bytes=4-4"), 10), Range::Part(4, 5));
        assert_eq!(range(Some("bytes=4-99"), 10), Range::Part(4, 10));
        assert_eq!(range(Some("bytes=10-"), 10), Range::Beyond);
        for odd in ["bytes=-4", "bytes=4-2", "bytes=1-2,4-5", "lines=1-2", "bytes=+1-2", "bytes=", "bytes=a-b"] {
            assert_eq!(range(Some(odd), 10), Range::Whole, "{odd}");
        }
    }

    #[test]
    fn only_a_digest_names_an_image() {
        let digest = "0a".repeat(32);
        assert_eq!(asked(&format!("{IMAGES_PATH}/{digest}")), Some(digest.as_str()));
        for odd in ["", "/", "/x", "/../../etc/passwd", &format!("/{}", "0A".repeat(32)), &format!("/{digest}/")] {
            assert_eq!(asked(&format!("{IMAGES_PATH}{odd}")), None, "{odd}");
        }
    }
}
