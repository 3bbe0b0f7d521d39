//! What is remarkable about a call by itself.

use crate::call::Call;
use crate::finding::{Code, Hazard};
use crate::{
    address, checksum, command, direction, hidden, own, patches, persists, presses, rights, sends,
    sql,
};

/// Hazards of the call alone, that its past may know as usual.
pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = command::hazards(call);
    found.extend(own::hazards(call));
    found.extend(sql::hazards(call));
    found.extend(rights::hazards(call));
    found.extend(persists::hazards(call));
    found.extend(patches::hazards(call));
    found.extend(sends::hazards(call));
    found.extend(checksum::hazards(call));
    found.extend(address::hazards(call));
    found.extend(presses::hazards(call));
    found.extend(hidden::hazards(call));
    if direction::only_shows(call) {
        let kept = |code: Code| {
            matches!(
                code,
                Code::SendsOut | Code::RunsWhatItFetches | Code::HiddenText
            )
        };
        found.retain(|of| kept(of.finding.code) || of.finding.code.is_own());
    }
    found
}
