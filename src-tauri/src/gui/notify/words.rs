//! The words of a notification, from names of a strict grammar only.

use countersign_core::domain::facts::{Alarm, RequestSummary};
use countersign_core::ops::scrutiny::{Weight, findings_of};
use countersign_redaction::is_secret_value;
use countersign_view::NotifyLevel;
use countersign_wire::{RequestKey, Risk};

/// Characters of a tool's name that a notification shows.
const NAME: usize = 64;

/// One notification.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) summary: String,
    pub(super) body: String,
}

/// How many requests wait and which is the riskiest; none where notifications are off for them.
pub(super) fn waiting(lines: &[RequestSummary], level: NotifyLevel) -> Option<Words> {
    let least = match level {
        NotifyLevel::All => Risk::Safe,
        NotifyLevel::Urgent => Risk::High,
        NotifyLevel::Off => return None,
    };
    let waiting: Vec<(&RequestSummary, Risk)> = lines
        .iter()
        .filter(|line| line.state == "pending")
        .map(|line| (line, Risk::effective(&line.risk)))
        .filter(|(line, risk)| *risk >= least || is_stopped(line))
        .collect();
    // The first of the riskiest: it has waited longest.
    let by_risk = |(line, risk): &&(&RequestSummary, Risk)| (is_stopped(line), *risk);
    let (line, risk) = waiting.iter().rev().max_by_key(by_risk)?;
    let stopped = if is_stopped(line) {
        ", stopped by a finding"
    } else {
        ""
    };
    let what = line.tool.as_deref().map_or("a question", plain);
    Some(match waiting.len() {
        1 => Words {
            summary: format!("Waiting for you: {what}"),
            body: format!(
                "{risk} risk{stopped}, asked by {} in {}",
                line.agent, line.ws
            ),
        },
        count => Words {
            summary: format!("{count} requests wait for you"),
            body: format!(
                "The riskiest: {what}, {risk}{stopped}, asked by {} in {}",
                line.agent, line.ws
            ),
        },
    })
}

/// A finding says that it is nearly always wrong. What it says holds arguments, and is for the window alone.
fn is_stopped(line: &RequestSummary) -> bool {
    let findings = findings_of(line).unwrap_or_default();
    findings.iter().any(|one| one.weight == Weight::Stop)
}

/// That something is wrong, and with which request.
pub(super) fn alarm(alarm: &Alarm) -> Words {
    let subject = match alarm.subject.parse::<RequestKey>() {
        Ok(key) => key.to_string(),
        Err(_) => "Open the window and look at the alarms.".to_owned(),
    };
    Words {
        summary: format!("Alarm: {}", plain(&alarm.code).replace('_', " ")),
        body: subject,
    }
}

/// A name as it is where no server can read markup, a link or another direction into it.
fn plain(name: &str) -> &str {
    let harmless = |c: char| c.is_ascii_alphanumeric() || " _-.".contains(c);
    let shown = !name.is_empty() && name.len() <= NAME && name.chars().all(harmless);
    if shown && !is_secret_value(name) {
        name
    } else {
        "a tool with an unusual name"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn line(tool: &str, risk: &str, state: &str) -> RequestSummary {
        RequestSummary {
            ws: "acme".into(),
            agent: "billing-bot".into(),
            tool: Some(tool.into()),
            risk: risk.into(),
            state: state.into(),
            ..RequestSummary::default()
        }
    }

    #[test]
    fn the_riskiest_of_several_is_named_and_what_is_answered_is_not_counted() {
        let lines = [
            line("list", "low", "pending"),
            line("wipe", "critical", "pending"),
            line("pay", "high", "decided"),
            line("drop", "critical", "pending"),
        ];
        let words = waiting(&lines, NotifyLevel::All).unwrap();
        assert_eq!(words.summary, "3 requests wait for you");
        assert_eq!(
            words.body,
            "The riskiest: wipe, critical, asked by billing-bot in acme"
        );
    }

    #[test]
    fn each_level_tells_of_no_less_and_no_more() {
        let risks = ["safe", "low", "medium", "high", "critical", "made-up"];
        for risk in risks {
            let lines = [line("pay", risk, "pending")];
            let urgent = ["high", "critical", "made-up"].contains(&risk);
            assert!(waiting(&lines, NotifyLevel::All).is_some(), "{risk}");
            assert_eq!(
                waiting(&lines, NotifyLevel::Urgent).is_some(),
                urgent,
                "{risk}"
            );
            assert_eq!(waiting(&lines, NotifyLevel::Off), None, "{risk}");
        }
    }

    #[test]
    fn what_a_finding_stops_is_told_at_every_level_but_off_and_without_its_words() {
        let mut stopped = line("pay", "low", "pending");
        stopped.findings = Some(
            json!([{"code": "near_miss", "weight": "stop", "at": "/to", "message": "evil.example"}])
                .to_string(),
        );
        let lines = [stopped, line("wipe", "high", "pending")];
        for level in [NotifyLevel::All, NotifyLevel::Urgent] {
            assert_eq!(
                waiting(&lines, level).unwrap().body,
                "The riskiest: pay, low, stopped by a finding, asked by billing-bot in acme"
            );
        }
        assert_eq!(waiting(&lines, NotifyLevel::Off), None);
    }

    #[test]
    fn markup_links_and_hidden_characters_never_reach_the_desktop() {
        for name in [
            "<b>pay</b>",
            "pay & go",
            "https://evil.example",
            "pay\u{202e}",
            "p\u{430}y",
            "ghp_0123456789abcdef0123456789abcdef0123",
            "",
            &"x".repeat(65),
        ] {
            let words = waiting(&[line(name, "low", "pending")], NotifyLevel::All).unwrap();
            assert_eq!(
                words.summary,
                "Waiting for you: a tool with an unusual name"
            );
            let subject = Alarm {
                code: name.into(),
                subject: name.into(),
                ..Alarm::default()
            };
            let words = alarm(&subject);
            assert_eq!(words.summary, "Alarm: a tool with an unusual name");
            assert_eq!(words.body, "Open the window and look at the alarms.");
        }
    }
}
