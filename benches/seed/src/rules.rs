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
use serde_json::json;
use std::path::PathBuf;
use tokio::time::Instant;

/// Calls that are judged one by one.
const CALLS: usize = 20_000;

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
        let asked = Asked {
            agent: "billing-bot",
            kind: RequestKind::ToolCall,
            tool: Some(&tool),
            origin: Some("local"),
            framework: None,
            skill: None,
            skill_tools: None,
            thread_id: Some("t"),
            run_id: None,
            effective: None,
            native: None,
            args: Some(&args),
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
            uses: &uses,
            explain: false,
            conditions: &conditions,
        };
        let begun = Instant::now();
        let found = evaluate(&set, &asked, &setting);
        times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        std::hint::black_box(found);
    }
    times.sort_by(f64::total_cmp);
    let at = |of_thousand: usize| times[(times.len() - 1) * of_thousand / 1_000];
    figures.set("evaluate_p50_ms", at(500));
    figures.set("evaluate_p99_ms", at(990));
    figures.set("evaluate_p999_ms", at(999));
    Ok(())
}

async fn simulate(data: PathBuf, rules: &[Rule], figures: &mut Figures) -> anyhow::Result<()> {
    let options = Options::embedded(data, "Seed", "default".parse()?);
    let app = App::read(options, false).await?;
    let (begun, mut total) = (Instant::now(), 0);
    for workspace in app.history_facets().await?.workspaces {
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
