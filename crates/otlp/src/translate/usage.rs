//! What a span cost.

use countersign_wire::{SpanKind, Usage, json_value};

use super::lookup::Attributes;

/// Tokens and price of one operation.
///
/// Agents and chains repeat the sums of what they called; a trace sums up its tree itself, and would count those
/// twice. Theirs stay among the attributes.
pub(super) fn usage(span: Attributes<'_>, kind: SpanKind) -> Option<Usage> {
    if matches!(kind, SpanKind::Agent | SpanKind::Chain) {
        return None;
    }
    // The AI SDK says it once more of what it called for the embedding.
    if span
        .vercel_operation()
        .is_some_and(|word| word.ends_with(".doEmbed"))
    {
        return None;
    }
    let figure = |attribute, names: &[&str]| {
        let figures = json_value(span.text(attribute)?.as_bytes())?;
        let figure = names.iter().find_map(|name| figures.get(name)?.as_f64())?;
        (figure >= 0.0).then_some(figure)
    };
    let langfuse = |names| figure("langfuse.observation.usage_details", names);
    let usage = Usage {
        tokens_charged: None,
        execution_time_ms: None,
        input_tokens: span
            .first_quantity(&[
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.prompt_tokens",
                "llm.token_count.prompt",
                "ai.usage.inputTokens",
                "ai.usage.promptTokens",
                "ai.usage.tokens",
            ])
            .or_else(|| langfuse(&["input", "input_tokens", "prompt_tokens", "promptTokens"])),
        output_tokens: span
            .first_quantity(&[
                "gen_ai.usage.output_tokens",
                "gen_ai.usage.completion_tokens",
                "llm.token_count.completion",
                "ai.usage.outputTokens",
                "ai.usage.completionTokens",
            ])
            .or_else(|| {
                langfuse(&[
                    "output",
                    "output_tokens",
                    "completion_tokens",
                    "completionTokens",
                ])
            }),
        cost_usd: span
            .first_quantity(&["gen_ai.usage.cost", "operation.cost", "llm.cost.total"])
            .or_else(|| figure("langfuse.observation.cost_details", &["total"])),
    };
    let figures = [usage.input_tokens, usage.output_tokens, usage.cost_usd];
    figures.iter().any(Option::is_some).then_some(usage)
}
