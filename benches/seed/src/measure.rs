//! Reads a store as the screens do, and says how long that took.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use countersign_core::domain::history::HistoryFilter;
use countersign_core::domain::search::TextQuery;
use countersign_core::domain::{State, Timestamp};
use countersign_core::{App, Options};
use countersign_load::Figures;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::Instant;

use crate::MeasureArgs;
use crate::chance::word;
use crate::span::LARGE;

/// Lines of one page, as the window reads them.
const PAGE: i64 = 100;
/// The window's limit for one page.
const BUDGET: Duration = Duration::from_millis(60);
/// The window's limit for counting what a filter passes.
const COUNTING: Duration = Duration::from_millis(500);
const START: Duration = Duration::from_secs(60);

pub(crate) async fn run(args: &MeasureArgs) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    if let Some(program) = &args.console {
        let mut times = Vec::new();
        for _ in 0..args.rounds.clamp(1, 5) {
            times.push(start(program, &args.data).await?);
        }
        figures.set("start_up_p95_ms", of_hundred(&mut times, 95));
    }
    let options = Options::embedded(args.data.clone(), "Seed", "default".parse()?);
    let app = App::read(options, false).await?;
    let filter_values = app.history_filter_values().await?;
    let none = HistoryFilter::default;
    pages(&app, "first_page", &[none()], args.rounds, &mut figures).await?;

    let (mut filters, some) = (Vec::new(), |word: &str| Some(word.to_owned()));
    let one = |word: &str| Some(vec![word.to_owned()]);
    for (workspace, agent) in [filter_values.agents.first(), filter_values.agents.last()]
        .into_iter()
        .flatten()
    {
        filters.push(HistoryFilter {
            agent: some(agent),
            ..none()
        });
        filters.push(HistoryFilter {
            workspace: some(workspace),
            agent: some(agent),
            ..none()
        });
        filters.push(HistoryFilter {
            workspace: some(workspace),
            ..none()
        });
    }
    for tool in [filter_values.tools.first(), filter_values.tools.last()]
        .into_iter()
        .flatten()
    {
        filters.push(HistoryFilter {
            tool: some(tool),
            ..none()
        });
        filters.push(HistoryFilter {
            tool: some(tool),
            risk: some("critical"),
            ..none()
        });
    }
    for rule in filter_values.rules.iter().take(2) {
        filters.push(HistoryFilter {
            rule: some(rule),
            ..none()
        });
    }
    for signer in &filter_values.signers {
        filters.push(HistoryFilter {
            signers: Some(vec![signer.clone()]),
            ..none()
        });
    }
    for risk in ["critical", "low"] {
        filters.push(HistoryFilter {
            risk: some(risk),
            ..none()
        });
    }
    for state in [State::Expired, State::Decided, State::Rejected] {
        filters.push(HistoryFilter {
            states: Some(vec![state]),
            ..none()
        });
    }
    for verdict in ["approve", "deny", "skip"] {
        filters.push(HistoryFilter {
            verdicts: one(verdict),
            ..none()
        });
        filters.push(HistoryFilter {
            verdicts: one(verdict),
            origins: one("operator"),
            ..none()
        });
    }
    filters.push(HistoryFilter {
        origins: one("rule"),
        verdicts: one("expired"),
        ..none()
    });
    let day = |days: i64| Some(app.now().plus_ms(-days * 86_400_000));
    filters.push(HistoryFilter {
        since: day(60),
        until: day(59),
        ..none()
    });
    filters.push(HistoryFilter {
        until: day(80),
        risk: some("high"),
        ..none()
    });
    pages(&app, "filter_change", &filters, args.rounds, &mut figures).await?;
    let groups = groups(day(7));
    pages(&app, "group_filter", &groups, args.rounds, &mut figures).await?;
    filters.extend(groups);
    counts(&app, &filters, &mut figures).await?;

    let (common, rare) = (word(1), word(19_000));
    let texts = [
        common.clone(),
        rare.clone(),
        format!("{common} {rare}"),
        format!("{common} {}", word(2)),
        format!("\"{} {}\"", word(0), word(0)),
        format!("{}*", &word(500)[..3]),
        "ba*".to_owned(),
        "nowhere".to_owned(),
    ];
    let mut filters: Vec<HistoryFilter> = texts
        .iter()
        .map(|text| HistoryFilter {
            text: TextQuery::parse(text),
            ..none()
        })
        .collect();
    filters.push(HistoryFilter {
        text: TextQuery::parse(&common),
        verdicts: one("deny"),
        ..none()
    });
    filters.push(HistoryFilter {
        text: TextQuery::parse(&common),
        states: Some(vec![State::Rejected]),
        ..none()
    });
    pages(&app, "text_search", &filters, args.rounds, &mut figures).await?;

    let mut times = Vec::new();
    for _ in 0..args.rounds.max(1) {
        let begun = Instant::now();
        let trace = app.trace(LARGE).await?;
        times.push(begun.elapsed());
        drop(trace);
    }
    figures.set("large_trace_p95_ms", of_hundred(&mut times, 95));
    app.shutdown().await;
    Ok(figures)
}

