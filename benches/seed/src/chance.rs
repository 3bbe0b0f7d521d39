//! Chance that is the same for ever: splitmix64, which no update of a crate changes.

const SYLLABLES: [&str; 24] = [
    "ba", "cor", "den", "fi", "gal", "hem", "in", "jo", "kas", "lor", "mi", "nev", "or", "pra",
    "qui", "ros", "sal", "tur", "ul", "ver", "wex", "yon", "zet", "ster",
];
/// Different words of people and agents.
const VOCABULARY: u64 = 20_000;

/// A source of chance.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `end` − 1, all alike.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// 0 to `end` − 1, small numbers far more often: as tools, agents and words are used.
    pub(crate) fn skewed(&mut self, end: u64) -> u64 {
        let first = self.below(end);
        let second = self.below(first + 1);
        self.below(second + 1)
    }

    /// True so many times of a thousand.
    pub(crate) fn of_thousand(&mut self, times: u64) -> bool {
        self.below(1_000) < times
    }

    pub(crate) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.next()));
        }
        text.truncate(digits);
        text
    }

    pub(crate) fn words(&mut self, count: u64) -> String {
        let words: Vec<String> = (0..count).map(|_| word(self.skewed(VOCABULARY))).collect();
        words.join(" ")
    }
}

/// The word of a number.
pub(crate) fn word(number: u64) -> String {
    let mut rest = number;
    let mut word = String::new();
    loop {
        let syllable = usize::try_from(rest % 24).unwrap_or(0);
        word.push_str(SYLLABLES[syllable]);
        rest /= 24;
        if rest == 0 {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_words() {
        assert_eq!(Chance::new(7).words(20), Chance::new(7).words(20));
        assert_ne!(Chance::new(7).words(20), Chance::new(8).words(20));
    }
}
