//! The fuzz target of rules on the kept corpus, cut short and with a byte changed. `make fuzz` looks for more.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/rules.rs"]
#[expect(unreachable_pub, reason = "the fuzz program calls it too")]
mod target;

#[test]
fn rules_hold_for_the_corpus_cut_short_and_with_any_byte_changed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rules");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        target::rules(&text);
        for at in 0..text.len() {
            target::rules(&text[..at]);
            for byte in [b'"', b'0', b'[', b'\n'] {
                let mut changed = text.clone();
                changed[at] = byte;
                target::rules(&changed);
            }
        }
        seen += 1;
    }
    assert!(seen >= 3);
}
