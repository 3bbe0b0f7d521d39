//! The metrics themselves, and their two forms.

use std::collections::BTreeSet;
use std::fmt;

use countersign_domain::State;
use countersign_domain::metrics::Stored;
use countersign_wire::{Origin, Risk, Stage, Verdict};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

use crate::{FeedFigures, Figures};

pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
pub(crate) const CLASSIC: &str = prometheus_text::CONTENT_TYPE;

/// Names and values; no agent's text is ever one.
type Labels<const N: usize> = [(&'static str, String); N];

const BUCKETS: [f64; 12] = [
    1., 2., 5., 10., 30., 60., 120., 300., 900., 3_600., 14_400., 86_400.,
];

/// Gauges without a label.
const PLAIN: [(&str, &str); 8] = [
    (
        "oldest_waiting_seconds",
        "Age of the oldest request that waits",
    ),
    ("bus_connected", "Whether the bus is connected"),
    ("caught_up", "Whether what was on the bus is read"),
    ("read_only", "Whether nothing is decided here"),
    ("panic", "Whether panic is on"),
    (
        "outbox_decisions",
        "Decisions and votes that are held or on their way",
    ),
    ("agents_live", "Agents that were heard lately"),
    ("store_bytes", "The database and its write-ahead log"),
];

pub(crate) struct Page {
    registry: Registry,
    plain: Vec<(&'static str, Gauge)>,
    waiting: Family<Labels<1>, Gauge>,
    requests: Family<Labels<1>, Counter>,
    rejected: Counter,
    decisions: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    receipts: Family<Labels<1>, Counter>,
    alarms: Family<Labels<1>, Gauge>,
    /// Codes that were seen.
    codes: BTreeSet<String>,
    lag: Family<Labels<1>, Gauge>,
    pending: Family<Labels<1>, Gauge>,
    oldest_pending: Family<Labels<1>, Gauge>,
    deliveries: Family<Labels<2>, Counter>,
}

fn add<M: Metric + Clone + Default>(to: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    to.register(name, help, metric.clone());
    metric
}

impl Page {
    pub(crate) fn new(version: &str) -> Self {
        let mut all = Registry::with_prefix("countersign");
        let info = Info::new(vec![("version", version.to_owned())]);
        all.register("build", "The program", info);
        let plain = PLAIN.map(|(name, help)| (name, add(&mut all, name, help)));
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> _);
        let help = "From the stored request to a person's stored decision";
        all.register("decision_duration_seconds", help, durations.clone());
        let r = &mut all;
        let page = Self {
            plain: plain.into(),
            waiting: add(r, "requests_waiting", "Requests that wait"),
            requests: add(r, "requests", "Valid requests stored"),
            rejected: add(r, "requests_rejected", "Requests never to be approved"),
            decisions: add(r, "decisions", "Decisions stored"),
            durations,
            receipts: add(r, "receipts", "Receipts stored"),
            alarms: add(r, "alarms", "Alarms that nobody acknowledged"),
            codes: BTreeSet::new(),
            lag: add(r, "stream_lag_messages", "Messages that are not projected"),
            pending: add(r, "feed_pending_events", "Events that are not settled"),
            oldest_pending: add(
                r,
                "feed_oldest_pending_seconds",
                "Age of the oldest of them",
            ),
            deliveries: add(r, "feed_deliveries", "Tries"),
            registry: all,
        };
        for risk in Risk::ALL.map(by_risk) {
            page.waiting.get_or_create_owned(&risk);
            page.requests.get_or_create_owned(&risk);
            page.durations.get_or_create_owned(&risk);
        }
        for stage in Stage::ALL {
            let labels = [("stage", stage.to_string())];
            page.receipts.get_or_create_owned(&labels);
        }
        page
    }

    /// Takes over what the console is like.
    pub(crate) fn set(&mut self, figures: &Figures) {
        for (name, gauge) in &self.plain {
            let found = figures.plain.iter().find(|(of, _)| of == name);
            gauge.set(found.map_or(0, |(_, value)| *value));
        }
        for risk in Risk::ALL {
            let found = figures.waiting.iter().find(|of| of.risk == risk);
            let gauge = self.waiting.get_or_create(&by_risk(risk));
            gauge.set(found.map_or(0, |of| of.count));
        }
        self.codes
            .extend(figures.alarms.iter().map(|(code, _)| code.clone()));
        for code in &self.codes {
            let found = figures.alarms.iter().find(|(active, _)| active == code);
            let gauge = self.alarms.get_or_create(&[("code", code.clone())]);
            gauge.set(found.map_or(0, |(_, count)| *count));
        }
        figures.feeds.iter().for_each(|feed| self.set_feed(feed));
        for (stream, lag) in &figures.lag {
            let gauge = self.lag.get_or_create(&[("stream", stream.clone())]);
            // While the bus does not say, the last that it said.
            if let Some(lag) = lag {
                gauge.set(i64::try_from(*lag).unwrap_or(i64::MAX));
            }
        }
    }

    fn set_feed(&self, feed: &FeedFigures) {
        let name = || ("feed", feed.name.clone());
        let pending = self.pending.get_or_create_owned(&[name()]);
        pending.set(feed.pending);
        let oldest = self.oldest_pending.get_or_create_owned(&[name()]);
        oldest.set(feed.oldest_s);
        for (result, tries) in feed.tries {
            let labels = [name(), ("result", result.to_owned())];
            let counter = self.deliveries.get_or_create_owned(&labels);
            counter.inc_by(tries.saturating_sub(counter.get()));
        }
    }

    /// Counts what was stored.
    pub(crate) fn count(&self, stored: Stored) {
        match stored {
            Stored::Request(risk) => {
                self.requests.get_or_create(&by_risk(risk)).inc();
            }
            Stored::Rejected => {
                self.rejected.inc();
            }
            Stored::Receipt(stage) => {
                let labels = [("stage", stage.to_string())];
                self.receipts.get_or_create(&labels).inc();
            }
            Stored::Decision {
                effective,
                origin,
                risk,
                took_ms,
            } => {
                let verdict = Verdict::from_word(&effective).map(Verdict::as_str);
                let origin = origin.as_deref().and_then(Origin::from_word);
                let ended = || State::from_word(&effective).map(State::as_str);
                let labels = [
                    (
                        "verdict",
                        verdict.or_else(ended).unwrap_or("other").to_owned(),
                    ),
                    ("origin", origin.map_or("other", Origin::as_str).to_owned()),
                ];
                self.decisions.get_or_create(&labels).inc();
                if verdict.is_some() && origin == Some(Origin::Operator) {
                    let seconds = took_ms as f64 / 1_000.0;
                    self.durations
                        .get_or_create(&by_risk(risk))
                        .observe(seconds);
                }
            }
        }
    }

    /// As text, in OpenMetrics 1.0 or the form before it.
    pub(crate) fn text(&self, open_metrics: bool) -> Result<String, fmt::Error> {
        let mut page = String::new();
        match open_metrics {
            true => text::encode(&mut page, &self.registry)?,
            false => prometheus_text::encode(&mut page, &self.registry)?,
        }
        Ok(page)
    }
}

fn by_risk(risk: Risk) -> Labels<1> {
    [("risk", risk.to_string())]
}
