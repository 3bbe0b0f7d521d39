//! The text that an edit replaces, and the one in its stead.

use crate::call::Call;
use crate::leaf::Leaf;

const OLD: &str = "old_string old_str old_text old before search find original";
const NEW: &str = "new_string new_str new_text new after replace replacement revised";

/// The text that an edit replaces, and the one in its stead.
pub(crate) struct Edit<'c> {
    pub(crate) at: &'c str,
    pub(crate) path: &'c str,
    pub(crate) old: &'c str,
    pub(crate) new: &'c str,
}

impl<'c> Edit<'c> {
    fn only<'t>(these: &'t str, those: &str) -> Vec<&'t str> {
        let others: Vec<&str> = those.lines().map(str::trim).collect();
        let lines = these.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.filter(|line| !others.contains(line)).collect()
    }

    /// Lines that are gone.
    pub(crate) fn removed(&self) -> Vec<&'c str> {
        Self::only(self.old, self.new)
    }

    /// Lines that are new.
    pub(crate) fn added(&self) -> Vec<&'c str> {
        Self::only(self.new, self.old)
    }
}

/// The edits of a call.
pub(crate) fn of<'c>(call: &'c Call<'_>) -> Vec<Edit<'c>> {
    let path = call
        .leaves
        .iter()
        .find(|leaf| leaf.has_word("path file filename document"))
        .and_then(Leaf::text);
    let new = call.leaves.iter().filter(|leaf| leaf.named(NEW));
    let edit = |new: &'c Leaf<'_>| {
        let old = call
            .leaves
            .iter()
            .find(|old| old.named(OLD) && old.object == new.object)?;
        Some(Edit {
            at: &new.at,
            path: path.unwrap_or_default(),
            old: old.text()?,
            new: new.text()?,
        })
    };
    new.filter_map(edit).collect()
}
