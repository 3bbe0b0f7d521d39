//! Which characters are hostile.
//!
//! Good uses do not excuse a character: a joiner inside an emoji, a soft hyphen and a no-break space are marked like
//! every other hidden character.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        BidiControl, DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint,
        VariationSelector, WhiteSpace,
    },
};

/// Whether a character must not be shown as itself. These are:
///
/// - control, format, surrogate, private-use and unassigned characters, line and
///   paragraph separators (general categories C and Zl, Zp),
/// - bidirectional controls, default-ignorable characters, variation selectors
///   and noncharacters,
/// - every blank other than U+0020, and characters drawn as a blank,
/// - U+27E8, which opens a mark in plain text.
pub fn is_hostile(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\0'..='\u{9f}' => true,
        _ => is_hostile_beyond_ascii(character),
    }
}

fn is_hostile_beyond_ascii(character: char) -> bool {
    use GeneralCategory as Category;
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    matches!(
        category,
        Category::Control
            | Category::Format
            | Category::Surrogate
            | Category::PrivateUse
            | Category::Unassigned
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::SpaceSeparator
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
        || CodePointSetData::new::<VariationSelector>().contains(character)
        || CodePointSetData::new::<BidiControl>().contains(character)
        || CodePointSetData::new::<NoncharacterCodePoint>().contains(character)
        || CodePointSetData::new::<WhiteSpace>().contains(character)
        || is_drawn_blank(character)
        || character == '\u{27e8}'
}

/// Marks that one character may bear and be shown as it is. Scripts need fewer; the Stream-Safe Text Format
/// (UAX #15) allows 30, which are drawn over the lines above.
const STACKED: usize = 8;

/// The characters of a text with their places, and whether each must not be shown as itself: those that
/// [`is_hostile`] names, and what is stacked on a character beyond its first eight marks.
pub fn judged(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut stacked = 0;
    text.char_indices().map(move |(at, character)| {
        stacked = match is_stacked(character) {
            true => stacked + 1,
            false => 0,
        };
        (at, character, stacked > STACKED || is_hostile(character))
    })
}

/// Whether it takes no place of its own and is drawn onto the character before it.
fn is_stacked(character: char) -> bool {
    let category = || CodePointMapData::<GeneralCategory>::new().get(character);
    character >= '\u{300}'
        && matches!(
            category(),
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark
        )
}

/// Letters and symbols which fonts draw as nothing.
fn is_drawn_blank(character: char) -> bool {
    matches!(
        character,
        '\u{2800}' | '\u{fffc}' | '\u{1d159}' | '\u{13441}' | '\u{13442}' | '\u{16fe4}'
    )
}

/// What a hostile character is called, for those that are met most.
pub(super) fn name(character: char) -> Option<&'static str> {
    Some(match character {
        '\0' => "null",
        '\t' => "tab",
        '\n' => "line feed",
        '\r' => "carriage return",
        '\u{1b}' => "escape",
        '\u{7f}' => "delete",
        '\u{85}' => "next line",
        '\u{a0}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{34f}' => "combining grapheme joiner",
        '\u{61c}' => "Arabic letter mark",
        '\u{180e}' => "Mongolian vowel separator",
        '\u{200b}' => "zero width space",
        '\u{200c}' => "zero width non-joiner",
        '\u{200d}' => "zero width joiner",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{2028}' => "line separator",
        '\u{2029}' => "paragraph separator",
        '\u{202a}' => "left-to-right embedding",
        '\u{202b}' => "right-to-left embedding",
        '\u{202c}' => "pop directional formatting",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{202f}' => "narrow no-break space",
        '\u{2060}' => "word joiner",
        '\u{2066}' => "left-to-right isolate",
        '\u{2067}' => "right-to-left isolate",
        '\u{2068}' => "first strong isolate",
        '\u{2069}' => "pop directional isolate",
        '\u{27e8}' => "mark bracket",
        '\u{2800}' => "Braille blank",
        '\u{3000}' => "ideographic space",
        '\u{3164}' => "Hangul filler",
        '\u{feff}' => "byte order mark",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "variation selector",
        '\u{e0000}'..='\u{e007f}' => "tag character",
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => "private use",
        _ if is_stacked(character) => "one of many marks on a character",
        _ => return None,
    })
}
