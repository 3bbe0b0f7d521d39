//! What ran without a person while automatic approvals were off.

use countersign_wire::{Origin, RequestKey, decision_subject, parse_decision};
use time::{Duration, OffsetDateTime};

use super::Check;
use super::stream::Judged;
use crate::facts::{Braking, Facts, Stored};

/// A console that has heard nothing of the shared policy for 3 s approves nothing automatically; until then it may not
/// have heard of a panic, pause or stop. A second more for its estimate of the server's clock.
pub(super) const UNHEARD: Duration = Duration::seconds(4);
/// What a console sent before it heard may lie in a stalled wire, in a paused server's queue, or with a
/// device that is down, each for 12 s at most, and is then sent again with growing pauses.
pub(super) const ON_ITS_WAY: Duration = Duration::seconds(30);
/// A console learns when a panic, pause or stop ends by the server's stamp; its own estimate of that clock may differ.
pub(super) const ESTIMATE: Duration = Duration::SECOND;

/// From when to when a panic, pause or stop was on, by the server's stamps.
struct Window<'a> {
    braking: &'a Braking,
    from: OffsetDateTime,
    until: Option<OffsetDateTime>,
}

impl Window<'_> {
    /// Whether `at` lies inside, without `after` its begin and `before` its end.
    fn holds(&self, at: OffsetDateTime, after: Duration, before: Duration) -> bool {
        at >= self.from + after && self.until.is_none_or(|until| at < until - before)
    }
}

/// Nothing is approved automatically at a moment at which panic is on or the agent is paused or stopped, and what it
/// approved before is not stored later on.
pub(crate) fn approves_nothing_while_off<'a>(
    facts: &Facts,
    judged: impl Fn(&str) -> Option<&'a Judged>,
) -> Check {
    let mut check = Check::new("nothing was approved automatically under panic, a pause or a stop");
    let windows = windows(&facts.streams.brakings);
    for (name, stored) in &facts.streams.decisions {
        if !judged(name).is_some_and(Judged::lets_run) {
            continue;
        }
        let Some((agent, made_at)) = by_itself(name, stored) else {
            continue;
        };
        let under = windows.iter().find(|window| {
            let counts = window.braking.agent.as_ref().is_none_or(|of| *of == agent);
            counts
                && (window.holds(made_at, UNHEARD, ESTIMATE)
                    || window.holds(stored.stamp, ON_ITS_WAY, Duration::ZERO))
        });
        check.look(under.is_none(), || {
            let from = under.map(|window| window.from);
            let of = under.and_then(|window| window.braking.agent.clone());
            let what = of.map_or_else(
                || "panic".to_owned(),
                |agent| format!("pause or stop of {agent}"),
            );
            format!(
                "{name}: approved at {made_at}, stored at {}, under the {what} of {from:?}",
                stored.stamp
            )
        });
    }
    check
}

/// Whose call was decided without a person, and when; none where somebody did.
fn by_itself(name: &str, stored: &Stored) -> Option<(String, OffsetDateTime)> {
    let key: RequestKey = name.parse().ok()?;
    let decision = parse_decision(&decision_subject(&key), &stored.payload).ok()?;
    let by_itself = matches!(decision.origin, Origin::Rule | Origin::SetupKey);
    by_itself.then(|| (key.agent_key().to_string(), decision.decided_at.get()))
}

/// Every window of every panic, pause or stop. What was on before the first change that the bucket remembers is not known.
fn windows(brakings: &[Braking]) -> Vec<Window<'_>> {
    let mut windows: Vec<Window<'_>> = Vec::new();
    for braking in brakings {
        let open = windows
            .iter_mut()
            .find(|window| window.braking.agent == braking.agent && window.until.is_none());
        match (open, braking.on) {
            (None, true) => windows.push(Window {
                braking,
                from: braking.at,
                until: None,
            }),
            (Some(open), false) => open.until = Some(braking.at),
            // Set again, or ended again: nothing changes.
            (Some(_), true) | (None, false) => {}
        }
    }
    windows
}
