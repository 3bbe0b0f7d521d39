//! What cannot be seen in a text, or is not what it looks like.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use unicode_security::MixedScript;

use crate::call::Call;
use crate::cell::{Cell, What};
use crate::cells;
use crate::finding::{Code, Hazard, Weight};
use crate::leaf::among;
use crate::net;
use crate::role::is_command;
use crate::shown::shown;

/// More blanks before a line's last words push them out of sight.
const BLANKS: usize = 80;

pub(crate) fn hazards(call: &Call<'_>) -> Vec<Hazard> {
    let mut found = Vec::new();
    for leaf in &call.leaves {
        let Some(text) = leaf.text() else {
            continue;
        };
        let what = turned(text)
            .or_else(|| unseen(text))
            .or_else(|| markup(text));
        found.extend(
            what.map(|message| Hazard::stop(Code::HiddenText, &leaf.at, message.clone(), message)),
        );
        let pushed = text.lines().find_map(|line| {
            let blanks = line
                .trim()
                .split(|at: char| !matches!(at, ' ' | '\u{a0}' | '\t'))
                .map(str::len)
                .max()?;
            (blanks > BLANKS).then_some(blanks)
        });
        found.extend(pushed.map(|blanks| {
            Hazard::look(
                Code::HiddenText,
                &leaf.at,
                "blanks",
                format!("{blanks} blanks push the end of a line out of sight."),
            )
        }));
        found.extend(link(text).map(|(written, to)| {
            let message = format!(
                "The link says {} and goes to {}.",
                shown(&written),
                shown(&to)
            );
            Hazard::stop(Code::RiskyAddress, &leaf.at, to, message)
        }));
        let orders = orders(text).filter(|_| {
            !leaf.has_word("prompt prompts system instructions instruction query search")
                && !is_command(leaf, call)
        });
        found.extend(orders.map(|said| {
            Hazard::new(
                Code::InstructsAgents,
                Weight::Look,
                &leaf.at,
                "orders".to_owned(),
                format!("The text gives orders to assistants: \"{}\".", shown(&said)),
            )
        }));
    }
    for cell in cells::of(call) {
        found.extend(
            named(cell)
                .map(|message| Hazard::stop(Code::HiddenText, &cell.at, message.clone(), message)),
        );
    }
    found
}

