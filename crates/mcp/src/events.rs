//! Server-sent events, as far as MCP uses them: the data of each is a message.

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    rest: Vec<u8>,
    data: Vec<u8>,
    /// The last event's id, for a stream that goes on after a break.
    pub(crate) last_id: Option<String>,
}

/// More than the largest message is waiting for its end.
#[derive(Debug, PartialEq)]
pub(crate) struct TooLarge;

impl Events {
    /// Takes what came; the messages that are whole.
    pub(crate) fn take(&mut self, bytes: &[u8], longest: usize) -> Result<Vec<Vec<u8>>, TooLarge> {
        self.rest.extend_from_slice(bytes);
        let mut messages = Vec::new();
        let mut from = 0;
        while let Some(length) = self.rest[from..].iter().position(|byte| *byte == b'\n') {
            let line = self.rest[from..from + length].to_vec();
            from += length + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            messages.extend(self.line(line));
        }
        self.rest.drain(..from);
        match self.rest.len() + self.data.len() > longest {
            true => Err(TooLarge),
            false => Ok(messages),
        }
    }

    fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then_some(data);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" => self.last_id = String::from_utf8(value.to_vec()).ok(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_same_wherever_the_stream_is_cut() {
        let stream = b": comment\r\nid: 7\ndata: {\"a\":\ndata: 1}\n\nevent: message\ndata:{}\r\n\r\nid: 8\ndata:\n\ndata: cut";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let mut found = Vec::new();
            for part in stream.chunks(size) {
                found.extend(events.take(part, 1_000).unwrap_or_default());
            }
            assert_eq!(found, [b"{\"a\":\n1}".to_vec(), b"{}".to_vec()], "{size}");
            assert_eq!(events.last_id.as_deref(), Some("8"));
        }
        assert_eq!(Events::default().take(&[b'x'; 11], 10), Err(TooLarge));
    }
}
