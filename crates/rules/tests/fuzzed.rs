//! The fuzz targets of rules and of commands, on kept inputs, changed ones and seeds. `make fuzz` looks for more.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/commands.rs"]
#[expect(unreachable_pub, reason = "the fuzz program calls it too")]
mod commands;
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

/// Commands that are made here; `make fuzz` makes a million.
const COMMANDS: u64 = 10_000;

#[test]
fn no_denied_command_runs_behind_a_program_that_nobody_knows() {
    let denies = commands::Denies::default();
    for seed in 0..COMMANDS {
        // SplitMix64.
        let byte = |at: u64| {
            let mut z = (seed * 64 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z >> 56) as u8
        };
        let data: Vec<u8> = (0..32).map(byte).collect();
        denies.hold(&data);
    }
}
