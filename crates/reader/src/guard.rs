//! The process between the console and a reading program: it ends the program's process group when the console does.
//!
//! Its standard input stays open for as long as the console wants the answer. The kernel closes it whatever ends the
//! console, and only the guard's own end would leave the program: so it takes no signal but SIGKILL.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// Its exit code where the program could not be started, as a shell's.
pub const NOT_STARTED: u8 = 127;
/// What ends a process that does not expect it.
const ENDS: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];
/// A card is far below.
const LARGEST: u64 = 1 << 20;

/// Starts the program in an empty folder, gives it the text on standard input, and returns its exit code.
#[must_use]
pub fn run(line: &[OsString]) -> u8 {
    guarded(line).unwrap_or(NOT_STARTED)
}

fn guarded(line: &[OsString]) -> io::Result<u8> {
    // The program inherits the mask: what it may use itself stays.
    SigSet::from_iter(ENDS).thread_block()?;
    let (program, words) = line.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut input = io::stdin();
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length).min(LARGEST);
    let mut text = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    input.read_exact(&mut text)?;
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder.path())
        .process_group(0)
        .stdin(Stdio::piped());
    let mut child = command.spawn()?;
    let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    if let Some(mut stdin) = child.stdin.take() {
        // A program need not read.
        thread::spawn(move || stdin.write_all(&text));
    }
    thread::spawn(move || {
        let _ = io::copy(&mut input, &mut io::sink());
        killpg(group, Signal::SIGKILL)
    });
    // What it left behind is ended while the number of the group still is its own.
    waitid(Id::Pid(group), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)?;
    let _ = killpg(group, Signal::SIGKILL);
    let code = child.wait()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