/// What the numbers of the overview open: several words at once, of a week and of all time.
fn groups(week: Option<Timestamp>) -> Vec<HistoryFilter> {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let none = HistoryFilter::default;
    let narrow = [
        HistoryFilter {
            states: Some(vec![State::Pending, State::Holding, State::Queued]),
            ..none()
        },
        HistoryFilter {
            states: Some(vec![State::Decided, State::Expired]),
            ..none()
        },
        HistoryFilter {
            verdicts: words(&["approve", "modify", "respond"]),
            origins: words(&["operator"]),
            ..none()
        },
        HistoryFilter {
            verdicts: words(&["modify", "deny", "terminate"]),
            origins: words(&["operator"]),
            ..none()
        },
        HistoryFilter {
            origins: words(&["rule", "setup_key"]),
            risk: Some("high".to_owned()),
            ..none()
        },
        HistoryFilter {
            origins: words(&["operator"]),
            hasty: true,
            ..none()
        },
        HistoryFilter {
            overdue: true,
            ..none()
        },
    ];
    let of_week = narrow.clone().map(|filter| HistoryFilter {
        since: week,
        ..filter
    });
    narrow.into_iter().chain(of_week).collect()
}

/// Counts what each filter passes, and says how many filters could be counted whole.
async fn counts(app: &App, filters: &[HistoryFilter], figures: &mut Figures) -> anyhow::Result<()> {
    let (mut times, mut whole) = (Vec::new(), 0_u32);
    for filter in filters {
        let begun = Instant::now();
        let count = app.history_count(filter, COUNTING).await?;
        times.push(begun.elapsed());
        whole += u32::from(count.whole);
        eprintln!("count: {:?}: {count:?} of {filter:?}", begun.elapsed());
    }
    figures.set("filters_counted", filters.len() as f64);
    figures.set("filters_counted_whole", f64::from(whole));
    figures.set("count_p50_ms", of_hundred(&mut times, 50));
    figures.set("count_slowest_ms", of_hundred(&mut times, 100));
    Ok(())
}

/// The first page of each filter, so many times; the slowest filter is printed on standard error.
async fn pages(
    app: &App,
    name: &str,
    filters: &[HistoryFilter],
    rounds: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut times = Vec::new();
    let mut slowest = (Duration::ZERO, None);
    for _ in 0..rounds.max(1) {
        for filter in filters {
            let begun = Instant::now();
            let page = app.history_page(filter, None, PAGE, Some(BUDGET)).await?;
            let took = begun.elapsed();
            times.push(took);
            if took > slowest.0 {
                slowest = (took, Some((filter, page.rows.len(), page.next.is_some())));
            }
        }
    }
    eprintln!("{name}: slowest {:?}: {:?}", slowest.0, slowest.1);
    figures.set(&format!("{name}_p50_ms"), of_hundred(&mut times, 50));
    figures.set(&format!("{name}_p95_ms"), of_hundred(&mut times, 95));
    Ok(())
}

/// The smallest time that so many of a hundred do not exceed, ms.
fn of_hundred(times: &mut [Duration], share: usize) -> f64 {
    times.sort_unstable();
    let at = (times.len() * share).div_ceil(100).max(1) - 1;
    times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// How long `serve` takes to be ready.
async fn start(program: &Path, data: &Path) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut child = Command::new(program)
        .arg("serve")
        .env("COUNTERSIGN_DATA_DIR", data)
        .env("COUNTERSIGN_OPERATOR", "Seed")
        .env("COUNTERSIGN_KEYS", "file")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{} does not start", program.display()))?;
    let out = child.stdout.take().context("no pipe")?;
    let mut lines = BufReader::new(out).lines();
    let line = tokio::time::timeout(START, lines.next_line()).await??;
    let took = begun.elapsed();
    ensure!(line.is_some(), "no ready line");
    child.kill().await?;
    Ok(took)
}
