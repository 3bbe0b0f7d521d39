//! One request whole.

use crate::{
    AgentWords, Card, DecidePath, EffectiveGroup, HistoryMessage, HoldView, NativeDigest,
    OptionView, OriginView, QuestionView, ReAskView, RevealKind, ToolView,
};
use countersign_domain::facts::decider;
use countersign_domain::{CallWarning, Timestamp};
use countersign_wire::{
    ApprovalRequest, Effective, RequestKind, Risk, Shown, TraceContext, Verdict,
};
use serde_json::{Value, json};

use super::args::{Walked, hidden_for_good, walk, walk_marked};
use super::details::{CardDetails, state_of};
use super::form::form_view;
use super::hidden::{escape, escape_lines, json_shown, read_plain};
use super::looks::looks;
use super::progress::{decision_view, ladder, on_bus_view, rule_ref};
use super::scrutiny::{compared_view, denied_view, finding_view, reader_mark};
use super::votes::votes_view;
use super::warning::card_warnings;
use crate::production::Production;

/// The reveals that a way asks for.
pub fn reveals(
    request: &ApprovalRequest,
    key: &[u8; 32],
    path: DecidePath,
) -> impl Iterator<Item = u32> {
    let found = request
        .args
        .as_ref()
        .map(|args| walk(args, key).found)
        .unwrap_or_default();
    found
        .into_iter()
        .zip(0..)
        .filter_map(move |(found, reveal)| {
            let asked = path == DecidePath::Critical || found.kind == RevealKind::HiddenCharacters;
            asked.then_some(reveal)
        })
}

/// The card of a request. `own_key` is the operator's public key at this console.
pub fn card_view(
    story: &CardDetails,
    key: &[u8; 32],
    own_key: &str,
    production: &Production,
    now: Timestamp,
) -> Card {
    let request = &story.request;
    let tool_name = request.tool.as_ref().map(|tool| tool.name.as_str());
    let scrutiny = &story.scrutiny;
    let denied = scrutiny
        .denied
        .as_ref()
        .map(|denied| denied_view(denied, &story.key));
    let mut warnings = card_warnings(story, now);
    // The card has a line for it.
    warnings.retain(|warning| {
        let reported = denied.as_ref().map(|denied| denied.key.as_str());
        warning.request.is_none() || warning.request.as_deref() != reported
    });
    let walked = request.args.as_ref();
    let walked = walked.map(|args| walk_marked(args, key, &story.findings));
    let risk = Risk::effective(&request.risk);
    Card {
        key: story.key.to_string(),
        workspace: story.line.ws.clone(),
        production: production.marks(&story.line.ws),
        agent: story.line.agent.clone(),
        request_id: story.line.request_id.clone(),
        kind: request.kind,
        tool: tool(request),
        risk,
        unknown_risk: (risk.as_str() != request.risk).then(|| escape(&request.risk)),
        path: story.path(),
        state: state_of(&story.line),
        says: says(request),
        effective: request
            .effective
            .as_ref()
            .map(|e| effective(e, key))
            .unwrap_or_default(),
        warnings,
        reveals: walked.as_ref().map(Walked::reveals).unwrap_or_default(),
        args: walked.map(|walked| walked.entries),
        looks: looks(tool_name.unwrap_or_default(), request.args.as_ref()),
        findings: story.findings.iter().map(finding_view).collect(),
        reader: story.reader.iter().map(reader_mark).collect(),
        effect: scrutiny.effect.as_deref().map(read_plain),
        read_ms: story.read_ms(),
        compared: scrutiny.compared.as_ref().and_then(|compared| {
            let args = request.args.as_ref()?;
            Some(compared_view(compared, &story.key, args, key))
        }),
        denied,
        re_ask: re_ask(story),
        history: history(request),
        question: question(request),
        form: request.response_schema.as_ref().map(form_view),
        target: story.typed_target(request.args.as_ref(), key),
        thread: text(request.thread_id.as_ref()),
        run: text(request.run_id.as_ref()),
        allowed: allowed(story),
        votes: votes_view(story),
        origin: origin(story),
        stored_ms: story.line.stored_at,
        deadline_ms: story.line.deadline_at,
        has_deadline: request.expires_at.is_some(),
        hold: story
            .outgoing
            .as_ref()
            .filter(|out| out.state == "holding")
            .map(|out| HoldView {
                release_ms: out.release_at,
            }),
        decision: story.decision.as_ref().map(|decision| {
            let rule = rule_ref(&story.line, Some(decision), story.rule_name.as_deref());
            decision_view(decision, (&story.line, rule), key, own_key)
        }),
        on_bus: story
            .contradicting
            .as_ref()
            .map(|other| on_bus_view(other, key)),
        ladder: ladder(story),
    }
}

/// The earlier call, unless a warning already shows it.
fn re_ask(story: &CardDetails) -> Option<ReAskView> {
    let reported = |caution: &CallWarning| matches!(caution, CallWarning::ReAsk { .. });
    let earlier = story.repeats.as_ref()?;
    story.cautions.iter().any(reported).then(|| ReAskView {
        key: format!("{}/{}/{}", earlier.ws, earlier.agent, earlier.request_id),
        verdict: escape(earlier.verdict.as_deref().unwrap_or_default()).plain(),
        by: decider(earlier.decided_by.as_deref())
            .and_then(|by| by.name)
            .map(|by| escape(&by)),
        at_ms: earlier.decided_at,
    })
}

