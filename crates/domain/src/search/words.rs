//! The words of a text, folded so that equal words have equal letters however they are written.
//!
//! What is indexed and what is looked for pass through here, so both are folded alike. Scripts that put no blank
//! between words are cut into overlapping pairs of characters: any part of a sentence is then a phrase of pairs.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// A new number makes a console read every request again, in the background.
pub const VERSION: i64 = 1;

/// The words of a text, one blank between them. A word ends at every sign and where the script changes; what was
/// written as one (`send_mail`, `acme.example`) is found as a phrase.
#[must_use]
pub fn plain_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut word = String::new();
    for character in text.chars() {
        if is_invisible(character) {
            continue;
        }
        if character.is_ascii_alphanumeric() {
            word.push(character.to_ascii_lowercase());
        } else if character.is_alphanumeric() || is_combining_mark(character) {
            // A few letters come apart into a blank and an accent (U+037A).
            decompose_compatible(character, |part| {
                if !part.is_whitespace() {
                    fold(part, &mut word);
                }
            });
        } else {
            push(&mut words, &word);
            word.clear();
        }
    }
    push(&mut words, &word);
    words
}

/// As [`plain_words`], for what is looked for; and whether the last word is a beginning only.
pub(super) fn wanted_words(text: &str) -> (String, bool) {
    let mut words = plain_words(text);
    let mut pieces = words.rsplit(' ');
    let (last, before) = (pieces.next().unwrap_or_default(), pieces.next());
    if !is_unspaced_word(last) {
        return (words, false);
    }
    // The last character closes its run, but a run in a text may go on. A character alone begins a pair there.
    let closes = before.is_some_and(|pair| is_unspaced_word(pair) && pair.chars().count() == 2);
    if closes {
        words.truncate(words.len() - last.len() - 1);
    }
    (words, !closes)
}

/// Whether this is a word of [`plain_words`] in a script without blanks.
#[must_use]
pub fn is_unspaced_word(word: &str) -> bool {
    word.starts_with(is_unspaced)
}

/// Lower case, with `ß` as `ss` and a final sigma as any other, and without accents.
fn fold(part: char, word: &mut String) {
    if !is_accent(part) {
        let upper = part.to_lowercase().flat_map(char::to_uppercase);
        word.extend(
            upper
                .flat_map(char::to_lowercase)
                .filter(|part| !is_accent(*part)),
        );
    }
}

fn push(words: &mut String, word: &str) {
    if word.is_ascii() {
        return push_piece(words, word);
    }
    let word: String = word.nfc().collect();
    let mut rest = word.as_str();
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let latin = rest.chars().find_map(latin);
        let ends = |c| is_unspaced(c) != unspaced || (!unspaced && other(latin, c));
        let end = rest.find(ends).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if !unspaced {
            push_piece(words, run);
            continue;
        }
        let mut places: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
        places.push(run.len());
        // The last character alone closes the run: what begins with it is found, and phrases know where it ends.
        for (number, from) in places[..places.len() - 1].iter().enumerate() {
            let to = places[(number + 2).min(places.len() - 1)];
            push_piece(words, &run[*from..to]);
        }
    }
}

/// Whether a letter is Latin; none for digits and marks, which are of any script.
fn latin(character: char) -> Option<bool> {
    let latin = matches!(u32::from(character), 0..=0x24f | 0x1e00..=0x1eff | 0x2c60..=0x2c7f | 0xa720..=0xa7ff);
    character.is_alphabetic().then_some(latin)
}

/// Whether a letter is of another script than those before it.
fn other(before: Option<bool>, character: char) -> bool {
    latin(character).is_some_and(|latin| before.is_some_and(|before| before != latin))
}

fn push_piece(words: &mut String, piece: &str) {
    if piece.is_empty() {
        return;
    }
    if !words.is_empty() {
        words.push(' ');
    }
    words.push_str(piece);
}

/// Accents and points that people leave out: of Latin, Greek, Cyrillic, Hebrew and Arabic. Not those that make
/// another letter or vowel, as in Japanese, Thai and the scripts of India.
fn is_accent(character: char) -> bool {
    matches!(u32::from(character),
        0x300..=0x36f | 0x591..=0x5c7 | 0x610..=0x61a | 0x640 | 0x64b..=0x65f | 0x670 | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f)
}

