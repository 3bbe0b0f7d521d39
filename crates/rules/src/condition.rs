//! Conditions in CEL: what may be written.
//!
//! Refuses what could run long or mean something else than it looks like: the engine has no limit of its
//! own, so the source is short, comprehensions do not nest, only known functions are called, and a
//! comparison of different types is an error and not "different".

use std::sync::atomic::{AtomicI64, Ordering};

use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};
use cel::{IdedExpr, Program};

/// The longest source, bytes.
pub const SOURCE_MAX: usize = 1_024;
/// Deep enough for the deepest expression that fits into a source; only what is used becomes memory.
pub(super) const STACK: usize = 64 * 1024 * 1024;
/// What a condition can name.
pub const VARIABLES: [&str; 8] = [
    "args", "tool", "agent", "risk", "run", "thread", "setup", "now",
];
/// Functions that a condition can call, beside operators, `has` and the comprehensions.
pub const FUNCTIONS: [&str; 21] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "type",
    "timestamp",
    "duration",
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getHours",
    "getMinutes",
    "getSeconds",
];
const OPERATORS: [&str; 16] = [
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::SUBSTRACT,
    operators::ADD,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::GREATER_EQUALS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::LESS,
    operators::NEGATE,
    operators::INDEX,
    operators::NOT_STRICTLY_FALSE,
];

/// `==`, `!=` and `in` that refuse values of different types; named so that no source can call them. Behind
/// the two sides they are reported which of these the rule itself writes: a null there is meant.
pub(super) const STRICT: [(&str, &str); 3] = [
    (operators::EQUALS, "@same"),
    (operators::NOT_EQUALS, "@differs"),
    (operators::IN, "@among"),
];

/// Why a condition is refused when it is saved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionFault {
    /// Too many bytes.
    #[error("a condition has at most {SOURCE_MAX} bytes")]
    TooLong,
    /// No CEL.
    #[error("the condition does not compile: {0}")]
    Syntax(String),
    /// A name that no condition knows.
    #[error("the condition names {0}; known are {list}", list = VARIABLES.join(", "))]
    UnknownName(String),
    /// A function that no condition may call.
    #[error("the condition calls {0}; known are {list}", list = FUNCTIONS.join(", "))]
    UnknownFunction(String),
    /// A comprehension in another one.
    #[error("a comprehension (all, exists, map, filter) is inside another one")]
    Nested,
    /// `+` in a comprehension.
    #[error("`+` is inside a comprehension, where it could grow without bound")]
    Growing,
}

/// A condition that may run.
#[derive(Debug)]
pub struct Condition {
    pub(super) expression: IdedExpr,
    /// Which of [`VARIABLES`] it names.
    pub(super) names: Vec<&'static str>,
    /// It ran too long: until this moment it is not tried again.
    suspended_until: AtomicI64,
}

impl Condition {
    /// Compiles a condition.
    pub fn compile(source: &str) -> Result<Self, ConditionFault> {
        if source.len() > SOURCE_MAX {
            return Err(ConditionFault::TooLong);
        }
        // The parser recurses: a source may be deeper than the stack of the thread that asks.
        let parsing = std::thread::Builder::new().stack_size(STACK);
        let parse = || parse(source);
        let parsed = std::thread::scope(|scope| {
            let thread = parsing.spawn_scoped(scope, parse).ok()?;
            thread.join().ok()
        });
        let broken = || ConditionFault::Syntax("it could not be read".to_owned());
        let (expression, names) = parsed.ok_or_else(broken)??;
        Ok(Self {
            expression,
            names,
            suspended_until: AtomicI64::new(i64::MIN),
        })
    }

    /// Whether it names one of [`VARIABLES`].
    #[must_use]
    pub fn names(&self, variable: &str) -> bool {
        self.names.contains(&variable)
    }

    /// Whether it ran too long lately; `now_ms` by any clock that does not go back.
    pub(super) fn is_suspended(&self, now_ms: i64) -> bool {
        now_ms < self.suspended_until.load(Ordering::Relaxed)
    }

    pub(super) fn suspend(&self, until_ms: i64) {
        self.suspended_until.store(until_ms, Ordering::Relaxed);
    }
}

fn parse(source: &str) -> Result<(IdedExpr, Vec<&'static str>), ConditionFault> {
    let program = Program::compile(source).map_err(|errors| {
        let first = errors.errors.first();
        let place = |at: (isize, isize)| format!("line {}, column {}", at.0, at.1 + 1);
        let reported = first.map(|error| format!("{} ({})", error.msg, place(error.pos)));
        ConditionFault::Syntax(reported.unwrap_or_default().chars().take(300).collect())
    })?;
    let mut expression = program.expression().clone();
    let mut walk = Walk::default();
    walk.expression(&mut expression)?;
    Ok((expression, walk.names))
}

#[derive(Default)]
struct Walk {
    names: Vec<&'static str>,
    /// The variable of the comprehension around, and its accumulator.
    inside: Option<(String, String)>,
}

