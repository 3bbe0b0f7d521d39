//! Whether a condition is true for every row.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

/// True or false whatever the row; none where it depends.
pub(crate) fn constant(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Nested(inner) => constant(inner),
        Expr::Value(value) => match &value.value {
            Value::Boolean(is) => Some(*is),
            Value::Number(number, _) => Some(number.parse::<f64>().ok()? != 0.0),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => constant(expr).map(|is| !is),
        Expr::IsTrue(inner) => constant(inner),
        Expr::IsNotNull(inner) => is_key(inner).then_some(true),
        Expr::Like {
            negated: false,
            pattern,
            ..
        }
        | Expr::ILike {
            negated: false,
            pattern,
            ..
        } => matches!(text(pattern), Some("%" | "%%")).then_some(true),
        Expr::BinaryOp { left, op, right } => of_two(left, op, right),
        _ => None,
    }
}

fn of_two(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<bool> {
    match op {
        BinaryOperator::And => match (constant(left), constant(right)) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        },
        BinaryOperator::Or if is_null_or_not(left, right) || is_null_or_not(right, left) => {
            Some(true)
        }
        // Every row was made before now.
        BinaryOperator::LtEq | BinaryOperator::Lt if is_made(left) && is_now(right) => Some(true),
        BinaryOperator::GtEq | BinaryOperator::Gt if is_now(left) && is_made(right) => Some(true),
        BinaryOperator::Or => match (constant(left), constant(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        BinaryOperator::Eq | BinaryOperator::GtEq | BinaryOperator::LtEq if left == right => {
            Some(true)
        }
        BinaryOperator::Eq if is_literal(left) && is_literal(right) => Some(left == right),
        BinaryOperator::NotEq if is_literal(left) && is_literal(right) => Some(left != right),
        BinaryOperator::Gt | BinaryOperator::Lt
            if let (Some(one), Some(two)) = (number(left), number(right)) =>
        {
            Some(if *op == BinaryOperator::Gt {
                one > two
            } else {
                one < two
            })
        }
        // Keys begin at 1.
        BinaryOperator::Gt | BinaryOperator::GtEq
            if is_key(left) && matches!(number(right), Some(low) if low <= 0.0) =>
        {
            Some(true)
        }
        BinaryOperator::NotEq
            if is_key(left) && matches!(number(right), Some(low) if low <= 0.0) =>
        {
            Some(true)
        }
        _ => None,
    }
}

fn is_null_or_not(one: &Expr, other: &Expr) -> bool {
    matches!((one, other), (Expr::IsNull(one), Expr::IsNotNull(other)) if one == other)
}

/// A time of creation, by its name.
fn is_made(expr: &Expr) -> bool {
    let name = expr.to_string().to_lowercase();
    let name = name
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .trim_matches(['"', '`']);
    let column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    column
        && [
            "created",
            "inserted",
            "added",
            "registered",
            "updated",
            "modified",
        ]
        .iter()
        .any(|of| name.starts_with(of))
}

fn is_now(expr: &Expr) -> bool {
    let text = expr.to_string().to_lowercase();
    [
        "now()",
        "current_timestamp",
        "current_date",
        "getdate()",
        "sysdate",
        "current_timestamp()",
    ]
    .contains(&text.as_str())
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if !matches!(value.value, Value::Placeholder(_)))
}

fn is_key(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(name) => name.value.eq_ignore_ascii_case("id"),
        Expr::CompoundIdentifier(names) => names
            .last()
            .is_some_and(|name| name.value.eq_ignore_ascii_case("id")),
        _ => false,
    }
}

fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr).map(|number| -number),
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
