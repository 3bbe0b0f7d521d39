//! A hazard that people approved again and again is not news.

use crate::facts::Kind;
use crate::finding::{Code, Finding, Hazard, Weight};
use crate::past::Past;

/// Approved calls with the same hazard, and none denied, after which it is usual.
const USUAL: u32 = 3;

/// The finding of a hazard: a usual stop is a look, a usual look is none.
pub(crate) fn weigh(hazard: Hazard, past: &Past) -> Option<Finding> {
    let mut finding = hazard.finding;
    if finding.code.is_own() || finding.code == Code::HiddenText {
        return Some(finding);
    }
    let known = past.get(Kind::Hazard, finding.code.as_str(), &hazard.same);
    if known.is_some_and(|habit| habit.approved >= USUAL && habit.denied == 0) {
        if finding.weight == Weight::Look {
            return None;
        }
        finding.weight = Weight::Look;
    }
    Some(finding)
}
