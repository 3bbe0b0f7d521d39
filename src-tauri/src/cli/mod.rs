//! The command line: one way to do everything that an operator does.
//!
//! A wrong word ends with exit code 2 and the list of allowed ones. A result is printed as done once the stream has
//! acknowledged it.

mod agents;
mod alarms;
mod args;
mod ask;
mod audit;
mod audit_export;
mod backup;
mod bridge;
mod bus;
mod bypass;
mod config;
mod connect;
mod console;
mod controls;
mod decide;
mod doctor;
mod enroll;
mod export;
pub(crate) mod failure;
pub(crate) mod feeds;
mod gate;
mod gateway;
mod hook;
mod input;
mod keys;
pub(crate) mod line;
mod log;
mod maintenance;
mod mcp;
mod narrow;
mod operators;
mod output;
mod own_terminal;
mod practice;
mod protocol;
mod read;
pub(crate) mod reader;
mod recover;
mod rules;
mod serve;
mod setup;
mod shell;
mod show;
mod status;
mod trace;
mod unread;
mod version;
mod watch;
mod when;

#[cfg(feature = "gui")]
pub(crate) use config::FILE as CONFIG_FILE;
pub(crate) use output::plain;

use std::env;
use std::ffi::OsString;
use std::future::Future;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use countersign_redaction::is_secret_value;
use countersign_wire::ErrorCode;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

use args::{Audit, BusCommand, Cli, Command, Reader};
use config::Settings;
use failure::Failure;
use output::Output;

use countersign_view::secrets::Secrets;

/// Open files that a console wants to be allowed, as far as its system lets it.
const FILES: u64 = 65_536;

/// Runs the program: reads its arguments, does what they say and returns the exit code.
pub fn main() -> ExitCode {
    let inherited = private_files();
    log::log_panics_by_place();
    let arguments: Vec<OsString> = env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error, wants_json(&arguments)),
    };
    if matches!(cli.command, Some(Command::McpProxy(_))) {
        // Its server makes files as it would without us.
        umask(inherited);
    }
    if let Some(Command::Hook(hook)) = cli.command {
        log::start(log::OFF);
        return hook::main(&cli.global, hook);
    }
    if let Some(Command::Reader(Reader::Guard { line })) = &cli.command {
        return reader::guarded(line);
    }
    let json = cli.global.json;
    let done = own_terminal::required(&arguments).and_then(|()| run(cli));
    done.map_or_else(|failure| failure.report(json), |()| ExitCode::SUCCESS)
}

fn run(cli: Cli) -> Result<(), Failure> {
    let out = Output {
        json: cli.global.json,
    };
    match cli.command {
        Some(Command::Completions { shell }) => shell::completions(shell),
        Some(Command::Man) => shell::man(),
        Some(Command::Protocol(what)) => protocol::run(out, &what),
        Some(Command::Gateway(wanted)) => {
            match wanted.what {
                Some(_) => log::start(log::OFF),
                None => {
                    log::start(log::SERVING);
                    enough_files();
                }
            }
            block_on(gateway::run(out, &cli.global, wanted))
        }
        Some(command) => {
            if matches!(command, Command::Serve | Command::Bridge(_)) {
                log::start(log::SERVING);
                enough_files();
            } else {
                log::start(log::OFF);
            }
            let settings = config::load(&cli.global)?;
            block_on(one(command, &settings, out))
        }
        None => {
            log::start(log::SERVING);
            enough_files();
            window(&config::load(&cli.global)?)
        }
    }
}

