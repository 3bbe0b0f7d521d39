//! Messages on a stream of bytes, one a line.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufWriter};
use tokio::sync::mpsc;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder, FramedRead};
use tokio_util::sync::CancellationToken;

/// A line without its end, or that there was one which is longer than allowed.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Whole(Bytes),
    TooLong,
}

pub(crate) struct Lines(AnyDelimiterCodec);

/// The lines of a stream, of at most so many bytes each.
pub(crate) fn lines<R: AsyncRead>(from: R, longest: usize) -> FramedRead<R, Lines> {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), longest);
    FramedRead::new(from, Lines(codec))
}

impl Lines {
    fn line(read: Result<Option<Bytes>, AnyDelimiterCodecError>) -> io::Result<Option<Line>> {
        match read {
            Ok(line) => Ok(line.map(Line::Whole)),
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => Ok(Some(Line::TooLong)),
            Err(AnyDelimiterCodecError::Io(error)) => Err(error),
        }
    }
}

impl Decoder for Lines {
    type Item = Line;
    type Error = io::Error;

    fn decode(&mut self, from: &mut BytesMut) -> io::Result<Option<Line>> {
        Self::line(self.0.decode(from))
    }

    fn decode_eof(&mut self, from: &mut BytesMut) -> io::Result<Option<Line>> {
        Self::line(self.0.decode_eof(from))
    }
}

/// Writes messages until nobody sends any, or until what was sent before `over` is written.
pub(crate) async fn write<W: AsyncWrite + Unpin>(
    mut messages: mpsc::Receiver<Bytes>,
    to: W,
    over: CancellationToken,
) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    loop {
        let message = match messages.try_recv() {
            Ok(message) => message,
            Err(_) => {
                to.flush().await?;
                tokio::select! {
                    biased;
                    Some(message) = messages.recv() => message,
                    () = over.cancelled() => return to.shutdown().await,
                }
            }
        };
        to.write_all(&message).await?;
        to.write_all(b"\n").await?;
    }
}
