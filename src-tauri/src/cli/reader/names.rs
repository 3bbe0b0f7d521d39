//! Names of people, on their way out of this machine.

use std::collections::HashSet;

/// A text with `someone` for each word of the names of these people.
pub(super) fn without_names(text: &str, names: &[String]) -> String {
    // Where words are not divided by blanks a name is looked for as it is.
    let written = names
        .iter()
        .filter(|name| !name.trim().is_empty() && !name.is_ascii());
    let text = written.fold(text.to_owned(), |text, name| {
        text.replace(name.trim(), "someone")
    });
    let divides = |letter: char| !letter.is_alphanumeric();
    let words = names.iter().flat_map(|name| name.split(divides));
    let words: HashSet<String> = words
        .filter(|word| word.len() > 1)
        .map(str::to_lowercase)
        .collect();
    let replaced = text.split_inclusive(divides).map(|piece| {
        let word = piece.trim_end_matches(divides);
        match words.contains(&word.to_lowercase()) {
            true => format!("someone{}", &piece[word.len()..]),
            false => piece.to_owned(),
        }
    });
    replaced
        .collect::<String>()
        .replace("someone someone", "someone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operators_are_someone() {
        let names = ["Lena Kraus".to_owned(), "Öz".to_owned(), "B".to_owned()];
        for (text, shown) in [
            ("ask Lena Kraus, first", "ask someone, first"),
            (
                "LENA said: kraus@x, not Lenard",
                "someone said: someone@x, not Lenard",
            ),
            ("lena", "someone"),
            ("öz, xöz, Öz", "someone, xöz, someone"),
            ("B is no name", "B is no name"),
            ("", ""),
        ] {
            assert_eq!(without_names(text, &names), shown);
        }
    }
}
