//! Writes the store.
//!
//! A folder must be empty: a store is filled once, so that its seed says what is in it.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use countersign_core::domain::Timestamp;
use countersign_core::store::audit::{self, Entry};
use countersign_core::store::decisions::{self, NewDecision};
use countersign_core::store::request_states::{self, StateChange};
use countersign_core::store::requests;
use countersign_core::store::{Writer, meta, spans};
use countersign_core::{App, Options, store};
use countersign_load::Figures;
use countersign_wire::Sha256Digest;
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use crate::FillArgs;
use crate::chance::Chance;
use crate::request::{EPOCH, Story, story};
use crate::span;

const BATCH: u64 = 500;
const SPANS_AT_ONCE: usize = 2_000;
const LARGE_TRACE: u64 = 10_000;
/// The requests are spread over this time up to now.
const DAYS: i64 = 90;
const DAY_MS: i64 = 86_400_000;
const INDEXING: Duration = Duration::from_secs(4 * 3_600);

pub(crate) async fn run(args: &FillArgs) -> anyhow::Result<Figures> {
    ensure!(
        !args.data.join("countersign.db").exists(),
        "{} has a store already",
        args.data.display()
    );
    let options = Options::embedded(args.data.clone(), "Seed", "default".parse()?);
    // Its keys, its realm and an audit log that begins with its start.
    let app = App::start(options.clone()).await?;
    app.ready(Duration::from_secs(30)).await;
    let realm = app.realm().context("the console met no bus")?;
    let (now, database) = (app.now(), app.data().database());
    app.shutdown().await;
    let mut figures = Figures::default();
    let app = App::offline(options).await?;
    let started = Instant::now();
    let (mut writer, reader) = store::open(&database).await?;
    let mut filling = Filling {
        chance: Chance::new(args.seed),
        args,
        now,
        realm,
        span_seq: 1,
    };
    filling.requests(&mut writer, &app)?;
    writer.fold_log_back()?;
    let of_requests = size(&database)?;
    figures.set("rows_s", started.elapsed().as_secs_f64());
    let started = Instant::now();
    filling.spans(&mut writer, &app)?;
    writer.fold_log_back()?;
    figures.set("spans_s", started.elapsed().as_secs_f64());
    let of_all = size(&database)?;
    reader.close().await;
    writer.close()?;
    let started = Instant::now();
    let left = app.catch_up_search(INDEXING).await?;
    ensure!(left == 0, "{left} requests are not indexed");
    app.shutdown().await;
    figures.set("index_s", started.elapsed().as_secs_f64());
    let (writer, reader) = store::open(&database).await?;
    writer.fold_log_back()?;
    reader.close().await;
    writer.close()?;
    let requests = args.requests.max(1) as f64;
    let spans = (filling.span_seq - 1).max(1) as f64;
    figures.set("requests", requests);
    figures.set("spans", spans);
    figures.set("row_bytes_per_request", of_requests / requests);
    figures.set("bytes_per_span", (of_all - of_requests) / spans);
    figures.set(
        "index_bytes_per_request",
        (size(&database)? - of_all) / requests,
    );
    Ok(figures)
}

fn size(database: &Path) -> anyhow::Result<f64> {
    Ok(std::fs::metadata(database)?.len() as f64)
}

struct Filling<'a> {
    chance: Chance,
    args: &'a FillArgs,
    now: Timestamp,
    realm: Uuid,
    span_seq: i64,
}

