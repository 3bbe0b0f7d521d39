//! What a hook, the MCP proxy and the gateway add to a call that a rule allows, as the programs are installed.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use clap::Args;
use countersign_load::Figures;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines, stdin, stdout};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

use crate::footprint::{Served, command};
use crate::gateway;

const HOOKS: usize = 200;
const AT_ONCE: usize = 50;
const CALLS: usize = 500;
const RULES: &str = r#"schema = 1
[[rule]]
id = "beside"
effect = "approve"
expires_at = "2999-01-01T00:00:00Z"
tool = ["Bash", "pay", "delete_invoice"]
"#;

/// Arguments of the command `beside`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BesideArgs {
    /// The program `countersign`.
    #[arg(long)]
    console: PathBuf,
    /// Folder for the store.
    #[arg(long)]
    data: PathBuf,
}

/// The figures; those of the floor begin with `floor_`.
pub(crate) async fn run(args: &BesideArgs) -> anyhow::Result<Figures> {
    std::fs::create_dir_all(&args.data)?;
    let folder = tempfile::tempdir_in(&args.data)?;
    let desk = folder.path();
    let served = Served::start(&args.console, desk).await?;
    let rules = desk.join("beside.toml");
    std::fs::write(&rules, RULES)?;
    let applied = command(&args.console, desk)
        .args(["rules", "apply"])
        .arg(&rules)
        .output()
        .await?;
    let why = String::from_utf8_lossy(&applied.stderr);
    ensure!(applied.status.success(), "the rule was not applied: {why}");
    let agent_json = served.ready["agent_json"].as_str().context("no agent")?;
    let mut figures = Figures::default();
    hooks(&args.console, desk, agent_json, &mut figures).await?;
    calls(&args.console, desk, agent_json, &mut figures).await?;
    gateway::measure(&args.console, desk, agent_json, &mut figures).await?;
    served.stop().await?;
    Ok(figures)
}

async fn hooks(
    program: &Path,
    desk: &Path,
    agent: &str,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let hook = async |n: usize| -> anyhow::Result<i64> {
        let start = Instant::now();
        let mut child = command(program, desk)
            .args([
                "hook",
                "claude-code",
                "--timeout",
                "30",
                "--agent-json",
                agent,
            ])
            .env("COUNTERSIGN_STATE_DIR", desk.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let event = json!({
            "hook_event_name": "PreToolUse", "session_id": "bench", "tool_use_id": format!("{n}"),
            "tool_name": "Bash", "tool_input": {"command": "make", "n": n}, "cwd": "/",
        });
        let mut input = child.stdin.take().context("no pipe")?;
        input.write_all(event.to_string().as_bytes()).await?;
        drop(input);
        let out = child.wait_with_output().await?;
        let answer = String::from_utf8_lossy(&out.stdout);
        ensure!(answer.contains("\"allow\""), "a hook answered {answer}");
        since(start)
    };
    let mut floor = Vec::new();
    let mut product = Vec::new();
    for n in 0..HOOKS {
        let start = Instant::now();
        let version = command(program, desk).arg("--version").output().await?;
        ensure!(version.status.success(), "the program does not start");
        floor.push(since(start)?);
        product.push(hook(n).await?);
    }
    figures.percentiles("floor_hook", floor);
    figures.percentiles("hook", product);
    let start = Instant::now();
    let together = (0..AT_ONCE).map(|n| hook(HOOKS + n));
    let ended = futures::future::try_join_all(together).await?;
    figures.set("hooks_50_at_once_ms", ms(since(start)?));
    figures.set(
        "hooks_50_slowest_ms",
        ms(ended.into_iter().max().unwrap_or(0)),
    );
    Ok(())
}

async fn calls(
    program: &Path,
    desk: &Path,
    agent: &str,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let own = std::env::current_exe()?;
    let mut direct = Caller::start(Command::new(&own).arg("answers"))?;
    let mut proxy = command(program, desk);
    proxy.args([
        "mcp-proxy",
        "--unasked",
        "look",
        "--risk",
        "pay=low",
        "--agent-json",
        agent,
        "--",
    ]);
    let mut proxied = Caller::start(proxy.arg(&own).arg("answers"))?;
    for tool in ["look", "pay"] {
        let name = if tool == "look" {
            "proxy_unasked"
        } else {
            "proxy_allowed"
        };
        let mut floor = Vec::new();
        let mut product = Vec::new();
        for n in 0..CALLS {
            floor.push(direct.call(tool, n).await?);
            product.push(proxied.call(tool, n).await?);
        }
        figures.percentiles(&format!("floor_{name}"), floor);
        figures.percentiles(name, product);
    }
    Ok(())
}

/// A client of an MCP server.
struct Caller {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Caller {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let output = BufReader::new(child.stdout.take().context("no pipe")?).lines();
        let input = child.stdin.take().context("no pipe")?;
        Ok(Self {
            input,
            output,
            _child: child,
        })
    }

    /// Nanoseconds of one call.
    async fn call(&mut self, tool: &str, n: usize) -> anyhow::Result<i64> {
        let call = json!({"jsonrpc": "2.0", "id": format!("{tool}{n}"), "method": "tools/call",
            "params": {"name": tool, "arguments": {"n": n}}});
        let start = Instant::now();
        self.input.write_all(format!("{call}\n").as_bytes()).await?;
        let answer = self.output.next_line().await?.context("no answer")?;
        ensure!(answer.contains("\"done\""), "a call was answered {answer}");
        since(start)
    }
}

/// An MCP server that does nothing: the floor of the proxy.
pub(crate) async fn answers() -> anyhow::Result<()> {
    let mut lines = BufReader::new(stdin()).lines();
    let mut out = stdout();
    while let Some(line) = lines.next_line().await? {
        let asked: Value = serde_json::from_str(&line)?;
        let result = match asked["method"].as_str() {
            Some("tools/list") => json!({"tools": []}),
            _ => json!({"content": [{"type": "text", "text": "done"}]}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        out.write_all(format!("{answer}\n").as_bytes()).await?;
        out.flush().await?;
    }
    Ok(())
}

pub(crate) fn since(start: Instant) -> anyhow::Result<i64> {
    Ok(i64::try_from(start.elapsed().as_nanos())?)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "durations are far below 2^52 ns"
)]
fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}
