//! Reads files and standard input.
//!
//! Input larger than any message of the protocol, or JSON that could mean two things, is refused: the bytes that were
//! checked must be the arguments that run.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_wire::{DECISION_MAX_BYTES, ErrorCode, RejectionCode, parse_decision};
use serde_json::Value;

use super::failure::Failure;

/// Nothing larger fits into a decision.
const LARGEST: u64 = DECISION_MAX_BYTES as u64;
/// Whether standard input was read.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Text of a flag where `-` means standard input; one line end at the end is dropped.
pub(crate) fn text(flag: &str, value: String) -> Result<String, Failure> {
    if value != "-" {
        return Ok(value);
    }
    let text = utf8(flag, standard_input(flag)?)?;
    Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
}

/// The same for a flag that may be absent.
pub(crate) fn optional_text(flag: &str, value: Option<String>) -> Result<Option<String>, Failure> {
    value.map(|value| text(flag, value)).transpose()
}

/// JSON of a flag itself, or of standard input for `-`.
pub(crate) fn json(flag: &str, value: &str) -> Result<Value, Failure> {
    match value {
        "-" => parse(flag, &utf8(flag, standard_input(flag)?)?),
        text => parse(flag, text),
    }
}

/// A JSON object itself, a file that holds JSON, or standard input for `-`. No path begins with a brace without `./`.
pub(crate) fn json_or_file(flag: &str, value: &str) -> Result<Value, Failure> {
    match value.trim_start().starts_with('{') {
        true => parse(flag, value),
        false => json_file(flag, Path::new(value)),
    }
}

/// JSON of a file, or of standard input for `-`.
pub(crate) fn json_file(flag: &str, path: &Path) -> Result<Value, Failure> {
    if path == Path::new("-") {
        return json(flag, "-");
    }
    let file = File::open(path).map_err(|error| {
        Failure::usage(format!(
            "{flag}: {} cannot be read: {error}",
            path.display()
        ))
    })?;
    parse(flag, &utf8(flag, read(flag, file)?)?)
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text_of(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    if path == Path::new("-") {
        return utf8("-", standard_input("-")?);
    }
    let file = File::open(path)
        .map_err(|error| Failure::usage(format!("{name} cannot be read: {error}")))?;
    utf8(&name, read(&name, file)?)
}

/// Standard input, whole. Only one value can use it: a second one would be empty without a warning.
fn standard_input(flag: &str) -> Result<Vec<u8>, Failure> {
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Failure::usage(format!(
            "{flag}: standard input was read for another flag already; only one of them can be -"
        )));
    }
    read(flag, io::stdin().lock())
}

fn read(flag: &str, input: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut limited = input.take(LARGEST + 1);
    let read = limited.read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("{flag}: cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(invalid(
            flag,
            "larger than 900 KiB, the most that a decision can carry",
        ));
    }
    Ok(bytes)
}

fn utf8(flag: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| invalid(flag, "not UTF-8"))
}

fn parse(flag: &str, text: &str) -> Result<Value, Failure> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| invalid(flag, &format!("not JSON: {error}")))?;
    match as_an_agent_reads_it(text) {
        Ok(()) => Ok(value),
        Err(code) => Err(invalid(flag, fault(code))),
    }
}

/// Reads the text where it will be: inside a decision, with the protocol's strict reader. What that refuses would be
/// refused by the agent, or run as something else than what is written here.
fn as_an_agent_reads_it(text: &str) -> Result<(), RejectionCode> {
    const SUBJECT: &str = "countersign.v1.decision.a.a.a";
    let decision = format!("{{\"edited_args\":{text}}}");
    match parse_decision(SUBJECT, decision.as_bytes()) {
        Ok(_) => Ok(()),
        // Only the other fields of a decision are missing, and those are looked at last.
        Err(error) if error.code >= RejectionCode::BadVersion => Ok(()),
        Err(error) => Err(error.code),
    }
}

fn fault(code: RejectionCode) -> &'static str {
    match code {
        RejectionCode::TooLarge => "larger than a decision can be",
        RejectionCode::TooDeep => "nested deeper than the protocol allows",
        RejectionCode::DuplicateKey => "the same key appears twice in one object",
        RejectionCode::IntegerOutOfRange => {
            "an integer beyond 2^53-1, which not every agent reads exactly; write it as text"
        }
        RejectionCode::NonFiniteNumber => "a number that is too large",
        RejectionCode::LoneSurrogate => "half of a surrogate pair in a text",
        _ => "not JSON that the protocol allows",
    }
}

fn invalid(flag: &str, why: &str) -> Failure {
    Failure::new(ErrorCode::InvalidArgs, format!("{flag}: {why}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn arguments_are_taken_from_the_flag_itself_or_from_a_file() {
        let data = countersign_testkit::TempData::new();
        let path = data.path().join("args.json");
        std::fs::write(&path, "{\"a\": 1}").unwrap();
        let wanted = serde_json::json!({"a": 1});
        for given in ["{\"a\": 1}", " {\"a\": 1}", path.to_str().unwrap()] {
            assert_eq!(json_or_file("--args", given).unwrap(), wanted, "{given}");
        }
        assert!(json_or_file("--args", "{\"a\": 1, \"a\": 2}").is_err());
        let (path, text) = (json_or_file("--args", "args.json"), "cannot be read");
        assert!(format!("{path:?}").contains(text));
    }

    #[test]
    fn json_that_two_readers_would_understand_differently_is_refused() {
        for (text, good) in [
            ("{}", true),
            ("null", true),
            (" [1, 2.5, \"\\u00e9\"] ", true),
            ("{\"a\": {\"v\": 1}, \"v\": 2}", true),
            ("{\"a\": 1, \"a\": 2}", false),
            ("{\"a\": 1, \"\\u0061\": 2}", false),
            ("9007199254740993", false),
            ("123456789012345678901234567890", false),
            ("1e999", false),
            ("\"\\ud800\"", false),
            ("1, \"v\": 1", false),
            ("NaN", false),
            ("", false),
        ] {
            assert_eq!(json("--args", text).is_ok(), good, "{text}");
        }
    }
}