impl Walk {
    fn expression(&mut self, of: &mut IdedExpr) -> Result<(), ConditionFault> {
        match &mut of.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.expression(&mut select.operand),
            Expr::List(list) => list
                .elements
                .iter_mut()
                .try_for_each(|item| self.expression(item)),
            Expr::Map(map) => map
                .entries
                .iter_mut()
                .try_for_each(|entry| match &mut entry.expr {
                    EntryExpr::MapEntry(entry) => {
                        self.expression(&mut entry.key)?;
                        self.expression(&mut entry.value)
                    }
                    EntryExpr::StructField(field) => self.expression(&mut field.value),
                }),
            Expr::Struct(of) => Err(ConditionFault::UnknownName(of.type_name.clone())),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(of) => {
                if self.inside.is_some() {
                    return Err(ConditionFault::Nested);
                }
                self.expression(&mut of.iter_range)?;
                self.inside = Some((of.iter_var.clone(), of.accu_var.clone()));
                for part in [
                    &mut of.accu_init,
                    &mut of.loop_cond,
                    &mut of.loop_step,
                    &mut of.result,
                ] {
                    self.expression(part)?;
                }
                self.inside = None;
                Ok(())
            }
        }
    }

    fn name(&mut self, name: &str) -> Result<(), ConditionFault> {
        if self
            .inside
            .as_ref()
            .is_some_and(|(item, sum)| name == item || name == sum)
        {
            return Ok(());
        }
        let Some(known) = VARIABLES.iter().find(|known| **known == name) else {
            // The types that `type(x)` is compared with.
            let types = [
                "int",
                "uint",
                "double",
                "string",
                "bool",
                "list",
                "map",
                "null_type",
            ];
            return match types.contains(&name) {
                true => Ok(()),
                false => Err(ConditionFault::UnknownName(name.to_owned())),
            };
        };
        if !self.names.contains(known) {
            self.names.push(known);
        }
        Ok(())
    }

    fn call(&mut self, call: &mut CallExpr) -> Result<(), ConditionFault> {
        let name = call.func_name.as_str();
        if name == operators::ADD && self.inside.is_some() && !self.collects(call) {
            return Err(ConditionFault::Growing);
        }
        let mut written = Vec::new();
        if let Some((_, strict)) = STRICT.iter().find(|(operator, _)| *operator == name) {
            call.func_name = (*strict).to_owned();
            written.extend(call.args.iter().map(|side| is_written(&side.expr)));
        } else if !FUNCTIONS.contains(&name) && !OPERATORS.contains(&name) {
            return Err(ConditionFault::UnknownFunction(name.to_owned()));
        }
        if let Some(target) = &mut call.target {
            self.expression(target)?;
        }
        call.args
            .iter_mut()
            .try_for_each(|arg| self.expression(arg))?;
        let reported = |written: bool| IdedExpr {
            id: 0,
            expr: Expr::Literal(LiteralValue::Boolean(written.into())),
        };
        call.args.extend(written.into_iter().map(reported));
        Ok(())
    }

    /// Whether it is the step in which a comprehension takes one more item.
    fn collects(&self, call: &CallExpr) -> bool {
        let first = call.args.first().map(|first| &first.expr);
        let sum = self.inside.as_ref().map(|(_, sum)| sum);
        matches!((first, sum), (Some(Expr::Ident(name)), Some(sum)) if name == sum)
    }
}

/// Whether nothing in it comes from the request or the setup.
fn is_written(expression: &Expr) -> bool {
    match expression {
        Expr::Literal(_) => true,
        Expr::List(list) => list.elements.iter().all(|item| is_written(&item.expr)),
        Expr::Map(map) => map.entries.iter().all(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                is_written(&entry.key.expr) && is_written(&entry.value.expr)
            }
            EntryExpr::StructField(field) => is_written(&field.value.expr),
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_a_person_would_write_compiles() {
        for source in [
            "size(args.invoice_id) < 20",
            "args.amount < 100 && args.currency == 'EUR'",
            "args.to.endsWith('@example.com')",
            "has(args.dry_run) && args.dry_run",
            "args.items.all(i, i.price < 10.5)",
            "args.items.filter(i, i.price > 1).size() < 3",
            "args.items.map(i, i.price).exists(p, p > 3)",
            "args.items.exists_one(i, i == 'x')",
            "now.getHours('Europe/Berlin') >= 8",
            "now < timestamp('2027-01-01T00:00:00Z') + duration('1h')",
            "agent in ['a', 'b'] || tool.startsWith('read_')",
            "setup.limit > 3 && run != null && thread != null && risk == 'low'",
            "type(args.x) == int",
            "args['a b'][0] == 1",
            "args.x > 1 ? true : false",
        ] {
            assert!(
                Condition::compile(source).is_ok(),
                "{source}: {:?}",
                Condition::compile(source)
            );
        }
    }

    #[test]
    fn what_could_run_long_or_reach_elsewhere_is_refused_when_it_is_saved() {
        let deep = format!("{}1{} == 1", "(".repeat(300), ")".repeat(300));
        let nots = format!("{}true", "!".repeat(900));
        let minus = format!("0 < {}1", "-".repeat(900));
        let nested_list = format!("size({}{}) == 1", "[".repeat(300), "]".repeat(300));
        let choices = format!("{}true", "true?false:".repeat(80));
        let long = format!("args.a == '{}'", "a".repeat(SOURCE_MAX));
        for source in [
            "args.a.all(x, args.a.all(y, x == y))",
            "args.a.map(x, args.a.filter(y, y == x)).size() == 0",
            "args.a.map(x, x + x).size() > 0",
            "args.a.matches('(a+)+$')",
            "'a'.matches(args.p)",
            "other == 1",
            "env('HOME') == ''",
            "args.a.all(x, y == 1)",
            "Foo{a: 1} == args",
            "dyn(args.a) < 1",
            "'@same'(1, 1)",
            "args.",
            "",
            &deep,
            &nested_list,
            &long,
        ] {
            assert!(Condition::compile(source).is_err(), "{source}");
        }
        // A run of signs may be taken or refused, but it ends.
        for source in [&nots, &minus, &choices] {
            let _ = Condition::compile(source);
        }
    }
}
