//! How long a thousand rules take for one call, and a simulation over every stored request.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use clap::Args;
use countersign_core::domain::Timestamp;
use countersign_core::policy::{
    Asked, Conditions, PolicySet, Rule, Setting, Uses, evaluate, read_file,
};
use countersign_core::{App, Options};
use countersign_load::Figures;
use countersign_wire::{RequestKind, Risk};
use serde_json::{Value, json};
use std::path::PathBuf;
use tokio::time::Instant;

/// Calls that are judged one by one.
const CALLS: usize = 20_000;

/// Simple commands of a call, patterns of a rule, and calls that are judged.
const COMMANDS: usize = 20;
const PATTERNS: usize = 5;
const COMMAND_CALLS: usize = 2_000;

/// What to measure.
#[derive(Debug, Clone, Args)]
pub(crate) struct RulesArgs {
    /// A folder that `fill` made; without one only single calls are judged
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// Rules, a tenth of them with a condition
    #[arg(long, default_value_t = 1_000)]
    pub(crate) rules: usize,
}

pub(crate) async fn run(args: &RulesArgs) -> anyhow::Result<Figures> {
    ensure!(args.rules > 0, "at least one rule");
    let rules = rules(args.rules)?;
    let mut figures = Figures::default();
    single(&rules, &mut figures)?;
    commands(args.rules, &mut figures)?;
    if let Some(data) = &args.data {
        simulate(data.clone(), &rules, &mut figures).await?;
    }
    Ok(figures)
}

/// Rules as a workspace has them: few concern a call, some of them look into its arguments.
fn rules(count: usize) -> anyhow::Result<Vec<Rule>> {
    let mut file = "schema = 1\n".to_owned();
    for number in 0..count {
        let effect = ["approve", "approve", "ask", "deny"][number % 4];
        file.push_str(&format!(
            "[[rule]]\nid = \"r-{number}\"\neffect = \"{effect}\"\ntool = [\"*_{}\", \"tool-{number}\"]\n",
            number % 97
        ));
        if effect == "approve" {
            file.push_str("expires_at = \"2999-01-01T00:00:00Z\"\n");
        }
        let more = match number % 10 {
            0 => "when = \"size(args) < 4 && risk != 'high'\"\n",
            1 | 2 => "args.\"/path\" = { glob = \"/srv/*\" }\n",
            3 => "risk = [\"low\", \"medium\"]\n",
            4 => "agent = [\"*-bot\"]\n",
            _ => "",
        };
        file.push_str(more);
    }
    read_file(&file).map_err(|problems| anyhow::anyhow!("{problems:?}"))
}

fn single(rules: &[Rule], figures: &mut Figures) -> anyhow::Result<()> {
    let set = PolicySet::new(rules.to_vec(), BTreeMap::new()).map_err(anyhow::Error::msg)?;
    let (conditions, uses) = (Conditions::default(), Uses::new());
    let now = Timestamp::parse("2026-11-22T12:00:00Z").context("a time")?;
    let mut times = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let tool = match number % 3 {
            0 => format!("tool-{}", number % rules.len()),
            1 => format!("read_{}", number % 97),
            _ => "nobody_knows_it".to_owned(),
        };
        let args =
            json!({ "path": format!("/srv/{number}"), "amount": number, "to": "a@example.com" });
        times.push(judged(&set, (&tool, &args), (&uses, &conditions, now)));
    }
    times.sort_by(f64::total_cmp);
    let at = |of_thousand: usize| times[(times.len() - 1) * of_thousand / 1_000];
    figures.set("evaluate_p50_ms", at(500));
    figures.set("evaluate_p99_ms", at(990));
    figures.set("evaluate_p999_ms", at(999));
    Ok(())
}

/// How long one call takes, in milliseconds.
fn judged(
    set: &PolicySet,
    (tool, args): (&str, &Value),
    (uses, conditions, now): (&Uses, &Conditions, Timestamp),
) -> f64 {
    let asked = Asked {
        agent: "billing-bot",
        kind: RequestKind::ToolCall,
        tool: Some(tool),
        origin: Some("local"),
        framework: None,
        skill: None,
        skill_tools: None,
        thread_id: Some("t"),
        run_id: None,
        effective: None,
        native: None,
        args: Some(args),
        args_digest: None,
        risk: Risk::Low,
        takes_approval: true,
        approvals_required: 1,
        setup_key: None,
        tool_changed_at: None,
        stops: &[],
    };
    let setting = Setting {
        now,
        approves_off: None,
        author_may: true,
        bypass: None,
        uses,
        explain: false,
        conditions,
    };
    let begun = Instant::now();
    let found = evaluate(set, &asked, &setting);
    let took = begun.elapsed().as_secs_f64() * 1_000.0;
    std::hint::black_box(found);
    took
}

