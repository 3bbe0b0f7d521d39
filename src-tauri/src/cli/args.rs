//! The commands and their flags, as clap reads them.
//!
//! Defaults that the environment or `config.toml` may give are in [`super::config`].

mod alarms;
mod ask;
mod bridge;
mod bypass;
mod connect;
mod doctor;
mod feeds;
mod gateway;
mod history;
mod hook;
mod keys;
mod mcp;
mod practice;
mod reader;
mod rules;
mod setup;
mod verdicts;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use alarms::{Alarms, AlarmsWhat};
pub(crate) use ask::Ask;
pub(crate) use bridge::{Bridge, Commonground, Register};
pub(crate) use bypass::{Bypass, EndBypass};
pub(crate) use connect::{ConfigTarget, Connect, Disconnect, Mode, Scope as SettingsScope};
pub(crate) use doctor::Doctor;
pub(crate) use feeds::Feeds;
pub(crate) use gateway::{Gateway, GatewayFolder, GatewayRun, GatewayTokens};
pub(crate) use history::{Export, History};
pub(crate) use hook::{Hook, program};
pub(crate) use keys::{KeyPlaceWord, Keys};
pub(crate) use mcp::{Elicitation, Mcp, McpProxy};
pub(crate) use practice::Practice;
pub(crate) use reader::Reader;
pub(crate) use rules::{AcceptFile, ImportFrom, ImportRules, Rules};
pub(crate) use setup::Setup;
pub(crate) use verdicts::{Approve, Deny, Respond, Scope, Verdict};

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 wrong usage, wrong environment or an ambiguous id; 3 not found;
4 already decided; 5 expired; 6 verdict not allowed, digest differs, not approvable or invalid
arguments; 7 the bus cannot be reached (a decision is queued); 8 read-only.

Settings: a flag wins over the environment, the environment over config.toml in the data folder.
COUNTERSIGN_NATS_SERVER names the nats-server program to run; RUST_LOG sets what is logged.";

