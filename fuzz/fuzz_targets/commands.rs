#![no_main]

use std::sync::LazyLock;

// Not in the library: only this target needs the rules.
#[path = "../src/commands.rs"]
mod commands;

static DENIES: LazyLock<commands::Denies> = LazyLock::new(commands::Denies::default);

libfuzzer_sys::fuzz_target!(|data: &[u8]| DENIES.hold(data));
