//! How amounts are written.

/// 12,490.00 for money and fractions, 1,200 for other whole numbers.
pub(crate) fn written(amount: f64, money: bool) -> String {
    let text = if money || amount.fract() != 0.0 {
        format!("{amount:.2}")
    } else {
        format!("{amount:.0}")
    };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// A number as a person writes it, with its unit.
pub(crate) fn plain(number: f64, unit: &str) -> String {
    let money = unit.len() == 3 && unit.chars().all(|at| at.is_ascii_uppercase());
    let mut text = written(number, money);
    if !money && text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    match unit {
        "" => text,
        "entries" => text,
        unit if money => format!("{text} {unit}"),
        unit => format!("{text} {}", unit.to_lowercase()),
    }
}

/// The amount with its unit.
pub(crate) fn with_unit(amount: f64, unit: &str) -> String {
    let money = unit.len() == 3 && unit.chars().all(|at| at.is_ascii_uppercase());
    let number = written(amount, money);
    if unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}
