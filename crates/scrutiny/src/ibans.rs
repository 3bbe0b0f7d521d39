//! IBANs in a text: each is as long as its country says, and what follows it is not read.

use iban::{BaseIban, IbanLike as _};

/// The length of each country of the registry.
const LENGTHS: &str = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27\
    GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19\
    MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24\
    TR26UA29VA22VG24XK20YE30";

/// Country, length and check digits are right.
pub(crate) fn is_right(number: &str) -> bool {
    let read = number.parse::<BaseIban>();
    read.is_ok_and(|of| length(of.country_code()) == Some(of.electronic_str().len()))
}

/// Two letters, two digits, 11 to 30 more letters and digits, perhaps in groups.
pub(crate) fn has_shape(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|at| *at != ' ').collect();
    (15..=34).contains(&plain.len())
        && plain[..2].iter().all(char::is_ascii_uppercase)
        && plain[2..4].iter().all(char::is_ascii_digit)
        && plain
            .iter()
            .all(|at| at.is_ascii_digit() || at.is_ascii_uppercase())
}

/// A blank between groups.
fn is_gap(at: char) -> bool {
    matches!(at, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}')
}

fn length(country: &str) -> Option<usize> {
    let mut all = LENGTHS.as_bytes().chunks_exact(4);
    let of = all.find(|of| of[..2] == *country.as_bytes())?;
    Some(usize::from(of[2] - b'0') * 10 + usize::from(of[3] - b'0'))
}

/// The number at the start of a text, as long as its country's: in one word, or in groups of four.
fn at_start(text: &str) -> Option<String> {
    let country = text
        .get(..2)
        .filter(|_| text.as_bytes()[..2].iter().all(u8::is_ascii_uppercase))?;
    let length = length(country)?;
    let mut number = String::with_capacity(length);
    let mut signs = text.chars().peekable();
    let mut grouped = None;
    while number.len() < length {
        if number.len() == 4 && grouped.is_none() {
            grouped = Some(signs.next_if(|at| is_gap(*at)).is_some());
        } else if grouped == Some(true) && number.len().is_multiple_of(4) {
            signs.next_if(|at| is_gap(*at))?;
        }
        number.push(
            signs
                .next()
                .filter(|at| at.is_ascii_digit() || at.is_ascii_uppercase())?,
        );
    }
    let ends = !signs.peek().is_some_and(|at| at.is_alphanumeric());
    (ends && number.as_bytes()[2..4].iter().all(u8::is_ascii_digit)).then_some(number)
}

/// Masked and empty ones are not.
fn is_wrong(number: &str) -> bool {
    let placeholder = number.contains("XXX") || number[4..].bytes().all(|at| at == b'0');
    !placeholder && !is_right(number)
}

/// So many letters and digits of a text, with the blanks between them.
fn written(text: &str, signs: usize) -> &str {
    let mut places = text.char_indices().filter(|(_, at)| at.is_alphanumeric());
    let last = places.nth(signs.saturating_sub(1));
    last.map_or(text, |(at, sign)| &text[..at + sign.len_utf8()])
}

/// What looks like an IBAN in a text and is none, named so or not.
pub(crate) fn wrong_in(text: &str) -> Option<&str> {
    let mut named = text.match_indices("IBAN").map(|(at, name)| {
        text[at + name.len()..].trim_start_matches(|at| is_gap(at) || ":=".contains(at))
    });
    if let Some(wrong) = named.find_map(begins_wrong) {
        return Some(wrong);
    }
    let mut letters = text.as_bytes().windows(4).enumerate().filter(|(_, of)| {
        of[..2].iter().all(u8::is_ascii_uppercase) && of[2..].iter().all(u8::is_ascii_digit)
    });
    letters.find_map(|(at, _)| {
        let before = text[..at].chars().next_back().unwrap_or(' ');
        let starts = !before.is_alphanumeric() && !"-_/+".contains(before);
        let number = at_start(&text[at..]).filter(|number| starts && is_wrong(number))?;
        // A value that is nothing else and in no groups may be a number of any other kind.
        let written = written(&text[at..], number.len());
        let other = written.len() == number.len() && written == text.trim();
        (!other).then_some(written)
    })
}

/// What looks like an IBAN at the beginning of a text and is none.
pub(crate) fn begins_wrong(text: &str) -> Option<&str> {
    if let Some(number) = at_start(text) {
        return is_wrong(&number).then(|| written(text, number.len()));
    }
    let of_it = |at: char| at.is_ascii_digit() || at.is_ascii_uppercase() || is_gap(at);
    let long = text.find(|at| !of_it(at)).unwrap_or(text.len());
    let mut number = String::new();
    for (at, letter) in text[..long].char_indices().filter(|(_, at)| !is_gap(*at)) {
        number.push(letter);
        let next = text[at + letter.len_utf8()..].chars().next();
        let ends = !next.is_some_and(char::is_alphanumeric);
        if ends && is_right(&number) {
            return None;
        }
    }
    let number: String = number.chars().take(34).collect();
    let wrong = has_shape(&number) && !number.contains("XXX");
    wrong.then(|| written(text, number.len()))
}
