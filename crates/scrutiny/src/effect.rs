//! One sentence about what will happen, made of the arguments.

use crate::call::Call;

/// The console's own sentence; none where it cannot be sure.
#[must_use]
pub fn effect(_call: &Call<'_>) -> Option<String> {
    None
}
