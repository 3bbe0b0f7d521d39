#![no_main]

use countersign_shell::{COMMANDS_MAX, Shell, read};

// Any text is read within bounds, and every byte of a readable one is accounted for.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for shell in [Shell::Posix, Shell::PowerShell] {
        let script = read(text, shell);
        assert!(script.commands.len() <= COMMANDS_MAX);
        if script.unreadable.is_some() {
            continue;
        }
        let mut read = vec![false; text.len()];
        for place in &script.places {
            read[place.clone()].fill(true);
        }
        let accounted = |(at, byte): (usize, u8)| read[at] || byte.is_ascii_whitespace();
        assert!(text.bytes().enumerate().all(accounted));
    }
});
