//! What a condition costs at most, before it runs: the same for the same request on every machine.
//!
//! The engine counts nothing itself, and time is the machine's and not the rule's.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, operators};
use serde_json::Value;

use super::Facts;

/// Steps of all conditions of one request together. A step is a part of a condition that is evaluated, or a value or
/// 64 bytes of text that it looks at.
pub const STEPS_MAX: u64 = 1_000_000;
const BYTES: usize = 64;

/// Calls that look at nothing but the outside of their operands.
const SHALLOW: [&str; 9] = [
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::NOT_STRICTLY_FALSE,
    operators::NEGATE,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
];
/// Calls whose answer may be as large as their operands.
const PASSING: [&str; 4] = [
    operators::CONDITIONAL,
    operators::INDEX,
    operators::ADD,
    "string",
];

/// The most steps that a condition takes for these facts.
pub(super) fn steps(of: &IdedExpr, facts: &Facts) -> u64 {
    let part = Count { facts, item: None }.part(&of.expr);
    part.steps.saturating_add(part.shared_steps)
}

/// A part of a condition.
#[derive(Default)]
struct Part<'f> {
    /// Of each evaluation.
    steps: u64,
    /// Of all items of the comprehension around together.
    shared_steps: u64,
    /// The value in the request that it is.
    value: Option<&'f Value>,
    /// How large it is each time, if it is not in the request.
    made: u64,
    /// How large it is for all items together.
    shared: u64,
}

impl Part<'_> {
    fn of_size(made: u64) -> Self {
        Self {
            made,
            ..Self::default()
        }
    }

    fn size(&self) -> u64 {
        self.value.map_or(self.made, size)
    }
}

/// A value with what is in it.
fn size(value: &Value) -> u64 {
    let text = |text: &str| number(text.len() / BYTES);
    let inner = match value {
        Value::String(of) => text(of),
        Value::Array(list) => list.iter().map(size).fold(0, u64::saturating_add),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| size(value).saturating_add(text(name) + 1))
            .fold(0, u64::saturating_add),
        _ => 0,
    };
    inner.saturating_add(1)
}

fn number(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

struct Count<'f, 'c> {
    facts: &'f Facts,
    /// The comprehension around, and how large all of its items are.
    item: Option<(&'c ComprehensionExpr, u64)>,
}

impl<'f, 'c> Count<'f, 'c> {
    fn part(&self, of: &'c Expr) -> Part<'f> {
        let mut part = match of {
            // A condition has at most 1 KiB: what it writes itself is small.
            Expr::Unspecified | Expr::Struct(_) | Expr::Literal(_) => Part::of_size(1),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                let outer = self.part(&select.operand.expr);
                let field = |value: &'f Value| value.get(&select.field).unwrap_or(&Value::Null);
                Part {
                    value: outer.value.map(field),
                    ..outer
                }
            }
            Expr::List(list) => self.copied(list.elements.iter()),
            Expr::Map(map) => self.copied(map.entries.iter().flat_map(|of| match &of.expr {
                EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
                EntryExpr::StructField(field) => vec![&field.value],
            })),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(of) => self.comprehension(of),
        };
        part.steps = part.steps.saturating_add(1);
        part
    }

    fn name(&self, name: &str) -> Part<'f> {
        let value = match (name, self.item) {
            (_, Some((of, shared))) if name == of.iter_var => {
                return Part {
                    shared,
                    ..Part::default()
                };
            }
            ("args", _) => self.facts.args.as_ref().unwrap_or(&Value::Null),
            ("setup", _) => &self.facts.setup,
            _ => return Part::of_size(1),
        };
        Part {
            value: Some(value),
            ..Part::default()
        }
    }

    /// All of these, each looked at whole.
    fn copied(&self, parts: impl Iterator<Item = &'c IdedExpr>) -> Part<'f> {
        let mut whole = self.beside(parts);
        whole.steps = whole.steps.saturating_add(whole.made);
        whole.shared_steps = whole.shared_steps.saturating_add(whole.shared);
        whole
    }

    /// All of these.
    fn beside(&self, parts: impl Iterator<Item = &'c IdedExpr>) -> Part<'f> {
        let parts = parts.map(|of| self.part(&of.expr));
        parts.fold(Part::of_size(1), |all, part| Part {
            steps: all.steps.saturating_add(part.steps),
            shared_steps: all.shared_steps.saturating_add(part.shared_steps),
            value: None,
            made: all.made.saturating_add(part.size()),
            shared: all.shared.saturating_add(part.shared),
        })
    }

    fn call(&self, call: &'c CallExpr) -> Part<'f> {
        let operands = call.target.as_deref().into_iter().chain(&call.args);
        let name = call.func_name.as_str();
        let whole = match SHALLOW.contains(&name) {
            true => self.beside(operands),
            false => self.copied(operands),
        };
        match PASSING.contains(&name) {
            true => whole,
            false => Part {
                made: 1,
                shared: 0,
                ..whole
            },
        }
    }

    fn comprehension(&self, of: &'c ComprehensionExpr) -> Part<'f> {
        let range = self.part(&of.iter_range.expr);
        let items = range.size();
        let count = match range.value {
            Some(Value::Array(list)) => number(list.len()),
            Some(Value::Object(map)) => number(map.len()),
            _ => items,
        };
        let inner = Count {
            facts: self.facts,
            item: Some((of, items)),
        };
        let (goes_on, step) = (
            inner.part(&of.loop_cond.expr),
            inner.part(&of.loop_step.expr),
        );
        let each = goes_on.steps.saturating_add(step.steps);
        let shared = goes_on.shared_steps.saturating_add(step.shared_steps);
        let looped = count.saturating_mul(each).saturating_add(shared);
        Part {
            steps: range.steps.saturating_add(looped).saturating_add(items),
            made: count.saturating_mul(step.made).saturating_add(step.shared),
            ..Part::default()
        }
    }
}
