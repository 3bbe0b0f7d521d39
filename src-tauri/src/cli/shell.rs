//! Completions and the manual, made from the commands themselves: what clap knows is what is documented.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::args::Cli;
use super::failure::Failure;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "countersign", &mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// Prints the manual: one page for the program and one for each command.
pub(crate) fn man() -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    write_pages(&command, "countersign", &mut pages)?;
    Ok(io::stdout().write_all(&pages)?)
}

fn write_pages(command: &Command, name: &str, pages: &mut Vec<u8>) -> io::Result<()> {
    let title = name.replace(' ', "-");
    clap_mangen::Man::new(command.clone().name(title).bin_name(name)).render(pages)?;
    for part in command.get_subcommands() {
        write_pages(part, &format!("{name} {}", part.get_name()), pages)?;
    }
    Ok(())
}
