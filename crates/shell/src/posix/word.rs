//! Words: quotes, escapes, expansions.

use super::Reader;
use super::evaluated::{assigns, is_plain, subscript};
use crate::braces;
use crate::script::{ANY, ANY_LETTER, HOLE, HOLE_END, How, Reason, Word};

/// A letter of a word, or a hole where an expansion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letter {
    Bare(char),
    Quoted(char),
    /// Exactly one word's part.
    One,
    /// Comes to any number of words.
    Many,
    /// A letter of the name of the variable whose hole is before it.
    Name(char),
}

impl Reader<'_, '_> {
    pub(super) fn word(&mut self) -> Result<Word, Reason> {
        let begin = self.at;
        let mut letters = Vec::new();
        while let Some(c) = self.next() {
            if self.substitutes() {
                self.step(2);
                self.inner()?;
                letters.push(Letter::One);
                continue;
            }
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' if self.sees("\\\n") => self.step(2),
                '\\' => {
                    self.step(1);
                    let escaped = self.next();
                    letters.push(Letter::Quoted(escaped.unwrap_or('\\')));
                    self.step(escaped.map_or(0, char::len_utf8));
                }
                '\'' => {
                    self.step(1);
                    let length = self.rest().find('\'').ok_or(Reason::Syntax)?;
                    letters.extend(self.rest()[..length].chars().map(Letter::Quoted));
                    self.step(length + 1);
                }
                '"' => self.double_quoted(&mut letters)?,
                '$' if self.sees("$'") => self.ansi(&mut letters)?,
                '$' if self.sees("$\"") => {
                    self.step(1);
                    self.double_quoted(&mut letters)?;
                }
                '$' | '`' => {
                    let begin = self.at;
                    let letter = self.expansion(false)?;
                    letters.push(letter);
                    self.named(begin, &mut letters);
                }
                c => {
                    letters.push(Letter::Bare(c));
                    self.step(c.len_utf8());
                }
            }
        }
        if self.at == begin {
            return Err(Reason::Syntax);
        }
        // zsh puts the program's path there.
        if let [Letter::Bare('='), Letter::Bare(c), ..] = letters[..]
            && (c.is_alphanumeric() || c == '_')
        {
            self.out.doubt();
        }
        let mut word = finish(&letters);
        word.bare = !self.text[begin..self.at].contains(['\'', '"', '\\', '$', '`']);
        Ok(word)
    }

    /// Whether a process substitution begins here.
    pub(super) fn substitutes(&self) -> bool {
        self.sees("<(") || self.sees(">(")
    }

    /// Commands up to the `)` that belongs to what was just read.
    fn inner(&mut self) -> Result<(), Reason> {
        self.within(None, How::Substituted, |reader| {
            reader.list(crate::Before::Start)
        })?;
        self.need(")")
    }

    fn double_quoted(&mut self, letters: &mut Vec<Letter>) -> Result<(), Reason> {
        self.step(1);
        // An empty word is a word.
        letters.reserve(1);
        loop {
            let c = self.next().ok_or(Reason::Syntax)?;
            match c {
                '"' => {
                    self.step(1);
                    return Ok(());
                }
                '$' | '`' => {
                    let begin = self.at;
                    let letter = match self.expansion(true)? {
                        Letter::Bare(c) => Letter::Quoted(c),
                        letter => letter,
                    };
                    letters.push(letter);
                    self.named(begin, letters);
                }
                '\\' => {
                    self.step(1);
                    let escaped = self.next().ok_or(Reason::Syntax)?;
                    self.step(escaped.len_utf8());
                    match escaped {
                        '\n' => {}
                        '$' | '`' | '"' | '\\' => letters.push(Letter::Quoted(escaped)),
                        c => letters.extend([Letter::Quoted('\\'), Letter::Quoted(c)]),
                    }
                }
                c => {
                    letters.push(Letter::Quoted(c));
                    self.step(c.len_utf8());
                }
            }
        }
    }

    /// `$'…'`
    fn ansi(&mut self, letters: &mut Vec<Letter>) -> Result<(), Reason> {
        self.step(2);
        loop {
            let c = self.next().ok_or(Reason::Syntax)?;
            self.step(c.len_utf8());
            match c {
                '\'' => return Ok(()),
                '\\' => {
                    let letter = self.ansi_escape()?;
                    letters.push(Letter::Quoted(letter));
                }
                c => letters.push(Letter::Quoted(c)),
            }
        }
    }

    fn ansi_escape(&mut self) -> Result<char, Reason> {
        let c = self.next().ok_or(Reason::Syntax)?;
        let code = |reader: &mut Self, skip: usize, most: usize, radix: u32| {
            let digits = &reader.rest()[skip..];
            let length = digits
                .chars()
                .take(most)
                .take_while(|c| c.is_digit(radix))
                .count();
            let value = u32::from_str_radix(&digits[..length], radix).ok();
            reader.step(skip + length);
            match value.and_then(char::from_u32) {
                Some('\0') => Err(Reason::Nul),
                // A byte that is no letter by itself.
                Some(c) if most <= 3 && !c.is_ascii() => Err(Reason::Syntax),
                Some(c) => Ok(c),
                None => Err(Reason::Syntax),
            }
        };
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\x07',
            'b' => '\x08',
            'e' | 'E' => '\x1b',
            'f' => '\x0c',
            'v' => '\x0b',
            '\\' | '"' | '?' => c,
            '\'' => {
                // dash ends the quotes here.
                self.out.doubt();
                c
            }
            '0'..='7' => return code(self, 0, 3, 8),
            'x' => return code(self, 1, 2, 16),
            'u' => return code(self, 1, 4, 16),
            'U' => return code(self, 1, 8, 16),
            _ => return Err(Reason::Syntax),
        };
        self.step(1);
        Ok(plain)
    }

    /// What begins with `$` or a backquote.
    pub(super) fn expansion(&mut self, quoted: bool) -> Result<Letter, Reason> {
        let hole = if quoted { Letter::One } else { Letter::Many };
        if self.next() == Some('`') {
            return self.backquoted(quoted).map(|()| hole);
        }
        if self.sees("$((") {
            self.step(3);
            return self.arithmetic("))").map(|()| Letter::One);
        }
        if self.take("$[") {
            return self.arithmetic("]").map(|()| Letter::One);
        }
        if self.take("$(") {
            return self.inner().map(|()| hole);
        }
        if self.take("${") {
            return self.deeper(|reader| reader.parameter(quoted));
        }
        self.step(1);
        // What is expanded goes on behind the line.
        if self.sees("\\\n") {
            return Err(Reason::Syntax);
        }
        let name = self.name();
        if !name.is_empty() {
            self.step(name.len());
            // zsh reads a subscript here, and evaluates it.
            if self.next() == Some('[') {
                self.out.doubt();
            }
            return Ok(hole);
        }
        match self.next() {
            Some('@') => {
                self.step(1);
                Ok(Letter::Many)
            }
            Some(c) if "*#?-$!".contains(c) || c.is_ascii_digit() => {
                self.step(1);
                Ok(hole)
            }
            _ => Ok(Letter::Bare('$')),
        }
    }

    /// The name of a variable that was read alone.
    fn named(&self, begin: usize, letters: &mut Vec<Letter>) {
        let read = self.text[begin..self.at].trim_start_matches('$');
        let braced = read
            .strip_prefix('{')
            .and_then(|read| read.strip_suffix('}'));
        let name = braced.unwrap_or(read);
        if matches!(letters.last(), Some(Letter::One | Letter::Many))
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        {
            letters.extend(name.chars().map(Letter::Name));
        }
    }

    fn name(&self) -> String {
        let rest = self.rest();
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return String::new();
        }
        let letters = rest.chars();
        letters
            .take_while(|c| *c == '_' || c.is_ascii_alphanumeric())
            .collect()
    }

    /// An expression up to its end; only one of names and numbers is known to run nothing.
    pub(super) fn arithmetic(&mut self, end: &str) -> Result<(), Reason> {
        let mut open = 0_u32;
        let begin = self.at;
        loop {
            let c = self.next().ok_or(Reason::Syntax)?;
            if open == 0 && self.sees(end) {
                let expression = &self.text[begin..self.at];
                return match is_plain(expression) {
                    true => {
                        self.out.evaluates |= expression.contains(char::is_alphabetic);
                        if assigns(expression) {
                            self.out.doubt();
                        }
                        self.step(end.len());
                        Ok(())
                    }
                    false => Err(Reason::Evaluated),
                };
            }
            match c {
                '(' => open += 1,
                ')' => open = open.checked_sub(1).ok_or(Reason::Syntax)?,
                _ => {}
            }
            self.step(c.len_utf8());
        }
    }

    fn backquoted(&mut self, quoted: bool) -> Result<(), Reason> {
        self.step(1);
        let mut text = String::new();
        loop {
            let c = self.next().ok_or(Reason::Syntax)?;
            self.step(c.len_utf8());
            match c {
                '`' => break,
                '\\' => {
                    let escaped = self.next().ok_or(Reason::Syntax)?;
                    self.step(escaped.len_utf8());
                    let known = matches!(escaped, '`' | '\\' | '$') || (quoted && escaped == '"');
                    if !known {
                        text.push('\\');
                    }
                    text.push(escaped);
                }
                c => text.push(c),
            }
        }
        let mut reader = Reader {
            text: &text,
            at: 0,
            depth: self.depth,
            base: None,
            inside: self.inside,
            how: self.how,
            pending: Vec::new(),
            out: self.out,
        };
        reader.within(None, How::Substituted, |reader| {
            reader.list(crate::Before::Start)
        })?;
        match reader.at == text.len() {
            true => Ok(()),
            false => Err(Reason::Syntax),
        }
    }

    /// Behind `${`.
    fn parameter(&mut self, quoted: bool) -> Result<Letter, Reason> {
        let first = self.at;
        let indirect = self.sees("!") && !self.sees("!}");
        if indirect || (self.sees("#") && !self.sees("#}")) {
            self.step(1);
        }
        let mut many = !quoted;
        let name = self.name();
        match name.is_empty() {
            false => self.step(name.len()),
            true => match self.next() {
                Some(c) if "@*#?-$!".contains(c) || c.is_ascii_digit() => {
                    many |= c == '@';
                    let digits = self.rest().chars().take_while(char::is_ascii_digit).count();
                    self.step(digits.max(1));
                }
                _ => return Err(Reason::Syntax),
            },
        }
        let mut listed = self.sees("*}") || self.sees("@}");
        if self.sees("[") {
            let end = self.rest().find(']').ok_or(Reason::Syntax)?;
            let inner = &self.rest()[1..end];
            listed = matches!(inner, "@" | "*");
            many |= inner == "@";
            if !listed {
                subscript(inner)?;
            }
            self.step(end + 1);
        }
        if indirect && !listed {
            return Err(Reason::Evaluated);
        }
        if self.sees("@P") {
            return Err(Reason::Evaluated);
        }
        // It gives the name a value, which the next command may see.
        if self.sees("=") || self.sees(":=") {
            self.out.doubt();
        }
        let substring =
            self.sees(":") && ![":-", ":=", ":?", ":+"].iter().any(|sign| self.sees(sign));
        let begin = self.at;
        self.operand(quoted)?;
        if substring && !is_plain(&self.text[begin..self.at]) {
            return Err(Reason::Evaluated);
        }
        if self.text[first..self.at].contains("\\\n") {
            return Err(Reason::Syntax);
        }
        self.need("}")?;
        Ok(if many { Letter::Many } else { Letter::One })
    }

    /// What follows a parameter's name, up to its `}`.
    fn operand(&mut self, quoted: bool) -> Result<(), Reason> {
        let mut ignored = Vec::new();
        loop {
            let c = self.next().ok_or(Reason::Syntax)?;
            match c {
                '}' => return Ok(()),
                // What quotes mean inside of quotes differs between shells.
                '\'' | '"' if quoted => return Err(Reason::Syntax),
                '\'' => {
                    self.step(1);
                    let length = self.rest().find('\'').ok_or(Reason::Syntax)?;
                    self.step(length + 1);
                }
                '"' => self.double_quoted(&mut ignored)?,
                '$' if !quoted && self.sees("$'") => self.ansi(&mut ignored)?,
                '$' | '`' => {
                    self.expansion(quoted)?;
                }
                '\\' => {
                    self.step(1);
                    let escaped = self.next().ok_or(Reason::Syntax)?;
                    self.step(escaped.len_utf8());
                }
                _ if self.substitutes() => {
                    self.step(2);
                    self.inner()?;
                }
                c => self.step(c.len_utf8()),
            }
        }
    }
}

