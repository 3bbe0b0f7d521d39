//! Rules: the list, the editor, what is saved.
//!
//! A rule may approve only after a simulation, or after the operator was asked twice; what people denied, only
//! after the operator was shown these calls; and critical or irreversible calls, only after the steps of one of them.

use countersign_view::WindowFault;
use countersign_wire::ErrorCode;
use std::collections::BTreeSet;
use std::time::Duration;

use countersign_core::domain::Timestamp;
use countersign_core::ops::regrets::{Denied, Regretting, Suspended};
use countersign_core::ops::rules::{Accepted, RuleSet, RulesChange, RulesFault};
use countersign_core::ops::waiting_calls::AcceptWaiting;
use countersign_core::policy::body::{read_rule, write_rule};
use countersign_core::policy::condition::{FUNCTIONS, VARIABLES};
use countersign_core::policy::draft::{ALWAYS_DAYS, Grant};
use countersign_core::policy::read::FIELDS;
use countersign_core::policy::{Effect, Enabled, FileProblem, Rule};
use countersign_view::{
    CheckRuleArgs, DeniedCalls, DraftRuleArgs, GrantReach, IpcError, Nothing, RegretArgs,
    RegretOutcome, RemoveRuleArgs, RemovedRule, RuleArgs, RuleCheck, RuleProblem, RuleText,
    RuleWords, RulesArgs, RulesView, SaveRuleArgs, SavedRule, SuspendedView,
};
use countersign_wire::WorkspaceName;

use super::previews::{denied_calls, waiting_calls};
use super::steps;
use crate::gui::desk::Desk;
use crate::gui::view::rule_row;
use countersign_view::secrets::hiding;
use countersign_view::window::{fault, refuse};

/// Fields that the console counts itself.
const COUNTED: [&str; 2] = ["version", "since"];
/// So long what people denied is looked for while the operator waits.
pub(super) const DENIED_LIMIT: Duration = Duration::from_secs(30);
const TESTS: [&str; 7] = ["eq", "in", "glob", "lt", "gt", "min_len", "max_len"];

/// The workspace that the page names.
pub(super) fn workspace(name: &str) -> Result<WorkspaceName, IpcError> {
    name.parse().map_err(|_| {
        refuse(
            ErrorCode::NotFound,
            "this names no workspace; choose one of the list",
        )
    })
}

/// Every workspace that has rules or agents, the one that is meant first.
pub(super) async fn workspaces(
    desk: &Desk,
    wanted: Option<String>,
) -> Result<(WorkspaceName, BTreeSet<String>), IpcError> {
    let mut known = desk.app.rule_workspaces().await.map_err(fault)?;
    let ruled = known.iter().next().cloned();
    let agents = desk.app.agents().await.map_err(fault)?;
    known.extend(agents.into_iter().map(|agent| agent.workspace));
    let first = wanted.or(ruled).or_else(|| known.iter().next().cloned());
    let name = workspace(first.as_deref().unwrap_or("default"))?;
    known.insert(name.to_string());
    Ok((name, known))
}

/// The rules of a workspace, the strongest first.
pub(crate) async fn rules_list(desk: &Desk, args: RulesArgs) -> Result<RulesView, IpcError> {
    let (workspace, known) = workspaces(desk, args.workspace).await?;
    let set = desk.app.rules(&workspace).await.map_err(fault)?;
    let now = desk.app.now();
    let yesterday = now.plus_ms(-Timestamp::DAY_MS);
    let records = desk.app.rule_records(&workspace, yesterday).await;
    let mut records = records.map_err(fault)?;
    let row = |rule: &Rule| {
        let (record, today) = records.remove(&rule.id).unwrap_or_default();
        rule_row(rule, &record, today, set.regrets.get(&rule.id))
    };
    let mut strongest_first: Vec<&Rule> = set.rules.iter().collect();
    strongest_first.sort_by_key(|rule| std::cmp::Reverse(rule.effect));
    let rows = strongest_first.into_iter().map(row).collect();
    Ok(RulesView {
        workspace: workspace.to_string(),
        workspaces: known.into_iter().collect(),
        revision: set.revision,
        rules: rows,
        server_ms: now.0,
    })
}

/// A rule as the editor shows it.
pub(super) fn text_of(rule: &Rule, version: u64) -> Result<RuleText, IpcError> {
    let text =
        write_rule(rule).map_err(|error| refuse(ErrorCode::NotApprovable, &error.to_string()))?;
    Ok(RuleText {
        id: rule.id.clone(),
        version,
        text,
    })
}

async fn set_of(desk: &Desk, name: &str) -> Result<(WorkspaceName, RuleSet), IpcError> {
    let workspace = workspace(name)?;
    let set = desk.app.rules(&workspace).await.map_err(fault)?;
    Ok((workspace, set))
}

