//! Processes that cannot outlive the one that started them.
//!
//! The kernel sends the signal when the *thread* that started the process ends; the runner starts
//! everything from its main thread.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use clap::Args;
use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, wait};

/// A program and its arguments.
#[derive(Debug, Args)]
pub(crate) struct ChildArgs {
    /// The program, then its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

impl ChildArgs {
    fn command(&self) -> anyhow::Result<Command> {
        let (program, arguments) = self.command.split_first().context("no program")?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }
}

/// Dies with the parent from now on.
pub(crate) fn die_with_parent() -> anyhow::Result<()> {
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

/// Turns into the program; returns only when that fails.
pub(crate) fn become_it(args: &ChildArgs) -> anyhow::Result<()> {
    die_with_parent()?;
    let mut command = args.command()?;
    let error = command.exec();
    Err(error).with_context(|| format!("{} does not start", args.command.join(" ")))
}

/// The first process of a namespace: takes the orphans' ends, and ends with its child. The kernel
/// kills whatever is left in the namespace. True when the child succeeded.
pub(crate) fn init(args: &ChildArgs) -> anyhow::Result<bool> {
    let child = args.command()?.spawn()?;
    let child = i32::try_from(child.id())?;
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == child => return Ok(code == 0),
            Ok(WaitStatus::Signaled(pid, ..)) if pid.as_raw() == child => return Ok(false),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