/// The word that these letters are.
pub(crate) fn finish(letters: &[Letter]) -> Word {
    let glob = |at: usize| match letters[at] {
        Letter::Bare('*' | '?') => true,
        Letter::Bare('[') => letters[at..].contains(&Letter::Bare(']')),
        _ => false,
    };
    let expanded = braces::expand(letters);
    let hole = |at: usize| matches!(letters[at], Letter::One | Letter::Many) || glob(at);
    let first = (0..letters.len()).find(|at| hole(*at));
    let known = match (&expanded, first) {
        (Some((brace, _)), Some(hole)) => Some((*brace).min(hole)),
        (Some((brace, _)), None) => Some(*brace),
        (None, hole) => hole,
    };
    let text = |letters: &[Letter]| {
        let known = letters.iter().filter_map(|letter| match letter {
            Letter::Bare(c) | Letter::Quoted(c) => Some(*c),
            Letter::One | Letter::Many | Letter::Name(_) => None,
        });
        known.collect::<String>()
    };
    let many = (0..letters.len()).any(|at| letters[at] == Letter::Many || glob(at));
    let gives = match (&expanded, first) {
        (Some((_, words)), None) => words.iter().map(|word| text(word)).collect(),
        _ => Vec::new(),
    };
    Word {
        text: text(&letters[..known.unwrap_or(letters.len())]),
        dynamic: known.is_some(),
        one: known.is_some() && !many && expanded.is_none(),
        tilde: letters.first() == Some(&Letter::Bare('~')),
        gives,
        bare: false,
        shapes: match (&expanded, known) {
            (_, None) => Vec::new(),
            (Some((brace, words)), _) if words.is_empty() => {
                vec![shape(&letters[..*brace]) + &format!("{HOLE}{HOLE_END}")]
            }
            (Some((_, words)), _) => words.iter().map(|word| shape(word)).collect(),
            (None, _) => vec![shape(letters)],
        },
    }
}

/// The whole word, with marks for what the shell puts in.
fn shape(letters: &[Letter]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at) {
        at += 1;
        match letter {
            Letter::Bare('*') => text.push(ANY),
            Letter::Bare('?') => text.push(ANY_LETTER),
            Letter::Bare('[') => match letters[at..].iter().position(|of| *of == Letter::Bare(']'))
            {
                Some(end) => {
                    text.push(ANY_LETTER);
                    at += end + 1;
                }
                None => text.push('['),
            },
            Letter::Bare(c) | Letter::Quoted(c) | Letter::Name(c) => text.push(*c),
            Letter::One | Letter::Many => {
                text.push(HOLE);
                let name = letters[at..].iter().map_while(|of| match of {
                    Letter::Name(c) => Some(*c),
                    _ => None,
                });
                let name: String = name.collect();
                at += name.len();
                text.push_str(&name);
                text.push(HOLE_END);
            }
        }
    }
    text
}