impl Filling<'_> {
    fn story(&self, number: u64, app: &App) -> anyhow::Result<Story> {
        let spread = i64::try_from(number)? * (DAYS * DAY_MS - 7_200_000)
            / i64::try_from(self.args.requests)?.max(1);
        let stored_at = self.now.plus_ms(spread - DAYS * DAY_MS);
        // Each has its own chance, so that spans find their request again.
        let mut chance = Chance::new(self.args.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        story(
            &mut chance,
            number,
            stored_at,
            (app.identity(), &self.realm),
        )
    }

    fn requests(&mut self, writer: &mut Writer, app: &App) -> anyhow::Result<()> {
        let mut number = 0;
        while number < self.args.requests {
            let end = (number + BATCH).min(self.args.requests);
            let stories: Vec<Story> = (number..end)
                .map(|number| self.story(number, app))
                .collect::<Result<_, _>>()?;
            batch(writer, &stories, number)?;
            number = end;
            progress("requests", number, self.args.requests);
        }
        Ok(())
    }

    fn spans(&mut self, writer: &mut Writer, app: &App) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        for number in 0..self.args.requests {
            let count = if number == 0 {
                LARGE_TRACE
            } else {
                self.args.spans
            };
            let story = self.story(number, app)?;
            let more = span::spans(&mut self.chance, &story, count, self.span_seq);
            self.span_seq += i64::try_from(more.len())?;
            rows.extend(more);
            if rows.len() >= SPANS_AT_ONCE || number + 1 == self.args.requests {
                let tx = writer.begin()?;
                let spans: Vec<_> = rows.iter().collect();
                spans::upsert(&tx, EPOCH, &spans)?;
                tx.commit()?;
                rows.clear();
                progress("spans", number, self.args.requests);
            }
        }
        Ok(())
    }
}

fn batch(writer: &mut Writer, stories: &[Story], first: u64) -> anyhow::Result<()> {
    let seq =
        |at: usize| -> anyhow::Result<i64> { Ok(i64::try_from(first)? + i64::try_from(at)? + 1) };
    let tx = writer.begin()?;
    let rows = (0..)
        .zip(stories)
        .map(|(at, story)| Ok(story.row(seq(at)?)));
    let rows: Vec<_> = rows.collect::<anyhow::Result<_>>()?;
    let ids = requests::insert(&tx, &rows)?;
    ensure!(ids.len() == stories.len(), "a row was left out");
    let mut new = Vec::with_capacity(stories.len());
    let mut changes = Vec::with_capacity(stories.len());
    let mut entries = Vec::with_capacity(stories.len() * 2);
    for ((at, story), (id, _)) in (0..).zip(stories).zip(&ids) {
        let seq = seq(at)?;
        let name = story.key.to_string();
        let requested = json!({ "request_digest": story.parsed.request_digest, "stream_seq": seq });
        let payload = Sha256Digest::of_bytes(&story.payload).to_string();
        let decided = json!({
            "payload_digest": payload, "stream_seq": seq, "decision_id": story.body.decision_id,
            "effective": story.verdict,
        });
        let agent = story.key.agent_key().to_string();
        for (moment, actor, action, detail) in [
            (story.stored_at, agent, "request", requested),
            (story.decided_at, story.signer.clone(), "decision", decided),
        ] {
            let subject = name.clone();
            entries.push(Entry {
                at: moment,
                actor,
                action,
                subject,
                detail,
            });
        }
        new.push(NewDecision {
            request: Some(*id),
            key: story.key.clone(),
            body: &story.body,
            payload: &story.payload,
            signer: Some(&story.signer),
            sig: Some(&story.sig),
            stream_epoch: EPOCH,
            stream_seq: seq,
            stored_at: story.decided_at,
            effective: Some(story.verdict),
            fault: None,
        });
        changes.push(StateChange {
            id: *id,
            state: story.state,
            verdict: Some(story.verdict.to_owned()),
            origin: story.body.origin.clone(),
            decided_at: Some(story.decided_at),
            delivery: story.delivery,
        });
    }
    decisions::insert(&tx, &new)?;
    request_states::change_states(&tx, &changes)?;
    audit::append(&tx, &entries)?;
    // What was delivered long ago raises no alarm when a console starts here.
    if let Some((last, _)) = ids.last() {
        meta::put(&tx, meta::LADDER_SWEPT, &last.to_string())?;
    }
    Ok(tx.commit()?)
}

fn progress(what: &str, done: u64, all: u64) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{what}: {:>3} %", done * 100 / all.max(1));
    }
}
