//! How many bad calls of a folder of sets carry a true finding where they are bad, and how many good ones any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use countersign_scrutiny::{Call, Denial, Finding, Past, Weight, effect, examine, facts, nearest};
use jiff::ToSpan as _;
use jiff::civil::{Date, date};
use serde_json::Value;

const TODAY: Date = date(2026, 12, 1);

/// Puts in what is written `@{+3}`, `@{+3:weekday}`, `@{+3:long}`, `@{+3:offset:Europe/Helsinki}`.
fn dated(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("@{") {
        let (inner, behind) = after.split_once('}').unwrap();
        let mut parts = inner.splitn(3, ':');
        let days: i64 = parts.next().unwrap().parse().unwrap();
        let day = TODAY.checked_add(days.days()).unwrap();
        out.push_str(before);
        out.push_str(&match (parts.next(), parts.next()) {
            (None, _) => day.to_string(),
            (Some("weekday"), _) => day.strftime("%A").to_string(),
            (Some("long"), _) => day.strftime("%-d %B %Y").to_string(),
            (Some("offset"), Some(zone)) => {
                let noon = day.at(12, 0, 0, 0).in_tz(zone).unwrap();
                noon.strftime("%:z").to_string()
            }
            other => panic!("{other:?}"),
        });
        rest = behind;
    }
    out + rest
}

fn today() -> Option<i64> {
    Some(i64::from(TODAY.since(date(1970, 1, 1)).unwrap().get_days()))
}

#[derive(Default)]
pub(crate) struct Count {
    pub(crate) right: usize,
    place: usize,
    pub(crate) bad: usize,
}

#[derive(Default)]
pub(crate) struct Measure {
    pub(crate) all: Count,
    by: BTreeMap<char, Count>,
    /// Right and all.
    effect: (usize, usize),
    compared: (usize, usize),
    pub(crate) good: usize,
    pub(crate) marked: usize,
    pub(crate) stopped: usize,
}

fn plain(text: &str) -> String {
    let kept = text.chars().filter(|at| !at.is_whitespace() && *at != ',');
    kept.flat_map(char::to_lowercase).collect()
}

fn pasts(set: &Value) -> BTreeMap<String, Past> {
    let mut pasts: BTreeMap<String, Past> = BTreeMap::new();
    for (tool, calls) in set["past"].as_object().unwrap() {
        let past = pasts.entry(tool.clone()).or_default();
        for args in calls.as_array().unwrap() {
            let mut call = Call::new(tool, args);
            call.today = today();
            past.approve(&facts(&call), 1);
            past.remember("", &call, None);
        }
    }
    for (tool, calls) in set["denied"].as_object().into_iter().flatten() {
        let past = pasts.entry(tool.clone()).or_default();
        for denied in calls.as_array().unwrap() {
            let denial = Denial {
                by: Some("Ana".to_owned()),
                at: Some(0),
                why: denied["message"].as_str().map(str::to_owned),
            };
            let mut call = Call::new(tool, &denied["args"]);
            call.today = today();
            past.deny(&facts(&call), &denial);
            past.remember("", &call, Some(&denial));
        }
    }
    pasts
}