/// What is not seen and parts no words: soft hyphens, joiners, blanks without width, selectors of variants.
fn is_invisible(character: char) -> bool {
    matches!(u32::from(character), 0xad | 0x200b..=0x200f | 0x2060..=0x2064 | 0xfe00..=0xfe0f | 0xfeff)
}

/// Scripts that put no blank between words, by their blocks: Thai, Lao, Burmese, Khmer, Tai, kana, bopomofo, Han.
/// And Korean, which writes particles on its words.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0xe00..=0xeff | 0x1000..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff | 0x1950..=0x19ff | 0x1a20..=0x1aaf
        | 0x3005..=0x3007 | 0x3021..=0x312f | 0x3131..=0x318e | 0x31a0..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xa960..=0xa97f | 0xa9e0..=0xa9ff | 0xaa60..=0xaadf | 0xac00..=0xd7ff | 0xf900..=0xfaff
        | 0x1aff0..=0x1b16f | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_folded() {
        for (text, words) in [
            ("send_mail", "send mail"),
            ("v1.2.", "v1 2"),
            ("a -- b", "a b"),
            ("_x_", "x"),
            ("x...y", "x y"),
            ("end.\nNext", "end next"),
            ("…", ""),
            ("x…y", "x y"),
            ("e\u{301}te\u{301} Été", "ete ete"),
            ("Straße STRASSE STRA\u{1e9e}E", "strasse strasse strasse"),
            ("ﬁle ﬂow oﬀice", "file flow office"),
            ("Αθήνα ΟΔΟΣ οδός", "αθηνα οδοσ οδοσ"),
            ("Ёлка", "елка"),
            ("İstanbul ISTANBUL ılık", "istanbul istanbul ilik"),
            ("ａｃｍｅ１ ﾃｽﾄ", "acme1 テス スト ト"),
            ("שָׁלוֹם مُحَمَّد", "שלום محمد"),
            ("हिन्दी", "हिन्दी"),
            ("so\u{ad}ft zero\u{200b}width", "soft zerowidth"),
            ("東京", "東京 京"),
            ("京", "京"),
            ("v2東京.jp", "v2 東京 京 jp"),
            ("部署billing-api到", "部署 署 billing api 到"),
            ("заказbilling2 2заказ", "заказ billing2 2заказ"),
            ("αβγ_Ωmega/x", "αβγ ω mega x"),
            ("が か\u{3099}", "が が"),
            ("한국어", "한국 국어 어"),
            ("น้ำ", "น้ ้ํ ํา า"),
        ] {
            assert_eq!(plain_words(text), words, "{text:?}");
        }
    }

    #[test]
    fn what_is_looked_for_may_end_inside_of_a_run() {
        for (text, words, beginning) in [
            ("東京", "東京", false),
            ("東京都", "東京 京都", false),
            ("京", "京", true),
            ("abc 京", "abc 京", true),
            ("東京 京", "東京 京 京", true),
            ("東京abc", "東京 京 abc", false),
            ("abc", "abc", false),
            ("", "", false),
            ("\u{37a}", "", false),
        ] {
            assert_eq!(
                wanted_words(text),
                (words.to_owned(), beginning),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn words_are_one_blank_apart(text in "\\PC{0,80}") {
            let words = plain_words(&text);
            prop_assert!(!words.starts_with(' ') && !words.ends_with(' '), "{words:?}");
            prop_assert!(words.split(' ').all(|word| !is_unspaced_word(word) || word.chars().count() <= 2));
        }

        /// Whatever is cut out of a sentence is found in it.
        #[test]
        fn any_part_of_a_sentence_is_a_phrase_of_it(text in "[\u{4e00}-\u{4e20}\u{3042}-\u{3050}\u{e01}-\u{e10}]{1,30}", from in 0..30_usize, length in 1..30_usize) {
            let part: String = text.chars().skip(from).take(length).collect();
            prop_assume!(!part.is_empty());
            let (wanted, beginning) = wanted_words(&part);
            let hay = format!(" {} ", plain_words(&text));
            let end = if beginning { "" } else { " " };
            prop_assert!(hay.contains(&format!(" {wanted}{end}")), "{wanted:?} in {hay:?}");
        }
    }
}
