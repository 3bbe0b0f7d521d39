//! Whether a person had time to read what was decided.

/// Arguments are read at this pace, characters a second.
const PACE: usize = 60;
/// And for as long, ms, however short or long they are.
const READING_MS: (i64, i64) = (1_000, 15_000);

/// How long a card was in front of the person who decided on it in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFront {
    /// In front and armed, ms.
    pub front_ms: i64,
    /// How long it takes to read, ms.
    pub read_ms: i64,
}

impl InFront {
    /// Whether that was less than it takes to read.
    #[must_use]
    pub fn is_hasty(self) -> bool {
        self.front_ms < self.read_ms
    }
}

/// How long it takes to read so many characters of arguments that are not folded as the same, ms.
#[must_use]
pub fn reading_ms(characters: usize) -> i64 {
    let ms = i64::try_from(characters.saturating_mul(1_000) / PACE).unwrap_or(i64::MAX);
    ms.clamp(READING_MS.0, READING_MS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_characters_are_read_in_a_second_and_nothing_in_less_or_in_more_than_fifteen() {
        for (characters, ms) in [
            (0, 1_000),
            (60, 1_000),
            (61, 1_016),
            (119, 1_983),
            (900, 15_000),
            (usize::MAX, 15_000),
        ] {
            assert_eq!(reading_ms(characters), ms, "{characters}");
        }
    }
}