/// One rule as the editor shows it.
pub(crate) async fn rule_text(desk: &Desk, args: RuleArgs) -> Result<RuleText, IpcError> {
    let (_, set) = set_of(desk, &args.workspace).await?;
    match set.rules.iter().find(|rule| rule.id == args.id) {
        Some(rule) => text_of(rule, rule.version),
        None => Err(refuse(
            ErrorCode::NotFound,
            "this rule is gone: somebody removed it",
        )),
    }
}

/// The words that a rule may be made of, for the editor.
pub(crate) async fn rule_words(_: &Desk, _: Nothing) -> Result<RuleWords, IpcError> {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
    let mut fields: Vec<String> = words(&FIELDS);
    fields.retain(|field| !COUNTED.contains(&field.as_str()));
    Ok(RuleWords {
        fields,
        tests: words(&TESTS),
        variables: words(&VARIABLES),
        functions: words(&FUNCTIONS),
    })
}

/// Reads on a thread of its own: a condition is compiled, which takes its time.
pub(super) async fn read(text: String) -> Result<Result<Rule, Vec<FileProblem>>, IpcError> {
    tokio::task::spawn_blocking(move || read_rule(&text))
        .await
        .map_err(|error| refuse(ErrorCode::Failed, &error.to_string()))
}

/// A rule without a problem.
pub(super) async fn good(text: String) -> Result<Rule, IpcError> {
    read(text).await?.map_err(|problems| {
        let reported: Vec<String> = problems.iter().map(ToString::to_string).collect();
        refuse(ErrorCode::InvalidArgs, &reported.join("; "))
    })
}

/// Reads the text of the editor, and says what is wrong with it.
pub(crate) async fn check_rule(_: &Desk, args: CheckRuleArgs) -> Result<RuleCheck, IpcError> {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(match read(args.text).await? {
        Ok(rule) => RuleCheck {
            problems: Vec::new(),
            effect: Some(rule.effect),
            state: Some(rule.enabled),
        },
        Err(problems) => RuleCheck {
            problems: problems
                .iter()
                .map(|problem| RuleProblem {
                    line: number(problem.line),
                    column: number(problem.column),
                    place: hiding().escape(&problem.place),
                    message: hiding().escape(&problem.message),
                })
                .collect(),
            effect: None,
            state: None,
        },
    })
}

/// Puts a rule in the place of the version that was seen.
pub(crate) async fn save_rule(desk: &Desk, args: SaveRuleArgs) -> Result<SavedRule, IpcError> {
    let mut rule = good(args.text).await?;
    if let Some(state) = args.state {
        rule.enabled = state;
    }
    let (workspace, before) = set_of(desk, &args.workspace).await?;
    if let Some(current) = not_seen(&before, &rule.id, args.seen_version)? {
        return Ok(current);
    }
    let known = before.rules.iter().find(|other| other.id == rule.id);
    let begins = rule.effect == Effect::Approve
        && rule.enabled == Enabled::On
        && known.is_none_or(|other| !other.says_the_same(&rule));
    let evidence = desk.previews.evidence(&workspace, &rule);
    if begins && !args.sure && evidence.as_ref().is_none_or(|found| found.denied > 0) {
        return Err(refuse(
            WindowFault::NotArmed,
            "no complete simulation shows that this rule approves nothing that people denied; look at one, then enable it again",
        ));
    }
    let id = rule.id.clone();
    let not_saved = SavedRule {
        id: id.clone(),
        ..SavedRule::default()
    };
    if begins {
        let strict = steps::of_rule(desk, &workspace, (&rule, evidence), args.steps.as_ref());
        if let Some(steps) = strict.await? {
            return Ok(SavedRule {
                steps: Some(steps),
                ..not_saved
            });
        }
    }
    steps::of_waiting(desk, &args.accept_waiting, args.steps.as_ref()).await?;
    let ends = known.is_some_and(|of| {
        of.effect != Effect::Approve && of.enabled == Enabled::On && !of.says_the_same(&rule)
    });
    let change = RulesChange::Put {
        rule: Box::new(rule),
        seen: args.seen_version,
    };
    // What the simulation of this rule has shown is not asked about again.
    let shown = args.accept_denied || (begins && args.sure && !ends);
    if let Some(denied) = denied(desk, &workspace, &change, shown).await? {
        return Ok(SavedRule {
            denied: Some(denied),
            ..not_saved
        });
    }
    let accepted = accepted(args.accept_limits, args.accept_waiting);
    let done = desk
        .app
        .change_rules_accepting(&workspace, &change, accepted)
        .await;
    match done {
        // By what was written: what is read here may still be the rules before it.
        Ok(done) => Ok(SavedRule {
            version: done
                .rules
                .iter()
                .find(|rule| rule.id == id)
                .map(|rule| rule.version),
            ..not_saved
        }),
        Err(RulesFault::DecidesWaiting(calls)) => Ok(SavedRule {
            waiting: Some(waiting_calls(desk, &calls).await?),
            ..not_saved
        }),
        // Somebody else was first between the look and the change.
        Err(error) => match desk.app.rules(&workspace).await {
            Ok(after) => match not_seen(&after, &id, args.seen_version)? {
                Some(current) => Ok(current),
                None => Err(fault(error)),
            },
            Err(_) => Err(fault(error)),
        },
    }
}

