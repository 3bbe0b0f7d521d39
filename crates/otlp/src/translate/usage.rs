//! What a span cost.

use countersign_wire::{SpanKind, Usage};

use super::lookup::Attributes;

/// Tokens and price of one operation.
///
/// Agents and chains repeat the sums of what they called; a trace sums up its tree itself, and would count those
/// twice. Theirs stay among the attributes.
pub(super) fn usage(span: Attributes<'_>, kind: SpanKind) -> Option<Usage> {
    if matches!(kind, SpanKind::Agent | SpanKind::Chain) {
        return None;
    }
    let usage = Usage {
        tokens_charged: None,
        execution_time_ms: None,
        input_tokens: span.first_quantity(&[
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.token_count.prompt",
        ]),
        output_tokens: span.first_quantity(&[
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.completion",
        ]),
        cost_usd: span.first_quantity(&["gen_ai.usage.cost", "operation.cost", "llm.cost.total"]),
    };
    let figures = [usage.input_tokens, usage.output_tokens, usage.cost_usd];
    figures.iter().any(Option::is_some).then_some(usage)
}
