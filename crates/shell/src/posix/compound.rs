//! Compound commands: groups, loops, conditions, functions.

use super::Reader;
use super::evaluated::{EVALUATE, is_plain};
use crate::script::{Assignment, Before, Reason, Word};

impl Reader<'_, '_> {
    pub(super) fn command(&mut self, before: Before) -> Result<(), Reason> {
        self.blanks();
        if self.take("((") {
            // dash reads two groups.
            self.out.doubt();
            self.arithmetic("))")?;
            return self.redirections(before);
        }
        if self.take("(") {
            return self.compound(before, ")", Self::list);
        }
        let keyword = self.keyword();
        match keyword {
            "" | "time" => self.simple(before),
            "{" => {
                self.step(1);
                self.compound(before, "}", Self::list)
            }
            "if" => self.compound(before, "fi", Self::condition),
            "while" | "until" => self.compound(before, "done", |reader, before| {
                reader.step(5);
                reader.list(before)?;
                reader.word_of("do")?;
                reader.list(Before::Semicolon)
            }),
            "for" | "select" => self.compound(before, "done", Self::each),
            "case" => self.compound(before, "esac", Self::cases),
            "function" => {
                self.step(8);
                self.blanks();
                let name = self.word()?;
                self.blanks();
                if self.take("(") {
                    self.blanks();
                    self.need(")")?;
                }
                let name = name.literal().ok_or(Reason::Syntax)?.to_owned();
                self.function_body(name, before)
            }
            "[[" => self.test(before),
            _ => Err(Reason::Syntax),
        }
    }

    /// One nesting deeper, its end and its redirections.
    fn compound(
        &mut self,
        before: Before,
        end: &str,
        read: impl FnOnce(&mut Self, Before) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let first = self.out.commands.len();
        self.deeper(|reader| read(reader, before))?;
        self.word_of(end)?;
        if let Some(command) = self
            .out
            .commands
            .get_mut(first)
            .filter(|_| before == Before::Pipe)
        {
            (command.before, command.pipe) = (before, Some(self.depth));
        }
        // A group without a command is none.
        if self.out.commands.len() == first && end != "esac" {
            return Err(Reason::Syntax);
        }
        self.redirections(before)
    }

    /// This keyword, as a whole word.
    fn word_of(&mut self, word: &str) -> Result<(), Reason> {
        self.blanks();
        match word == ")" || self.keyword() == word {
            true => self.need(word),
            false => Err(Reason::Syntax),
        }
    }

    /// Redirections behind a compound command are a command without words.
    fn redirections(&mut self, before: Before) -> Result<(), Reason> {
        self.blanks();
        let place = self.begin(before)?;
        while self.redirection(place)? {
            self.blanks();
        }
        self.end(place);
        if self.out.commands[place].redirections.is_empty() && self.out.commands.len() == place + 1
        {
            self.out.commands.pop();
        }
        Ok(())
    }

    fn condition(&mut self, before: Before) -> Result<(), Reason> {
        self.step(2);
        self.list(before)?;
        self.word_of("then")?;
        self.list(Before::Semicolon)?;
        loop {
            match self.keyword() {
                "elif" => {
                    self.step(4);
                    self.list(Before::Semicolon)?;
                    self.word_of("then")?;
                    self.list(Before::Semicolon)?;
                }
                "else" => {
                    self.step(4);
                    self.list(Before::Semicolon)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// `for name in words; do …; done` and `for ((…)); do …; done`.
    fn each(&mut self, before: Before) -> Result<(), Reason> {
        self.step(self.keyword().len());
        self.blanks();
        if self.take("((") {
            for end in [";", ";", "))"] {
                self.arithmetic(end)?;
            }
            self.out.doubt();
        } else {
            let name = self.word()?;
            let name = name.literal().ok_or(Reason::Syntax)?.to_owned();
            self.lines()?;
            let mut words = Vec::new();
            if self.keyword() == "in" {
                self.step(2);
                self.blanks();
                while self.next().is_some_and(|c| !"\n;#".contains(c)) {
                    words.push(self.word()?);
                    self.blanks();
                }
            }
            self.out.loops.push((name.clone(), words));
            // A name in capitals may be one that programs look at, such as PATH.
            if !name.contains(|c: char| c.is_ascii_lowercase()) {
                let place = self.begin(before)?;
                self.out.commands[place].assignments.push(Assignment {
                    name,
                    value: Word::unknown(),
                    append: false,
                });
            }
        }
        self.blanks();
        self.take(";");
        self.lines()?;
        self.word_of("do")?;
        self.list(Before::Semicolon)
    }

    fn cases(&mut self, _: Before) -> Result<(), Reason> {
        self.step(4);
        self.blanks();
        self.word()?;
        self.lines()?;
        self.word_of("in")?;
        loop {
            self.lines()?;
            if self.keyword() == "esac" {
                return Ok(());
            }
            self.take("(");
            loop {
                self.blanks();
                self.word()?;
                self.blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.need(")")?;
            self.list(Before::Semicolon)?;
            let ended = self.take(";;&") || self.take(";;") || self.take(";&");
            if !ended && self.keyword() != "esac" {
                return Err(Reason::Syntax);
            }
        }
    }

    /// `[[ … ]]`
    fn test(&mut self, before: Before) -> Result<(), Reason> {
        let place = self.begin(before)?;
        self.step(2);
        let mut words = vec![Word::literal_of("[[")];
        loop {
            self.lines()?;
            let operator = ["&&", "||", "(", ")", "<", ">"]
                .iter()
                .find(|sign| self.sees(sign));
            if let Some(sign) = operator.filter(|_| !self.substitutes()) {
                self.step(sign.len());
                // To dash this is an operator between commands.
                self.out.doubt();
                words.push(Word::literal_of(sign));
                continue;
            }
            let regex = words.last().is_some_and(|word| word.text == "=~");
            let word = match regex {
                true => self.within_command(place, Self::expression)?,
                false => self.within_command(place, Self::word)?,
            };
            let ends = word.bare && word.text == "]]";
            words.push(word);
            if ends {
                break;
            }
        }
        self.end(place);
        let known = |word: &Word| !word.dynamic && is_plain(&word.text);
        let evaluated = words.windows(3).any(|three| {
            EVALUATE.iter().any(|option| three[1].could_be(option))
                && !(known(&three[0]) && known(&three[2]))
        });
        let names = words
            .windows(2)
            .any(|two| ["-v", "-R"].contains(&two[0].text.as_str()) && !known(&two[1]));
        if evaluated || names {
            return Err(Reason::Evaluated);
        }
        self.out.commands[place].words = words;
        self.redirections(before)
    }

    /// A regular expression of `[[`: parentheses and bars are letters of it.
    fn expression(&mut self) -> Result<Word, Reason> {
        let mut open = 0_u32;
        let mut whole = Word::unknown();
        whole.one = true;
        loop {
            match self.next().ok_or(Reason::Syntax)? {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                '|' if open > 0 => {}
                ' ' | '\t' | '\n' if open == 0 => return Ok(whole),
                ' ' => {}
                '\n' | ';' | '&' | '<' | '>' | ')' | '|' => return Err(Reason::Syntax),
                _ => {
                    self.word()?;
                    continue;
                }
            }
            self.step(1);
        }
    }
}
