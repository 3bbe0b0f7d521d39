//! Values as a person reads them in a sentence.

/// Escaped, at most 80 characters.
pub(crate) fn shown(value: &str) -> String {
    let short: String = value.chars().take(80).collect();
    let cut = short.len() < value.len();
    let plain = countersign_wire::escape(&short).plain();
    if cut { format!("{plain}…") } else { plain }
}
