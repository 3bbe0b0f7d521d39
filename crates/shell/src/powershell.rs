//! The reader of PowerShell texts.

use crate::script::{Out, Reason};

pub(crate) fn read(
    _text: &str,
    _depth: u32,
    _base: Option<usize>,
    _out: &mut Out,
) -> Result<(), Reason> {
    Err(Reason::Syntax)
}
