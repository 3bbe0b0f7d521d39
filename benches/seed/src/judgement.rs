//! What is found in the calls of the sets, each miss and each false mark on standard error, and how long a look takes.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use countersign_load::Figures;
use countersign_scrutiny::{Call, Past, examine, facts};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Values at each place of a full past.
const VALUES: usize = 200;
/// Characters of the arguments.
const LENGTH: usize = 16 * 1024;

/// What to measure.
#[derive(Debug, Clone, Args)]
pub(crate) struct JudgementArgs {
    /// The folder of the sets
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/judgement"))]
    sets: PathBuf,
    /// Calls whose time is taken
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
}

pub(crate) fn run(args: &JudgementArgs) -> anyhow::Result<Figures> {
    let mut figures = Figures::default();
    for (name, cold) in [("judgement", false), ("judgement_cold", true)] {
        let mut counts = [0.0; 4];
        for file in std::fs::read_dir(&args.sets)? {
            let path = file?.path();
            if path.extension().is_some_and(|of| of == "json") {
                let text = std::fs::read_to_string(&path)?;
                let set =
                    serde_json::from_str(&text).with_context(|| path.display().to_string())?;
                rates(&set, cold, &mut counts);
            }
        }
        let [caught, bad, marked, good] = counts;
        figures.set(&format!("{name}_caught_percent"), 100.0 * caught / bad);
        figures.set(&format!("{name}_marked_percent"), 100.0 * marked / good);
    }
    let mut times = times(args.calls);
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times.get(times.len() * percent / 100).copied();
    figures.set("examine_p50_ms", at(50).context("no calls")?);
    figures.set("examine_p99_ms", at(99).context("no calls")?);
    Ok(figures)
}

/// Adds bad calls with a finding at the right place, bad ones, good ones with any finding, good ones.
fn rates(set: &Value, cold: bool, counts: &mut [f64; 4]) {
    let mut pasts: HashMap<&str, Past> = HashMap::new();
    for (tool, calls) in set["past"].as_object().into_iter().flatten() {
        for args in calls.as_array().into_iter().flatten().filter(|_| !cold) {
            let past = pasts.entry(tool).or_default();
            learn(past, &Call::new(tool, args));
        }
    }
    let desk = if cold {
        "without a past"
    } else {
        "with a past"
    };
    for call in set["calls"].as_array().into_iter().flatten() {
        let (tool, args) = (call["tool"].as_str().unwrap_or_default(), &call["args"]);
        let found = examine(&Call::new(tool, args), pasts.entry(tool).or_default());
        let at = call["bad"].as_str();
        let right = at.is_some_and(|at| found.iter().any(|of| of.at == at));
        let hit = at.map_or(!found.is_empty(), |_| right);
        let first = if at.is_some() { 0 } else { 2 };
        counts[first] += f64::from(u8::from(hit));
        counts[first + 1] += 1.0;
        match at {
            Some(at) if !right => eprintln!("missed {desk}: {tool} {args} at {at}"),
            Some(_) => {}
            None => found
                .iter()
                .for_each(|of| eprintln!("false {desk}: {tool} {}: {}", of.at, of.message)),
        }
    }
}

fn learn(past: &mut Past, call: &Call<'_>) {
    past.approve(&facts(call), 1);
    past.remember("", call, None);
}

/// How long each call is looked at, ms, against a past with all the values that it keeps.
fn times(calls: usize) -> Vec<f64> {
    let mut past = Past::default();
    for number in 0..VALUES {
        learn(&mut past, &Call::new("work", &call(number)));
    }
    let look = |number: usize| {
        let args = call(VALUES + number);
        let begun = Instant::now();
        std::hint::black_box(examine(&Call::new("work", &args), &past));
        begun.elapsed().as_secs_f64() * 1_000.0
    };
    (0..calls).map(look).collect()
}

/// A call with a value of each kind, and text up to 16 KiB.
fn call(number: usize) -> Value {
    // No two differ in digits only, and no place holds more values than are kept.
    let name = |number: usize| -> String {
        let letter = |at: u32| {
            char::from(b'a' + u8::try_from(number / 7_usize.pow(at) % 7).unwrap_or(0) * 3)
        };
        (0..8).flat_map(|at| [letter(at % 4), 'e']).collect()
    };
    let people: Vec<String> = (0..10)
        .map(|at| {
            format!(
                "person@{}.example",
                name((number + at) % VALUES + number / VALUES * VALUES)
            )
        })
        .collect();
    let mut args = json!({
        "to": people,
        "url": format!("https://api.{}.example/v1/orders", name(number)),
        "payee": format!("Supplier {number}"),
        "account": format!("{}", 10_000_000_000 + number * 7_919),
        "amount": 100 + number,
        "currency": "EUR",
        "environment": format!("stage-{number}"),
        "path": format!("/srv/build/cache/{number}/*"),
        "command": format!("cd /srv/{number} && npm ci && find . -name '*.log' | head -{number}; rm -rf build"),
        "sql": format!("UPDATE orders SET note = 'x' WHERE id = {number}; SELECT count(*) FROM carts"),
        "verify": true,
    });
    let left = LENGTH.saturating_sub(args.to_string().len());
    args["body"] = "See https://www.hallberg.example/a and the report. "
        .repeat(left / 51)
        .into();
    args
}