/// Controls of direction, tags, escapes of a terminal, a lone carriage return.
fn turned(text: &str) -> Option<String> {
    if text.is_ascii() && !text.contains(['\u{1b}', '\r']) {
        return None;
    }
    let right_to_left = text.chars().any(|at| matches!(at, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'));
    let opened = text.chars().filter(|at| matches!(at, '\u{202a}'..='\u{202b}' | '\u{202d}'..='\u{202e}' | '\u{2066}'..='\u{2068}')).count();
    let closed = text
        .chars()
        .filter(|at| matches!(at, '\u{202c}' | '\u{2069}'))
        .count();
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let what = match letter {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                if !(right_to_left && opened == closed) =>
            {
                let end = text
                    .rsplit('.')
                    .next()
                    .filter(|end| text.contains('.') && end.len() < 6 && end.is_ascii());
                let end = end.map_or_else(String::new, |end| format!(": it ends in .{end}"));
                format!("which turns the letters behind it round{end}")
            }
            '\u{e0020}'..='\u{e007f}' if !text[..at].contains('\u{1f3f4}') => {
                "a tag that nobody sees".to_owned()
            }
            '\u{1b}' => "which changes how a terminal shows the rest".to_owned(),
            '\r' if before != '\r'
                && !text[at + 1..].starts_with(['\n', '\r'])
                && at + 1 < text.len() =>
            {
                "which lets the rest of the line cover its beginning".to_owned()
            }
            _ => {
                before = letter;
                continue;
            }
        };
        return Some(format!("The text has U+{:04X}, {what}.", u32::from(letter)));
    }
    None
}

/// Characters without width inside a word of Latin letters.
fn unseen(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let word = text.split_whitespace().find(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.len() < 80
            && letters.windows(3).any(|of| {
                of[0].is_ascii_alphanumeric()
                    && matches!(of[1], '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
                    && of[2].is_ascii_alphanumeric()
            })
    })?;
    let letter = word
        .chars()
        .find(|at| matches!(at, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'))?;
    let plain: String = word.chars().filter(|at| *at != letter).collect();
    Some(format!(
        "{} has U+{:04X} in it, which has no width.",
        shown(&plain),
        u32::from(letter)
    ))
}

/// A name of mixed scripts, or a program's ending behind a document's.
fn named(cell: &Cell) -> Option<String> {
    if cell.what != What::Name || cell.text.contains(' ') && cell.text.len() > 40 {
        return None;
    }
    let mixed = cell
        .text
        .split(|at: char| !at.is_alphanumeric())
        .find(|word| {
            let latin = word.chars().any(|at| at.is_ascii_alphabetic());
            latin
                && !word.is_ascii()
                && !word.is_single_script()
                && unicode_security::skeleton(word).all(|at| at.is_ascii())
        });
    if let Some(word) = mixed {
        return Some(format!(
            "{} mixes alphabets: some of its letters only look like Latin ones.",
            shown(word)
        ));
    }
    let lower = cell.text.to_lowercase();
    let mut parts = lower.rsplit('.').map(str::trim);
    let (last, before) = (parts.next()?, parts.next()?);
    let is = among("exe scr vbs bat cmd com lnk ps1 jar msi hta", last)
        && among("pdf doc docx xls xlsx jpg jpeg png txt csv html", before);
    is.then(|| {
        format!(
            "{} is a program, not a document: it ends in .{last}.",
            shown(&cell.text)
        )
    })
}

/// Markup that is not drawn and holds an address, an account, a sum or orders.
fn markup(text: &str) -> Option<String> {
    if !text.contains('<') {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = lower[from..].find("<") {
        let open = from + at;
        let end = open + lower[open..].find('>')?;
        from = end;
        let tag: String = lower[open..end]
            .chars()
            .filter(|at| !at.is_whitespace())
            .collect();
        let name: String = lower[open + 1..end]
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let how = if tag.contains("display:none") {
            "not displayed"
        } else if tag.contains("visibility:hidden")
            || tag.ends_with("hidden")
            || tag.contains("\"hidden")
        {
            "hidden"
        } else if [
            "font-size:0",
            "font-size:1px",
            "font-size:.1",
            "line-height:0",
        ]
        .iter()
        .any(|of| tag.contains(of))
        {
            if tag.contains("font-size:1px") {
                "font size 1px"
            } else {
                "font size 0"
            }
        } else if ["opacity:0;", "opacity:0\"", "opacity:0'"]
            .iter()
            .any(|of| tag.contains(of))
        {
            "transparent"
        } else if ["left:-9", "top:-9", "text-indent:-9"]
            .iter()
            .any(|of| tag.contains(of))
        {
            "far outside"
        } else if ["color:#fff", "color:white", "color:#ffffff"]
            .iter()
            .any(|of| tag.contains(of))
            && !lower.contains("background")
            && !lower.contains("bgcolor")
        {
            "white on white"
        } else {
            continue;
        };
        if name == "input" {
            continue;
        }
        let close = lower[end..]
            .find(&format!("</{name}"))
            .map_or(end, |at| end + at);
        let inner = text.get(end + 1..close).unwrap_or_default();
        let mut plain = String::new();
        let mut inside = false;
        for letter in inner.chars() {
            match letter {
                '<' => inside = true,
                '>' => inside = false,
                _ if !inside => plain.push(letter),
                _ => {}
            }
        }
        let sum = ["eur", "usd", "gbp", "€", "$", "iban"]
            .iter()
            .any(|sign| inner.to_lowercase().contains(sign))
            && inner.contains(|at: char| at.is_ascii_digit());
        if !net::urls_in(inner).is_empty() || sum || orders(&plain).is_some() || inner.contains('@')
        {
            let said = if plain.trim().is_empty() {
                inner
            } else {
                plain.trim()
            };
            return Some(format!(
                "A part of the text cannot be seen ({how}): \"{}\".",
                shown(said)
            ));
        }
    }
    None
}

/// A link whose text is another host than its target.
fn link(text: &str) -> Option<(String, String)> {
    let differs = |written: &str, target: &str| {
        let to = net::host_of(&net::url(target.trim())?)?;
        let written = written.trim().trim_end_matches('/');
        let shown = match net::url(written) {
            Some(url) => net::host_of(&url)?,
            None => net::host_alone(written.split('/').next()?)
                .filter(|host| host.matches('.').count() > 1)?,
        };
        (net::registrable(&shown) != net::registrable(&to)).then_some((shown, to))
    };
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("<a ") {
        let (tag, inner) = after.split_once('>')?;
        let (inner, behind) = inner.split_once("</a").unwrap_or((inner, ""));
        let href = tag
            .split("href=")
            .nth(1)
            .unwrap_or_default()
            .trim_start_matches(['"', '\'']);
        let href = href.split(['"', '\'', ' ']).next().unwrap_or_default();
        if let Some(found) = differs(inner, href) {
            return Some(found);
        }
        rest = behind;
    }
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let written = before.rsplit('[').next().unwrap_or_default();
        let target = after.split(')').next().unwrap_or_default();
        if let Some(found) = differs(written, target) {
            return Some(found);
        }
        rest = after;
    }
    None
}

/// Without one of these a text gives no orders: most are read once.
static ORDERS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let stems = ["instruc", "istruzioni", "anweisungen"];
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(stems.iter().chain(&WHO));
    finder.ok()
});

const WHO: [&str; 7] = [
    "ai assistants",
    "ai agents",
    "coding agents",
    "language models",
    "llm agents",
    "ai systems",
    "assistants and agents",
];

/// Orders to agents that read the text; not in quotes, backticks or fences.
fn orders(text: &str) -> Option<String> {
    const SAID: [&str; 14] = [
        "ignore all previous instructions",
        "ignore previous instructions",
        "ignore all prior instructions",
        "ignore the previous instructions",
        "ignore your instructions",
        "ignore all instructions",
        "disregard all previous instructions",
        "disregard previous instructions",
        "ignoriere alle vorherigen anweisungen",
        "ignoriere alle bisherigen anweisungen",
        "ignorez toutes les instructions",
        "ignora todas las instrucciones",
        "ignora tutte le istruzioni",
        "negeer alle vorige instructies",
    ];
    if !ORDERS.as_ref()?.is_match(text) {
        return None;
    }
    let lower = text.to_lowercase();
    let quoted = |at: usize| {
        let before = &lower[..at];
        before.ends_with(['"', '“', '„', '«', '\'', '`'])
            || before.matches("```").count() % 2 == 1
            || before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .matches(['`', '"'])
                .count()
                % 2
                == 1
    };
    let said = SAID
        .iter()
        .find(|phrase| lower.find(**phrase).is_some_and(|at| !quoted(at)));
    if let Some(said) = said {
        return Some((*said).to_owned());
    }
    let order = ["ignore", "disregard", "forget", "override"]
        .iter()
        .find_map(|verb| {
            let at = lower.find(verb).filter(|at| !quoted(*at))?;
            let rest: String = lower[at..].chars().take(60).collect();
            let end = rest.find("instructions")?;
            let between = &rest[verb.len()..end];
            let all = ["previous", "prior", "earlier", "above", "your", "all"]
                .iter()
                .any(|word| between.contains(word));
            (all && !between.contains(['.', '\n']))
                .then(|| rest[..end + "instructions".len()].to_owned())
        });
    if order.is_some() {
        return order;
    }
    WHO.iter().find_map(|who| {
        let at = lower.find(who).filter(|at| !quoted(*at))?;
        let rest: String = lower[at..].chars().take(80).collect();
        ["must ", "should ", "have to ", "need to ", "shall "]
            .iter()
            .any(|word| rest[who.len()..].trim_start().starts_with(word))
            .then(|| rest.lines().next().unwrap_or_default().to_owned())
    })
}
