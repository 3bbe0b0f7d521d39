//! One pass over the bytes of a message.
//!
//! What is not JSON is rejected at once; of the other faults it reports the one of highest precedence. Needs no stack:
//! depth is counted in a list.

use std::{borrow::Cow, collections::HashSet};

use super::{MAX_DEPTH, checked::PRIVATE, number, text};
use crate::rejection::{RejectionCode, WireError};

/// Checks a message for every fault that can be seen without knowing its
/// fields. Inside the values of the root's `exempt` keys only size, JSON and
/// depth are checked (protocol, section 2: `metadata` and `native`).
pub(crate) fn scan(payload: &[u8], max_bytes: usize, exempt: &[&str]) -> Result<(), WireError> {
    if payload.len() > max_bytes {
        let detail = format!("{} bytes; at most {max_bytes} are allowed", payload.len());
        return Err(WireError::new(RejectionCode::TooLarge, detail));
    }
    let Ok(utf8) = std::str::from_utf8(payload) else {
        return Err(WireError::new(RejectionCode::NotJson, "not UTF-8"));
    };
    let mut scanner = Scanner {
        bytes: utf8.as_bytes(),
        at: 0,
        frames: Vec::with_capacity(MAX_DEPTH),
        next_object: 0,
        keys: HashSet::new(),
        exempt,
        free: false,
        fault: None,
    };
    match scanner.run() {
        Err(NotJson) => {
            let detail = format!("not JSON at byte {}", scanner.at);
            Err(WireError::new(RejectionCode::NotJson, detail))
        }
        Ok(()) => scanner.fault.map_or(Ok(()), |(code, at)| {
            Err(WireError::new(
                code,
                format!("{} at byte {at}", describe(code)),
            ))
        }),
    }
}

fn describe(code: RejectionCode) -> &'static str {
    match code {
        RejectionCode::NotJson => "a key that not every reader takes for one",
        RejectionCode::TooDeep => "nested deeper than 64",
        RejectionCode::DuplicateKey => "the same key twice in one object",
        RejectionCode::IntegerOutOfRange => "an integer beyond 2^53-1",
        RejectionCode::NonFiniteNumber => "a number that no double holds",
        RejectionCode::LoneSurrogate => "half of a surrogate pair",
        _ => "a fault",
    }
}

/// Marker: the bytes are not JSON, at the scanner's position.
pub(super) struct NotJson;

#[derive(Clone, Copy)]
enum Frame {
    Array,
    Object(u32),
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    next_object: u32,
    keys: HashSet<(u32, Cow<'a, [u8]>)>,
    exempt: &'a [&'a str],
    free: bool,
    fault: Option<(RejectionCode, usize)>,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) -> Result<(), NotJson> {
        loop {
            self.blanks();
            if self.value()? {
                continue;
            }
            if self.close_or_next()? {
                break;
            }
        }
        self.blanks();
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(NotJson)
        }
    }

    /// Reads a scalar or opens a container; true when the next thing to read is
    /// another value, inside a container which was just opened.
    fn value(&mut self) -> Result<bool, NotJson> {
        match self.peek().ok_or(NotJson)? {
            b'{' => {
                self.open(Frame::Object(self.next_object));
                self.next_object += 1;
                self.blanks();
                if self.peek() == Some(b'}') {
                    return Ok(false);
                }
                self.key()?;
                Ok(true)
            }
            b'[' => {
                self.open(Frame::Array);
                self.blanks();
                Ok(self.peek() != Some(b']'))
            }
            b'"' => {
                let start = self.at;
                let string = text::string(self.bytes, &mut self.at)?;
                if string.lone_surrogate {
                    self.note(RejectionCode::LoneSurrogate, start);
                }
                Ok(false)
            }
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => {
                let start = self.at;
                if let Some(code) = number::number(self.bytes, &mut self.at)? {
                    self.note(code, start);
                }
                Ok(false)
            }
        }
    }

    /// After a value: closes what ends here; true when the document is over,
    /// false when another value follows.
    fn close_or_next(&mut self) -> Result<bool, NotJson> {
        loop {
            let Some(frame) = self.frames.last().copied() else {
                return Ok(true);
            };
            self.blanks();
            let byte = self.peek().ok_or(NotJson)?;
            match (frame, byte) {
                (Frame::Array, b']') | (Frame::Object(_), b'}') => {
                    self.at += 1;
                    self.frames.pop();
                }
                (Frame::Array, b',') => {
                    self.at += 1;
                    return Ok(false);
                }
                (Frame::Object(_), b',') => {
                    self.at += 1;
                    self.blanks();
                    self.key()?;
                    return Ok(false);
                }
                _ => return Err(NotJson),
            }
        }
    }

    fn key(&mut self) -> Result<(), NotJson> {
        if self.peek() != Some(b'"') {
            return Err(NotJson);
        }
        let start = self.at;
        let string = text::string(self.bytes, &mut self.at)?;
        if self.frames.len() == 1 {
            self.free = self
                .exempt
                .iter()
                .any(|key| key.as_bytes() == string.decoded.as_ref());
        }
        // The name itself belongs to the root, also when its value is exempt.
        if !self.free || self.frames.len() == 1 {
            if string.lone_surrogate {
                self.note_always(RejectionCode::LoneSurrogate, start);
            }
            if string.decoded.starts_with(PRIVATE.as_bytes()) {
                self.note_always(RejectionCode::NotJson, start);
            }
            if let Some(Frame::Object(object)) = self.frames.last()
                && !self.keys.insert((*object, string.decoded))
            {
                self.note_always(RejectionCode::DuplicateKey, start);
            }
        }
        self.blanks();
        if self.peek() != Some(b':') {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    fn open(&mut self, frame: Frame) {
        if self.frames.len() == MAX_DEPTH {
            self.note_always(RejectionCode::TooDeep, self.at);
        }
        self.frames.push(frame);
        self.at += 1;
    }

    fn word(&mut self, word: &[u8]) -> Result<bool, NotJson> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(false)
        } else {
            Err(NotJson)
        }
    }

    fn note(&mut self, code: RejectionCode, at: usize) {
        if !self.free {
            self.note_always(code, at);
        }
    }

    fn note_always(&mut self, code: RejectionCode, at: usize) {
        if self.fault.is_none_or(|(known, _)| code < known) {
            self.fault = Some((code, at));
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
}