/// A person countersigns what AI agents are about to do.
///
/// Without a command it opens the window.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, after_long_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Global {
    /// Print JSON: one object, or one object a line for lists.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Folder of this console [env: COUNTERSIGN_DATA_DIR] [default: the platform's data folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// An outside NATS server [env: COUNTERSIGN_NATS_URL] [default: the console runs its own].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) nats_url: Option<String>,
    /// A .creds file to log in to it [env: COUNTERSIGN_NATS_CREDS].
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "nats_nkey")]
    pub(crate) nats_creds: Option<PathBuf>,
    /// A file with an nkey seed to log in to it [env: COUNTERSIGN_NATS_NKEY].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) nats_nkey: Option<PathBuf>,
    /// CA certificates that may sign the server's certificate (PEM); requires TLS
    /// [env: COUNTERSIGN_TLS_CA] [default: the system's].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// This console's own certificate for TLS (PEM) [env: COUNTERSIGN_TLS_CERT].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM) [env: COUNTERSIGN_TLS_KEY].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Where a new console keeps the seeds of its signing keys: `auto` (the system's keychain if it can be
    /// used, else files), `file` or `keychain` [env: COUNTERSIGN_KEYS] [default: auto].
    #[arg(long, global = true, value_name = "PLACE")]
    pub(crate) keys: Option<String>,
    /// Your name, as agents and other operators see it [env: COUNTERSIGN_OPERATOR].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) operator: Option<String>,
    /// The workspace for commands that need one [env: COUNTERSIGN_WORKSPACE] [default: default].
    #[arg(long, global = true, value_name = "WS")]
    pub(crate) workspace: Option<String>,
    /// Receive OpenTelemetry spans over HTTP here, such as 127.0.0.1:4318 [env: COUNTERSIGN_OTLP_HTTP] [default: off].
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) otlp_http: Option<String>,
    /// Receive OpenTelemetry spans over gRPC here, such as 127.0.0.1:4317 [env: COUNTERSIGN_OTLP_GRPC] [default: off].
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) otlp_grpc: Option<String>,
    /// Serve metrics for Prometheus, and health, here, such as 127.0.0.1:9464 [env: COUNTERSIGN_METRICS] [default: off].
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Accept an outside server where agents can forge decisions [env: COUNTERSIGN_ALLOW_SINGLE_ACCOUNT=1].
    #[arg(long, global = true)]
    pub(crate) allow_single_account: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the console without a window until SIGTERM or SIGINT.
    ///
    /// Prints one line of JSON on standard output when ready; the log goes to standard error.
    Serve,
    /// Ask as an agent and wait for the answer.
    Ask(Ask),
    /// Serve the tool `approve` over MCP, for `claude -p --permission-prompt-tool mcp__countersign__approve`.
    Mcp(Mcp),
    /// Relay an MCP server: calls of its tools wait for a person, everything else passes through.
    ///
    /// Ends with the server's exit code.
    McpProxy(McpProxy),
    /// Let agents ask over HTTP, until SIGTERM or SIGINT.
    ///
    /// Prints one line of JSON on standard output when ready; the log goes to standard error.
    Gateway(Gateway),
    /// Guard the tools of a system that has its own bus.
    #[command(subcommand)]
    Bridge(Bridge),
    /// Put Countersign in front of a coding agent, the servers of an MCP configuration, or a framework.
    Connect(Connect),
    /// Remove Countersign's entries from a program's settings.
    Disconnect(Disconnect),
    /// Answer one event of a coding agent from standard input; `connect` writes this command into its settings.
    ///
    /// Exits 0 with JSON on standard output, or 2 with the reason on standard error, which refuses the call.
    Hook(Hook),
    /// Show the bus, the streams, waiting requests, alarms and the audit head.
    Status,
    /// List the waiting requests, earliest deadline first.
    Inbox(Inbox),
    /// Show one request in full: request, decision, delivery, warnings.
    Show(Show),
    /// Approve a request, or approve it with other arguments.
    Approve(Approve),
    /// Deny a request.
    Deny(Deny),
    /// Skip the call without denying it.
    Skip(Verdict),
    /// Answer a question or a form, or answer instead of running the call.
    Respond(Respond),
    /// Escalate to the agent's next approver.
    Escalate(Verdict),
    /// Follow arrivals, decisions and receipts as they happen.
    Watch,
    /// List every request, newest first.
    History(History),
    /// Write the history with its decisions and audit references, secrets hidden.
    ///
    /// Only you can read the file. It appears once it is complete. The audit log records the export.
    Export(Export),
    /// Show the call tree of a trace, or of a request's trace.
    Trace(TraceId),
    /// List the agents with their instances, tools, credentials and problems.
    Agents,
    /// Enroll an agent: creates its login and writes its agent.json.
    Enroll(Enroll),
    /// Revoke an agent's login.
    Revoke(Revoke),
    /// Show and change who may decide in this realm.
    #[command(subcommand)]
    Operators(Operators),
    /// Show where this console's signing keys are stored, and move them.
    #[command(subcommand)]
    Keys(Keys),
    /// Show, test and change the rules that approve or deny calls.
    #[command(subcommand)]
    Rules(Rules),
    /// Show and change agents' setup keys, and which values skip asking.
    #[command(subcommand)]
    Setup(Setup),
    /// Turn off automatic approvals in every console, or allow them again.
    Panic {
        /// `on` or `off`.
        #[arg(value_enum)]
        state: OnOff,
        #[command(flatten)]
        accept: AcceptWaiting,
    },
    /// Turn off automatic approvals for one agent.
    Pause(Agent),
    /// Resume an agent after a pause or a stop.
    Resume {
        #[command(flatten)]
        agent: Agent,
        #[command(flatten)]
        accept: AcceptWaiting,
    },
    /// Terminate an agent's waiting calls and deny new ones until it is resumed.
    Stop(Agent),
    /// Let an agent's calls up to a risk run without asking, for a limited time.
    Bypass(Bypass),
    /// List the alarms, or acknowledge one.
    Alarms(Alarms),
    /// Show practice cards in the window: past approved calls, one in four unchanged, the others with one change.
    ///
    /// They are not requests: they never run, and only the report counts them.
    #[command(subcommand)]
    Practice(Practice),
    /// Let a second reader, a program or a model, add marks to waiting calls. It decides nothing.
    #[command(subcommand)]
    Reader(Reader),
    /// Send events to other systems: signed webhooks, syslog, files. An event is no permission.
    #[command(subcommand)]
    Feeds(Feeds),
    /// Check the hash chain of the audit log.
    #[command(subcommand)]
    Audit(Audit),
    /// Prepare or recover the bus, or print its permissions.
    #[command(subcommand)]
    Bus(BusCommand),
    /// Back up this console into one file, also while it runs.
    Backup(Backup),
    /// Restore a backup into the data folder; stop the console first.
    ///
    /// At the next start the console reads from the bus what came after the backup.
    Restore(Restore),
    /// Rebuild data that the store derives from history, also while the console runs.
    #[command(subcommand)]
    Maintenance(Maintenance),
    /// Check this console and its environment.
    ///
    /// Exits 1 if a check failed, else 0. A `warning` (it works, but needs attention) or `unknown` (it could not be
    /// checked) is not a failure. `--json` has each result as `verdict`.
    Doctor(Doctor),
    /// Print what this program makes of the protocol's vectors, to compare implementations.
    #[command(subcommand, hide = true)]
    Protocol(Protocol),
    /// Print shell completions.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the manual page.
    Man,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Protocol {
    /// Read a file of vectors and print a JSON line for each log in it, or one for devices. It compares nothing.
    Check { file: PathBuf },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Maintenance {
    /// Rebuild what people approved and denied per tool in the last 180 days; findings compare calls with it.
    Habits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Risk {
    Safe,
    Low,
    Medium,
    High,
    Critical,
}

impl From<Risk> for countersign_wire::Risk {
    fn from(risk: Risk) -> Self {
        match risk {
            Risk::Safe => Self::Safe,
            Risk::Low => Self::Low,
            Risk::Medium => Self::Medium,
            Risk::High => Self::High,
            Risk::Critical => Self::Critical,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Only this agent, `AGENT` or `WS/AGENT`.
    #[arg(long, value_name = "A")]
    pub(crate) agent: Option<String>,
    /// Only this effective risk.
    #[arg(long, value_enum)]
    pub(crate) risk: Option<Risk>,
}

#[derive(Debug, Args)]
pub(crate) struct TraceId {
    /// A trace id, a request id, or `WS/AGENT/ID`.
    #[arg(value_name = "TRACE_ID|ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Id {
    /// Request id, `WS/AGENT/ID`, or `rejected:N`.
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) id: Id,
    /// Also show values that look like secrets; the audit log records that you looked.
    #[arg(long)]
    pub(crate) reveal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct AcceptWaiting {
    /// Go ahead even if this approves calls that are still waiting.
    #[arg(long)]
    pub(crate) accept_waiting: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Agent {
    /// `WS/AGENT`, or `AGENT` in the default workspace.
    #[arg(value_name = "WS/AGENT")]
    pub(crate) agent: String,
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    pub(crate) agent: Agent,
    /// Also stop it and remove all its requests from the bus. Those that no console has read are never answered and
    /// never run.
    #[arg(long)]
    pub(crate) purge: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Enroll {
    #[command(flatten)]
    pub(crate) agent: Agent,
    /// Folder for agent.json [default: `agents/WS/AGENT` in the data folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace another agent's agent.json in that folder.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Where to write it; only you can read the file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Also copy the console's keys and the enrolment files. Whoever has the file can then approve in your name.
    #[arg(long)]
    pub(crate) include_keys: bool,
    /// Replace an existing file.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A file that `countersign backup` made.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Replace the current store even if it is newer than the backup, unrelated or unreadable; it is kept aside.
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Operators {
    /// List the keys in force and those that ask to be let in.
    List {
        /// Also keys that have ended.
        #[arg(long)]
        all: bool,
    },
    /// List the entries of the realm log: who changed what of the operators.
    Log,
    /// Let in who asked with a key. A key that asks to be another one of your own is added.
    Accept {
        /// The key of the ask.
        key: String,
        /// Name of the operator [default: the name in the ask].
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// As an administrator, who may change the operators.
        #[arg(long)]
        admin: bool,
        #[command(flatten)]
        limits: Limits,
    },
    /// End operators with all their keys, in one step; what they decided before stays valid. Turns an ask away.
    Retire {
        /// Any key of each.
        #[arg(required = true)]
        keys: Vec<String>,
        /// Only these keys.
        #[arg(long)]
        key_only: bool,
    },
    /// Limit what an operator may allow from now on; without a flag the limits are removed.
    ///
    /// The limits bind all keys of the operator, and the automatic answers of the operator's console.
    Limit {
        /// Any key of the operator.
        key: String,
        #[command(flatten)]
        limits: Limits,
    },
    /// Make an operator an administrator, or no longer.
    Admin {
        /// Any key of the operator.
        key: String,
        /// `on` or `off`.
        state: Switch,
    },
    /// Give an operator another name.
    Rename {
        /// Any key of the operator.
        key: String,
        /// The name.
        name: String,
    },
    /// Give this console new signing keys; what the old ones decided stays valid.
    Rotate {
        /// End the old keys at once: approvals that agents have not read yet are refused.
        #[arg(long)]
        now: bool,
    },
    /// Let newcomers wait for a person; without `on` or `off`, show the setting.
    Acceptance {
        /// `on`: they wait; `off`: a console of an administrator lets them in.
        state: Option<Switch>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// The only workspaces in which the operator may do more than deny, separated by commas.
    #[arg(long, value_name = "WS,…", value_delimiter = ',')]
    pub(crate) workspaces: Option<Vec<String>>,
    /// The highest risk at which the operator may do more than deny.
    #[arg(long, value_enum, value_name = "R")]
    pub(crate) max_risk: Option<Risk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check the chain, its anchors, and that stored rows still match the audited bytes.
    Verify {
        /// A head noted earlier; the chain must contain it.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
    /// Print the number and the hash of the last row.
    Head,
    /// Write a bundle that anybody can check without this program (docs/verify-audit.py).
    ///
    /// It holds arguments and messages in clear, so that their digests can be checked.
    Export {
        /// Where to write it [default: standard output].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Replace an existing file.
        #[arg(long, requires = "out")]
        force: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BusCommand {
    /// Create the streams on an outside server that does not have them.
    Init,
    /// Publish this console's decisions again on a bus that lost its streams or was rolled back, and join it.
    ///
    /// Keeps the original bytes, signatures and order, and what the bus already holds. Safe to run again.
    Recover {
        /// Only show what would be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// Print the accounts and permissions for the configuration of an outside server.
    Permissions {
        /// As one JSON object of JWT claims, for a server with an operator.
        #[arg(long)]
        jwt: bool,
    },
}