async fn one(command: Command, settings: &Settings, out: Output) -> Result<(), Failure> {
    match command {
        Command::Serve => serve::run(settings, out).await,
        Command::Ask(ask) => ask::run(settings, out, ask).await,
        Command::Mcp(wanted) => mcp::permission(settings, out, wanted).await,
        Command::McpProxy(wanted) => mcp::proxy(settings, out, wanted).await,
        Command::Bridge(what) => bridge::run(out, what).await,
        Command::Status(asked) if asked.ready => status::ready(settings).await,
        Command::Status(_) => status::run(settings, out).await,
        Command::Inbox(inbox) => read::inbox(settings, out, inbox).await,
        Command::Show(show) => show::run(settings, out, &show).await,
        Command::Approve(approve) => decide::approve(settings, out, approve).await,
        Command::Deny(deny) => decide::deny(settings, out, deny).await,
        Command::Skip(skip) => decide::skip(settings, out, skip).await,
        Command::Respond(respond) => decide::respond(settings, out, respond).await,
        Command::Escalate(escalate) => decide::escalate(settings, out, escalate).await,
        Command::Watch => watch::run(settings, out).await,
        Command::History(history) => read::history(settings, out, history).await,
        Command::Export(wanted) => export::run(settings, out, wanted).await,
        Command::Trace(id) => trace::run(settings, out, &id.id).await,
        Command::Agents => agents::run(settings, out).await,
        Command::Connect(asked) => connect::run(settings, out, asked).await,
        Command::Disconnect(asked) => connect::undo(settings, out, &asked),
        Command::Enroll(enroll) => enroll::enroll(settings, out, enroll).await,
        Command::Revoke(revoke) => enroll::revoke(settings, out, &revoke).await,
        Command::Operators(command) => operators::run(settings, out, command).await,
        Command::Keys(command) => keys::run(settings, out, command).await,
        Command::Rules(command) => rules::run(settings, out, command).await,
        Command::Setup(command) => setup::run(settings, out, command).await,
        Command::Panic { state, accept } => controls::panic(settings, out, state, accept).await,
        Command::Pause(agent) => controls::pause(settings, out, &agent).await,
        Command::Resume { agent, accept } => controls::resume(settings, out, &agent, accept).await,
        Command::Stop(agent) => controls::stop(settings, out, &agent).await,
        Command::Bypass(command) => bypass::run(settings, out, command).await,
        Command::Alarms(wanted) => alarms::run(settings, out, wanted).await,
        Command::Practice(what) => practice::run(settings, out, what).await,
        Command::Reader(what) => reader::run(settings, out, what).await,
        Command::Feeds(what) => feeds::run(settings, out, what).await,
        Command::Audit(Audit::Verify { head }) => audit::verify(settings, out, head).await,
        Command::Audit(Audit::Head) => audit::head(settings, out).await,
        Command::Audit(Audit::Export { out: file, force }) => {
            audit_export::run(settings, out, file, force).await
        }
        Command::Bus(BusCommand::Init) => bus::init(settings, out).await,
        Command::Bus(BusCommand::Recover { dry_run }) => recover::run(settings, out, dry_run).await,
        Command::Bus(BusCommand::Permissions { jwt }) => bus::permissions(settings, out, jwt).await,
        Command::Maintenance(command) => maintenance::run(settings, out, command).await,
        Command::Backup(wanted) => backup::make(settings, out, wanted).await,
        Command::Restore(wanted) => backup::bring_back(settings, out, wanted).await,
        Command::Doctor(wanted) => doctor::run(settings, out, wanted).await,
        Command::Completions { shell } => shell::completions(shell),
        Command::Man => shell::man(),
        Command::Protocol(what) => protocol::run(out, &what),
        // Answered before the settings are read.
        Command::Hook(_) | Command::Gateway(_) => {
            Err(Failure::usage("this command needs no settings"))
        }
    }
}

fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime
        .map_err(|error| Failure::environment(format!("no threads could be started: {error}")))?;
    runtime.block_on(work)
}

/// Requests and keys are nobody else's business, whatever the folder's own mode is. What this program
/// starts, its nats-server too, inherits this.
fn private_files() -> Mode {
    umask(Mode::S_IRWXG | Mode::S_IRWXO)
}

/// A login session usually allows 1,024 open files, for programs that know no more; its nats-server, which inherits
/// this, has one for each connection and several for each stream.
fn enough_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        let wanted = hard.min(FILES).max(soft);
        setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)
    });
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn wants_json(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "--json")
}

fn not_understood(error: &clap::Error, json: bool) -> ExitCode {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if json && !asked {
        return Failure::usage(first_paragraph(&error.render().to_string())).report(true);
    }
    let text = error.render().to_string();
    // Help may go unread.
    let _ = if !asked && is_secret_value(&text) {
        // A wrong word may be a password, or a URL with one.
        writeln!(io::stderr(), "{}", Secrets::Hidden.block(&text))
    } else {
        error.print()
    };
    if asked {
        ExitCode::SUCCESS
    } else {
        ErrorCode::Usage.exit_code().into()
    }
}

/// What clap says first; its hints and the usage line follow after an empty line.
fn first_paragraph(text: &str) -> String {
    let lines = text
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .map(str::trim);
    let sentence = lines.collect::<Vec<_>>().join(" ");
    sentence
        .strip_prefix("error: ")
        .unwrap_or(&sentence)
        .to_owned()
}

#[cfg(feature = "gui")]
fn window(settings: &Settings) -> Result<(), Failure> {
    if !has_display() {
        return Err(no_window("no display can be opened"));
    }
    settings.check_reader()?;
    crate::metrics::check(&settings.metrics)?;
    settings.check_feeds()?;
    let started = console::options(settings)?;
    let production = settings.production.clone();
    crate::gui::run(started, (&settings.otlp, &settings.metrics), production).map_err(Failure::from)
}

#[cfg(not(feature = "gui"))]
fn window(_settings: &Settings) -> Result<(), Failure> {
    Err(no_window("this build has no window"))
}

#[cfg(feature = "gui")]
fn has_display() -> bool {
    #[cfg(target_os = "linux")]
    {
        let named = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        // One that is named and gone ends the window library with a panic.
        (named("DISPLAY") || named("WAYLAND_DISPLAY")) && gtk::init().is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    true
}

fn no_window(why: &str) -> Failure {
    Failure::environment(format!(
        "{why}; run `countersign serve` for a console without a window, `countersign --help` lists the commands"
    ))
}