/// Commands read by as many rules, beside as many globs over the same text.
fn commands(count: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let (conditions, uses) = (Conditions::default(), Uses::new());
    let now = Timestamp::parse("2026-11-22T12:00:00Z").context("a time")?;
    for (name, matcher) in [("commands", Matching::Commands), ("globs", Matching::Globs)] {
        let rules = about_commands(count, matcher)?;
        let set = PolicySet::new(rules, BTreeMap::new()).map_err(anyhow::Error::msg)?;
        let mut times = Vec::with_capacity(COMMAND_CALLS);
        for number in 0..COMMAND_CALLS {
            let part = |part: usize| {
                let program = (number * 7 + part) % (count * PATTERNS);
                format!(
                    "prog{program} sub{} --all 'file {number}' x{part}",
                    part % 9
                )
            };
            let command: Vec<String> = (0..COMMANDS).map(part).collect();
            let args = json!({ "command": command.join(" && ") });
            times.push(judged(&set, ("Bash", &args), (&uses, &conditions, now)));
        }
        times.sort_by(f64::total_cmp);
        for (word, of_hundred) in [("p50", 50), ("p99", 99)] {
            let at = times[(times.len() - 1) * of_hundred / 100];
            figures.set(&format!("evaluate_{name}_{word}_ms"), at);
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Matching {
    Commands,
    Globs,
}

/// Rules of one tool with five patterns each: a command's, or the texts that a glob would have to look for.
fn about_commands(count: usize, matching: Matching) -> anyhow::Result<Vec<Rule>> {
    let mut file = "schema = 1\n".to_owned();
    for number in 0..count {
        let effect = ["approve", "approve", "ask", "deny"][number % 4];
        let name = |at: usize| format!("prog{} sub{at}", number * PATTERNS + at);
        file.push_str(&format!(
            "[[rule]]\nid = \"c-{number}\"\neffect = \"{effect}\"\ntool = \"Bash\"\n"
        ));
        if effect == "approve" {
            file.push_str("expires_at = \"2999-01-01T00:00:00Z\"\n");
        }
        match matching {
            Matching::Commands => {
                let list: Vec<String> = (0..PATTERNS)
                    .map(|at| format!("\"{} *\"", name(at)))
                    .collect();
                file.push_str(&format!("command.\"/command\" = [{}]\n", list.join(", ")));
            }
            Matching::Globs => {
                let list: Vec<String> = (0..PATTERNS).map(|at| format!("*{}*", name(at))).collect();
                let tests: Vec<String> = list.iter().map(|glob| format!("'{glob}'")).collect();
                // One test has one glob: each pattern is a rule's own.
                file.push_str(&format!("args.\"/command\" = {{ glob = {} }}\n", tests[0]));
                for (at, glob) in tests.iter().enumerate().skip(1) {
                    file.push_str(&format!(
                        "[[rule]]\nid = \"c-{number}-{at}\"\neffect = \"{effect}\"\ntool = \"Bash\"\nexpires_at = \"2999-01-01T00:00:00Z\"\nargs.\"/command\" = {{ glob = {glob} }}\n"
                    ));
                }
            }
        }
    }
    read_file(&file).map_err(|problems| anyhow::anyhow!("{problems:?}"))
}

async fn simulate(data: PathBuf, rules: &[Rule], figures: &mut Figures) -> anyhow::Result<()> {
    let options = Options::embedded(data, "Seed", "default".parse()?);
    let app = App::read(options, false).await?;
    let (begun, mut total) = (Instant::now(), 0);
    for workspace in app.history_filter_values().await?.workspaces {
        let reported = |progress: countersign_core::ops::simulate::Progress| {
            if progress.done.is_multiple_of(50_000) {
                eprintln!("{} of {}", progress.done, progress.of);
            }
            true
        };
        let workspace = workspace.parse()?;
        let report = app
            .simulate_rules(&workspace, rules.to_vec(), None, reported)
            .await?;
        total += report.total;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    figures.set("simulated", total as f64);
    figures.set("simulate_s", begun.elapsed().as_secs_f64());
    app.shutdown().await;
    Ok(())
}