fn text(words: Option<&String>) -> Option<Shown> {
    words.map(|words| escape(words))
}

fn tool(request: &ApprovalRequest) -> Option<ToolView> {
    let tool = request.tool.as_ref()?;
    Some(ToolView {
        name: escape(&tool.name),
        description: tool.description.as_deref().map(escape_lines),
        namespace: text(tool.namespace.as_ref()),
        origin: text(tool.origin.as_ref()),
        effects: text(tool.effects.as_ref()),
    })
}

/// Who has voted can only deny any more, and a question is answered, never approved.
fn allowed(story: &CardDetails) -> Vec<Verdict> {
    let voted = story.line.approvals_required > 1 && story.line.voted;
    let asks_for_answer = story.request.kind != RequestKind::ToolCall;
    let runs = |verdict: &Verdict| matches!(verdict, Verdict::Approve | Verdict::Modify);
    story
        .request
        .allowed()
        .iter()
        .filter(|verdict| !((voted || asks_for_answer) && runs(verdict)))
        .collect()
}

fn says(request: &ApprovalRequest) -> Vec<AgentWords> {
    let confirm = request.confirm.as_ref();
    let fields = [
        ("title", request.title.as_ref()),
        ("reason", request.reason.as_ref()),
        (
            "explanation",
            confirm.and_then(|confirm| confirm.explanation.as_ref()),
        ),
        (
            "command",
            confirm.and_then(|confirm| confirm.command.as_ref()),
        ),
        ("preview", request.preview.as_ref()),
        (
            "description",
            request
                .tool
                .as_ref()
                .and_then(|tool| tool.description.as_ref()),
        ),
    ];
    let said = fields
        .into_iter()
        .filter_map(|(field, words)| words.map(|words| (field, words)));
    said.filter(|(_, words)| !words.is_empty())
        .map(|(field, words)| AgentWords {
            field: field.to_owned(),
            text: escape_lines(words),
        })
        .collect()
}

fn effective(effective: &Effective, key: &[u8; 32]) -> Vec<EffectiveGroup> {
    let names = |names: &Option<Vec<String>>| names.as_ref().map(|names| json!(names));
    let groups: [(&str, Option<Value>); 5] = [
        ("fixed", effective.fixed.clone()),
        ("defaults", effective.defaults.clone()),
        ("injected_names", names(&effective.injected_names)),
        ("dropped_names", names(&effective.dropped_names)),
        ("coerced", effective.coerced.clone()),
    ];
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let known = groups
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name, value)));
    known
        .filter(|(_, value)| !empty(value))
        .map(|(name, value)| EffectiveGroup {
            name: escape(name),
            entries: hidden_for_good(walk(&value, key)),
        })
        .collect()
}

fn history(request: &ApprovalRequest) -> Vec<HistoryMessage> {
    let items = request.history.as_deref().unwrap_or_default();
    let content = |value: &Value| match value {
        Value::String(words) => escape_lines(words),
        other => json_shown(other),
    };
    items
        .iter()
        .map(|item| HistoryMessage {
            role: escape(item.role.as_deref().unwrap_or("unknown")),
            content: item.content.as_ref().map(content).unwrap_or_default(),
        })
        .collect()
}

fn question(request: &ApprovalRequest) -> Option<QuestionView> {
    let question = request.question.as_ref()?;
    let options = question.options.as_deref().unwrap_or_default();
    Some(QuestionView {
        text: escape_lines(&question.text),
        context: question.context.as_deref().map(escape_lines),
        options: options
            .iter()
            .map(|option| OptionView {
                label: escape(
                    option
                        .label
                        .as_ref()
                        .or(option.key.as_ref())
                        .map_or("", |l| l),
                ),
                description: text(option.description.as_ref()),
            })
            .collect(),
        // Without options there is nothing but own words.
        allow_freeform: question.allow_freeform.unwrap_or(options.is_empty()),
    })
}

fn origin(story: &CardDetails) -> OriginView {
    let request = &story.request;
    let agent = &request.agent;
    let source = match (&agent.framework, &agent.framework_version) {
        (Some(name), Some(version)) => Some(escape(&format!("{name} {version}"))),
        (name, _) => text(name.as_ref()),
    };
    let trace = request.traceparent.as_deref().and_then(TraceContext::parse);
    OriginView {
        requested_ms: story.line.requested_at,
        source,
        call: text(request.call_id.as_ref()),
        trace: trace.map(|trace| escape(&trace.trace_id)),
        args_digest: story.line.args_digest.clone(),
        request_digest: story.request_digest.clone(),
        native_digest: request.native_digest.as_ref().map(|digest| NativeDigest {
            alg: text(digest.alg.as_ref()).unwrap_or_default(),
            value: text(digest.value.as_ref()).unwrap_or_default(),
        }),
        stream_seq: story.line.request_seq,
    }
}
