#![no_main]

// Not in the library: only this target needs the rules.
#[path = "../src/rules.rs"]
mod rules;

libfuzzer_sys::fuzz_target!(|data: &[u8]| rules::rules(data));