fn measure(text: &str, name: &str, sum: &mut Measure) {
    let set: Value = serde_json::from_str(&dated(text)).unwrap();
    let pasts = pasts(&set);
    let none = Past::default();
    for (number, case) in set["calls"].as_array().unwrap().iter().enumerate() {
        let tool = case["tool"].as_str().unwrap();
        let mut call = Call::new(tool, &case["args"]);
        call.said.extend(case["reason"].as_str());
        call.today = today();
        beside(&set, case, &call, pasts.get(tool).unwrap_or(&none), sum);
        let found = examine(&call, pasts.get(tool).unwrap_or(&none));
        let words = |key: &str| -> Vec<&str> {
            let all = case[key].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).collect()
        };
        let said: Vec<String> = found
            .iter()
            .map(|of| {
                format!(
                    "{:?} {} {}: {}",
                    of.weight,
                    of.code.as_str(),
                    of.at,
                    of.message
                )
            })
            .collect();
        let Some(bad) = case["bad"].as_str() else {
            sum.good += 1;
            sum.marked += usize::from(!found.is_empty());
            sum.stopped += usize::from(found.iter().any(|of| of.weight == Weight::Stop));
            if !found.is_empty() {
                println!(
                    "FALSE {name}#{number} {tool} {} [{}] {}\n    {said:?}",
                    case["args"], case["tempts"], case["why"]
                );
            }
            continue;
        };
        let there = |of: &&Finding| of.at == bad || words("also").contains(&of.at.as_str());
        let names = |of: &Finding| {
            words("facts")
                .iter()
                .all(|fact| plain(&of.message).contains(&plain(fact)))
        };
        let (place, right) = (
            found.iter().any(|of| there(&of)),
            found.iter().filter(there).any(names),
        );
        let letters = case["principle"].as_str().unwrap_or("?");
        let mut counts: Vec<&mut Count> = vec![&mut sum.all];
        let first = letters.chars().next().unwrap_or('?');
        counts.push(sum.by.entry(first).or_default());
        for count in counts {
            count.bad += 1;
            count.place += usize::from(place);
            count.right += usize::from(right);
        }
        if !right {
            println!(
                "MISS {name}#{number} {letters} {tool} {} at {bad}\n    wanted {} {:?}\n    {said:?}",
                case["args"],
                case["says"],
                words("facts")
            );
        } else if std::env::var_os("JUDGEMENT_ALL").is_some() {
            println!("RIGHT {name}#{number} {letters} {tool}\n    {said:?}");
        }
    }
}

/// What will happen, and the nearest approved call.
fn beside(set: &Value, case: &Value, call: &Call<'_>, past: &Past, sum: &mut Measure) {
    if let Some(words) = case["effect"].as_array() {
        let said = effect(call, past).unwrap_or_default();
        let right = words
            .iter()
            .all(|word| plain(&said).contains(&plain(word.as_str().unwrap())));
        sum.effect = (sum.effect.0 + usize::from(right), sum.effect.1 + 1);
        if !right {
            println!("EFFECT {} {words:?}: {said}", call.args);
        }
    }
    if let Some(right) = case["compared"].as_array() {
        let approved = set["past"][call.tool]
            .as_array()
            .unwrap()
            .iter()
            .cloned()
            .enumerate();
        let found = nearest(call.tool, call.args, approved.rev());
        let fits = found
            .is_some_and(|(number, _)| right.iter().any(|of| of.as_u64() == Some(number as u64)));
        sum.compared = (sum.compared.0 + usize::from(fits), sum.compared.1 + 1);
    }
}

/// The sets below a folder.
fn sets(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sets(&path, found);
        } else if path.extension().is_some_and(|of| of == "json") {
            found.push(path);
        }
    }
    found.sort();
}

pub(crate) fn measured(folder: &Path) -> Measure {
    let (mut sum, mut files) = (Measure::default(), Vec::new());
    sets(folder, &mut files);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (right, bad, marked, good) = (sum.all.right, sum.all.bad, sum.marked, sum.good);
        measure(
            &text,
            &path.file_stem().unwrap().to_string_lossy(),
            &mut sum,
        );
        println!(
            "SET {}: {} of {} right, {} of {} good marked",
            path.strip_prefix(folder).unwrap().display(),
            sum.all.right - right,
            sum.all.bad - bad,
            sum.marked - marked,
            sum.good - good
        );
    }
    for (letter, count) in &sum.by {
        println!(
            "{letter}: {} of {} right, {} at the place",
            count.right, count.bad, count.place
        );
    }
    println!(
        "all: {} of {} right, {} at the place; good: {} of {} marked, {} stopped",
        sum.all.right, sum.all.bad, sum.all.place, sum.marked, sum.good, sum.stopped
    );
    println!("effect {:?}, compared {:?}", sum.effect, sum.compared);
    sum
}
