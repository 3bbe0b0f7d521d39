//! What a span is about: the GenAI conventions, and the words that came before them.

use countersign_wire::SpanKind;

use super::indexed::is_of_message;
use super::lookup::Attributes;

/// The kind; a span that says nothing of GenAI is a step of a chain, so that what lies below it keeps its place.
///
/// Never `approval`: that word belongs to this protocol's own agents.
pub(super) fn kind(span: Attributes<'_>) -> SpanKind {
    span.text("gen_ai.operation.name")
        .and_then(operation)
        .or_else(|| span.vercel_operation().and_then(vercel))
        .or_else(|| span.text("openinference.span.kind").and_then(openinference))
        .or_else(|| span.text("langfuse.observation.type").and_then(langfuse))
        .or_else(|| span.text("traceloop.span.kind").and_then(traceloop))
        .or_else(|| span.text("llm.request.type").and_then(request_type))
        .or_else(|| span.is_logfire_function().then_some(SpanKind::Tool))
        .unwrap_or_else(|| by_presence(span))
}

/// `gen_ai.operation.name` of the semantic conventions.
fn operation(word: &str) -> Option<SpanKind> {
    Some(match word {
        "chat" | "text_completion" | "generate_content" | "completion" => SpanKind::Llm,
        "execute_tool" => SpanKind::Tool,
        "invoke_agent" | "create_agent" => SpanKind::Agent,
        "invoke_workflow" => SpanKind::Chain,
        "embeddings" => SpanKind::Embedding,
        "retrieval" => SpanKind::Retriever,
        _ => return None,
    })
}

/// `ai.operationId` of the AI SDK of Vercel. What is not named `do…` calls those, and sums up what they used.
fn vercel(word: &str) -> Option<SpanKind> {
    Some(match word {
        "ai.toolCall" => SpanKind::Tool,
        "ai.embed" | "ai.embed.doEmbed" | "ai.embedMany" | "ai.embedMany.doEmbed" => {
            SpanKind::Embedding
        }
        "ai.rerank" | "ai.rerank.doRerank" => SpanKind::Retriever,
        word if word.ends_with(".doGenerate") || word.ends_with(".doStream") => SpanKind::Llm,
        "ai.generateText" | "ai.streamText" | "ai.generateObject" | "ai.streamObject" => {
            SpanKind::Chain
        }
        _ => return None,
    })
}

/// `langfuse.observation.type`; `span` is what it says of everything else.
fn langfuse(word: &str) -> Option<SpanKind> {
    Some(match word {
        "generation" => SpanKind::Llm,
        "tool" => SpanKind::Tool,
        "agent" => SpanKind::Agent,
        "retriever" => SpanKind::Retriever,
        "embedding" => SpanKind::Embedding,
        "chain" | "event" | "evaluator" | "guardrail" => SpanKind::Chain,
        _ => return None,
    })
}

/// `openinference.span.kind`.
fn openinference(word: &str) -> Option<SpanKind> {
    Some(match word {
        "LLM" => SpanKind::Llm,
        "TOOL" => SpanKind::Tool,
        "AGENT" => SpanKind::Agent,
        "RETRIEVER" | "RERANKER" => SpanKind::Retriever,
        "EMBEDDING" => SpanKind::Embedding,
        "CHAIN" | "GUARDRAIL" | "EVALUATOR" | "PROMPT" => SpanKind::Chain,
        _ => return None,
    })
}

/// `traceloop.span.kind` of OpenLLMetry.
fn traceloop(word: &str) -> Option<SpanKind> {
    Some(match word {
        "tool" => SpanKind::Tool,
        "agent" => SpanKind::Agent,
        "workflow" | "task" => SpanKind::Chain,
        _ => return None,
    })
}

/// `llm.request.type` of OpenLLMetry.
fn request_type(word: &str) -> Option<SpanKind> {
    Some(match word {
        "chat" | "completion" => SpanKind::Llm,
        "rerank" => SpanKind::Retriever,
        "embedding" => SpanKind::Embedding,
        _ => return None,
    })
}

fn by_presence(span: Attributes<'_>) -> SpanKind {
    let has = |names: &[&str]| names.iter().any(|name| span.has(name));
    if has(&["gen_ai.tool.name", "gen_ai.tool.call.id"])
        || span.text("mcp.method.name") == Some("tools/call")
    {
        SpanKind::Tool
    } else if has(&[
        "gen_ai.request.model",
        "gen_ai.response.model",
        "llm.model_name",
    ]) || span.all().any(|(name, _)| is_of_message(name))
    {
        SpanKind::Llm
    } else if has(&["gen_ai.agent.name", "gen_ai.agent.id"]) {
        SpanKind::Agent
    } else {
        SpanKind::Chain
    }
}
