//! Starts a reading program behind a guard of our own, which ends all of it when this process lets go of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use countersign_domain::reader::ReaderFault;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::guard;

/// A program with its words and everything that it gets of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) program: PathBuf,
    pub(crate) words: Vec<String>,
    pub(crate) env: Vec<(String, OsString)>,
}

/// Gives `input` to the program and reads what it prints, at most `largest` bytes, and whether it succeeded. Dropped,
/// also by the end of this process, its process group is killed.
pub(crate) async fn run(
    guard: &[OsString],
    line: &Line,
    input: &[u8],
    largest: usize,
) -> Result<(String, bool), ReaderFault> {
    let (program, words) = guard.split_first().ok_or(ReaderFault::Missing)?;
    let mut started = Command::new(program);
    started.args(words).arg(&line.program).args(&line.words);
    started
        .env_clear()
        .envs(line.env.iter().cloned())
        .process_group(0);
    started
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = started.spawn().map_err(|_| ReaderFault::Missing)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (mut stdin, stdout) = stdin.zip(stdout).ok_or(ReaderFault::Missing)?;
    let write = async {
        // A guard that is gone is seen by its code.
        let length = u64::try_from(input.len()).unwrap_or_default();
        let _ = stdin.write_all(&length.to_le_bytes()).await;
        let _ = stdin.write_all(input).await;
    };
    let mut printed = Vec::new();
    let mut limited = stdout.take(u64::try_from(largest).unwrap_or_default() + 1);
    let ((), read) = tokio::join!(write, limited.read_to_end(&mut printed));
    if read.is_err() || printed.len() > largest {
        return Err(ReaderFault::TooLarge);
    }
    let status = child.wait().await.map_err(|_| ReaderFault::Exit)?;
    // Until here the guard waits for the program.
    drop(stdin);
    if status.code() == Some(i32::from(guard::NOT_STARTED)) {
        return Err(ReaderFault::Missing);
    }
    let text = String::from_utf8(printed).map_err(|_| ReaderFault::Answer)?;
    Ok((text, status.success()))
}
