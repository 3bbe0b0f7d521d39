#![allow(clippy::unwrap_used)]
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::ask::State;
use crate::moment::Moment;

fn ask(seq: u64) -> Ask {
    serde_json::from_value(serde_json::json!({
        "seq": seq, "realm": uuid::Uuid::nil(), "agent": {"workspace": "acme", "agent": "bot"},
        "id": "r1", "key": format!("sha256:{}", "0".repeat(64)), "about": format!("sha256:{}", "0".repeat(64)),
        "kind": "tool_call", "tool": "deploy", "args_digest": null, "reports": true, "callback": null,
        "lifetime": 100.0, "asked": Moment::now(), "request": "{}", "answer": null, "end": null,
        "claim": null, "receipt": null,
    }))
    .unwrap()
}

fn only(journal: &Journal) -> Ask {
    let mut asks = journal.asks().unwrap();
    assert_eq!(asks.len(), 1);
    asks.remove(0)
}

#[test]
fn the_later_of_file_and_note_counts_and_a_spoilt_note_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    journal.keep(&ask(1), Keep::Flushed).unwrap();
    journal.keep(&ask(2), Keep::Written).unwrap();
    assert_eq!(only(&journal).seq, 2);
    let note = folder.path().join("asks/r1.note");
    for spoilt in ["", "{", "{\"seq\": 9}"] {
        fs::write(&note, spoilt).unwrap();
        assert_eq!(only(&journal).seq, 1, "{spoilt}");
    }
    fs::write(&note, serde_json::to_vec(&ask(1)).unwrap()).unwrap();
    journal.keep(&ask(3), Keep::Flushed).unwrap();
    assert!(!note.exists());
    assert_eq!(only(&journal).seq, 3);
    journal.remove(&ask(3).id).unwrap();
    assert!(journal.asks().unwrap().is_empty());
    assert_eq!(ask(3).state(&Moment::now()), State::Waiting);
}

#[test]
fn one_process_has_the_folder_which_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("gateway");
    let journal = Journal::open(&dir).unwrap();
    journal.keep(&ask(1), Keep::Flushed).unwrap();
    assert!(matches!(Journal::open(&dir), Err(StartError::InUse(_))));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&dir), mode(&dir.join("asks"))], [0o700, 0o700]);
    assert_eq!(mode(&dir.join("asks/r1.json")), 0o600);
    drop(journal);
    Journal::open(&dir).unwrap();
}

#[test]
fn a_damaged_ask_ends_the_start_and_half_a_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path()).unwrap();
    fs::write(folder.path().join("asks/.tmpX1"), "{").unwrap();
    assert!(journal.asks().unwrap().is_empty());
    assert!(!folder.path().join("asks/.tmpX1").exists());
    fs::write(folder.path().join("asks/r1.json"), "{\"seq\": 1").unwrap();
    assert!(journal.asks().is_err());
}
