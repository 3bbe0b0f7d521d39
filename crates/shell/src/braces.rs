//! Brace expansion of literal parts.

use crate::posix::Letter;

/// The most words of one brace expansion that are listed.
const WORDS_MAX: usize = 64;

/// The most open braces of a word that are looked at.
const BRACES_MAX: usize = 16;

/// Where the first brace expansion begins, and every word it gives (none where they are too many or a range).
pub(crate) fn expand(letters: &[Letter]) -> Option<(usize, Vec<Vec<Letter>>)> {
    let mut braces = (0..letters.len()).filter(|at| letters[*at] == Letter::Bare('{'));
    let first = braces.next()?;
    // So many are not listed, and take no time.
    if braces.count() > BRACES_MAX {
        return Some((first, Vec::new()));
    }
    let open = (0..letters.len()).find(|at| group(letters, *at).is_some())?;
    let (close, commas) = group(letters, open)?;
    if commas.is_empty() {
        return Some((open, Vec::new()));
    }
    let mut words = Vec::new();
    let behind = all(&letters[close + 1..])?;
    let mut begin = open + 1;
    for end in commas.into_iter().chain([close]) {
        let parts = all(&letters[begin..end]).unwrap_or_default();
        for part in &parts {
            for rest in &behind {
                words.push([&letters[..open], part, rest].concat());
            }
        }
        if parts.is_empty() || words.len() > WORDS_MAX {
            return Some((open, Vec::new()));
        }
        begin = end + 1;
    }
    Some((open, words))
}

/// Every word that these letters give; none where they are not known.
fn all(letters: &[Letter]) -> Option<Vec<Vec<Letter>>> {
    match expand(letters) {
        None => Some(vec![letters.to_vec()]),
        Some((_, words)) => Some(words),
    }
}

/// The end of the brace expansion that begins here, and its commas; none for a range.
fn group(letters: &[Letter], open: usize) -> Option<(usize, Vec<usize>)> {
    if letters[open] != Letter::Bare('{') {
        return None;
    }
    let mut depth = 0_u32;
    let mut commas = Vec::new();
    for (at, letter) in letters.iter().enumerate().skip(open) {
        match letter {
            Letter::Bare('{') => depth += 1,
            Letter::Bare(',') if depth == 1 => commas.push(at),
            Letter::Bare('}') => {
                depth -= 1;
                if depth == 0 {
                    let dots = [Letter::Bare('.'), Letter::Bare('.')];
                    let range = letters[open..at].windows(2).any(|two| two == dots);
                    return (range || !commas.is_empty()).then_some((at, commas));
                }
            }
            _ => {}
        }
    }
    None
}