/// The version in force instead of the one that the operator saw.
fn not_seen(set: &RuleSet, id: &str, seen: Option<u64>) -> Result<Option<SavedRule>, IpcError> {
    let current = set.rules.iter().find(|rule| rule.id == id);
    if current.map(|rule| rule.version) == seen {
        return Ok(None);
    }
    let conflict = current
        .map(|rule| text_of(rule, rule.version))
        .transpose()?;
    Ok(Some(SavedRule {
        id: id.to_owned(),
        gone: conflict.is_none(),
        conflict,
        ..SavedRule::default()
    }))
}

/// What the operator is to be asked about before this change is made; nothing once it was shown.
async fn denied(
    desk: &Desk,
    workspace: &WorkspaceName,
    change: &RulesChange,
    shown: bool,
) -> Result<Option<DeniedCalls>, IpcError> {
    if shown {
        return Ok(None);
    }
    let found = desk.app.denied_flips(workspace, change, DENIED_LIMIT).await;
    let found = found.map_err(fault)?;
    if found.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    denied_calls(desk, found.as_deref()).await.map(Some)
}

fn accepted(limits: bool, waiting: Vec<String>) -> Accepted {
    Accepted {
        limits,
        waiting: AcceptWaiting::These(waiting),
        ..Accepted::default()
    }
}

/// Takes a rule out.
pub(crate) async fn remove_rule(
    desk: &Desk,
    args: RemoveRuleArgs,
) -> Result<RemovedRule, IpcError> {
    let workspace = workspace(&args.workspace)?;
    let change = RulesChange::Remove(args.id);
    let denied = denied(desk, &workspace, &change, args.accept_denied).await?;
    if denied.is_some() {
        return Ok(RemovedRule {
            denied,
            waiting: None,
        });
    }
    steps::of_waiting(desk, &args.accept_waiting, None).await?;
    let accepted = accepted(args.accept_limits, args.accept_waiting);
    let done = desk
        .app
        .change_rules_accepting(&workspace, &change, accepted)
        .await;
    let waiting = match done {
        Ok(_) => None,
        Err(RulesFault::DecidesWaiting(calls)) => Some(waiting_calls(desk, &calls).await?),
        Err(error) => return Err(fault(error)),
    };
    Ok(RemovedRule {
        denied: None,
        waiting,
    })
}

/// A rule for what this request asks, for a person to read first.
pub(crate) async fn draft_rule(desk: &Desk, args: DraftRuleArgs) -> Result<RuleText, IpcError> {
    // Of a practice card that for its call: no rule may approve what was changed.
    let key = desk.practice.named(&args.key).request();
    let line = desk.app.find(&key).await.map_err(fault)?;
    let days = args.days.unwrap_or(ALWAYS_DAYS);
    if !(1..=366).contains(&days) {
        return Err(refuse(ErrorCode::Usage, "a grant lasts 1 to 366 days"));
    }
    let now = desk.app.now();
    let until = Timestamp(now.plus_ms(i64::from(days) * Timestamp::DAY_MS).0 / 1_000 * 1_000);
    let grant = match args.reach {
        GrantReach::Thread => Grant::Thread,
        GrantReach::Always => Grant::Until(until),
    };
    let mut rule = desk.app.draft_rule(&line, grant).await.map_err(fault)?;
    if steps::takes_all(&line) {
        rule.enabled = Enabled::Shadow;
    }
    text_of(&rule, 0)
}

/// Switches off what decided wrongly, and keeps why.
pub(crate) async fn regret(desk: &Desk, args: RegretArgs) -> Result<RegretOutcome, IpcError> {
    let line = desk.app.find(&args.key).await.map_err(fault)?;
    let denied = match args.accept_denied {
        true => Denied::Accept,
        false => Denied::Refuse(DENIED_LIMIT),
    };
    let done = desk.app.regret(&line, args.reason, denied).await;
    let done = match done.map_err(fault)? {
        Regretting::Done(done) => done,
        Regretting::Denied(flips) => {
            return Ok(RegretOutcome {
                suspended: None,
                denied: Some(denied_calls(desk, flips.as_deref()).await?),
            });
        }
    };
    let what = match done.suspended {
        Suspended::Rule => "rule",
        Suspended::SetupKey => "setup_key",
        Suspended::Bypass => "bypass",
    };
    Ok(RegretOutcome {
        suspended: Some(SuspendedView {
            what: what.to_owned(),
            id: hiding().escape(&done.id),
        }),
        denied: None,
    })
}
