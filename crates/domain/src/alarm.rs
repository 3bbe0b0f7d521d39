//! What an alarm is called, what it means, and what to do about it.
//!
//! Every alarm has words: whoever adds a code has to write both.

use countersign_wire::{AgentKey, RequestKey};

use super::{INCIDENTS, Incident, STALLS, Stall};

/// Why a person must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlarmCode {
    /// Something ran that must not have.
    Executed(Incident),
    /// An answer does not get on.
    Stalled(Stall),
    /// What is stored as a decision does not verify.
    VoidDecision,
    /// What is stored as a vote does not verify.
    VoidVote,
    /// The bus is not as remembered.
    ReadOnly,
    /// The store takes no writes.
    StoreFailed,
    /// Another program holds the store's lock.
    StoreLocked,
    /// A panic, pause or stop does not verify.
    ControlUnverified,
    /// A workspace's rules do not verify or cannot be read.
    RulesUnusable,
    /// An agent's setup does not verify or cannot be read.
    SetupUnusable,
    /// The bus has another realm log than this console knows.
    LogDiffers,
    /// A stream answers for the realm log in its place.
    LogHidden,
    /// Slots of the realm log hold no entries.
    LogJunk,
    /// A recovery key was set.
    RecoverySet,
    /// The recovery key signed an entry.
    RecoveryUsed,
    /// A key waits to be accepted.
    OperatorWaits,
    /// Somebody may decide who could not before.
    OperatorJoined,
    /// At a recovery, the bus held another decision.
    RecoverConflict,
    /// The console's own server had lost its last moments.
    LastMomentsLost,
    /// Somebody sends what no client can read.
    UnreadableMessage,
    /// Two programs speak as one console.
    ConsoleRunsTwice,
    /// A stream has hardly any room.
    StreamFull,
    /// Most of what is not read yet is one agent's.
    AgentFloods,
    /// The console's own server listens elsewhere than the agents' files say.
    BusMoved,
    /// The gate in front of an agent's program lets calls run.
    GateOpen,
    /// A receiver of a feed is away, or refuses events.
    FeedFailing,
}

/// The words of a code that this version does not know.
const UNKNOWN: (&str, &str) = (
    "A newer version of this console raised this alarm.",
    "Look at its subject, and use that version.",
);

/// For an agent's alarm, once so many of its requests have the same one.
const MORE: &str = "This keeps happening with this agent; more such alarms are not listed until the listed ones are acknowledged.";

impl AlarmCode {
    /// Every code.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [
            Self::VoidDecision,
            Self::VoidVote,
            Self::ReadOnly,
            Self::StoreFailed,
            Self::StoreLocked,
            Self::ControlUnverified,
            Self::RulesUnusable,
            Self::SetupUnusable,
            Self::LogDiffers,
            Self::LogHidden,
            Self::LogJunk,
            Self::RecoverySet,
            Self::RecoveryUsed,
            Self::OperatorWaits,
            Self::OperatorJoined,
            Self::RecoverConflict,
            Self::LastMomentsLost,
            Self::UnreadableMessage,
            Self::ConsoleRunsTwice,
            Self::StreamFull,
            Self::AgentFloods,
            Self::BusMoved,
            Self::GateOpen,
            Self::FeedFailing,
        ];
        let incidents = INCIDENTS.into_iter().map(Self::Executed);
        incidents
            .chain(STALLS.into_iter().map(Self::Stalled))
            .chain(others)
    }

    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executed(incident) => incident.code(),
            Self::Stalled(stall) => stall.code(),
            Self::VoidDecision => "void_decision",
            Self::VoidVote => "void_vote",
            Self::ReadOnly => "read_only",
            Self::StoreFailed => "store_failed",
            Self::StoreLocked => "store_locked",
            Self::ControlUnverified => "brake_unverified",
            Self::RulesUnusable => "rules_unusable",
            Self::SetupUnusable => "setup_unusable",
            Self::LogDiffers => "log_differs",
            Self::LogHidden => "log_hidden",
            Self::LogJunk => "log_junk",
            Self::RecoverySet => "recovery_set",
            Self::RecoveryUsed => "recovery_used",
            Self::OperatorWaits => "operator_waits",
            Self::OperatorJoined => "operator_joined",
            Self::RecoverConflict => "recover_conflict",
            Self::LastMomentsLost => "last_moments_lost",
            Self::UnreadableMessage => "unreadable_message",
            Self::ConsoleRunsTwice => "console_runs_twice",
            Self::StreamFull => "stream_full",
            Self::AgentFloods => "agent_floods",
            Self::BusMoved => "bus_moved",
            Self::GateOpen => "gate_open",
            Self::FeedFailing => "feed_failing",
        }
    }

    /// The code of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().find(|code| code.as_str() == word)
    }

    /// What happened, one sentence.
    #[must_use]
    pub fn happened(self) -> &'static str {
        match self {
            Self::Executed(Incident::WithoutDecision) => {
                "An agent ran a call before it was decided, or by a decision that is not the one in force."
            }
            Self::Executed(Incident::WithoutApproval) => {
                "An agent ran a call although the decision did not allow it."
            }
            Self::Executed(Incident::DigestDiffers) => {
                "An agent ran a call with other arguments than the decided ones."
            }
            Self::Stalled(Stall::NotOnBus) => {
                "A decision was signed here, but the bus has not accepted it."
            }
            Self::Stalled(Stall::NotReceived) => {
                "A decision is on the bus, but its agent has not received it, although it is connected."
            }
            Self::Stalled(Stall::NotExecuted) => {
                "An agent received an approval, but has not reported that the call ran."
            }
            Self::VoidDecision => {
                "A decision on the bus does not verify; the agent takes it as a denial."
            }
            Self::VoidVote => "A vote on the bus does not verify; it is not counted.",
            Self::ReadOnly => {
                "The bus is not the one that this console knows, so the console is read-only."
            }
            Self::StoreFailed => {
                "This console's store cannot be written, so the console is read-only."
            }
            Self::StoreLocked => {
                "Another program has locked this console's database, so the console is read-only."
            }
            Self::ControlUnverified => {
                "A panic, pause or stop on the bus does not verify, or an older one replaced it: it counts as set. A bypass like that allows nothing."
            }
            Self::RulesUnusable => {
                "The rules on the bus do not verify, cannot be read, or were replaced by older ones; every request of the workspace asks."
            }
            Self::SetupUnusable => {
                "An agent's setup on the bus does not verify, cannot be read, or was replaced by an older one; its keys skip no question."
            }
            Self::LogDiffers => {
                "The realm log on the bus lacks entries that this console knows and has others in their place, so the console is read-only."
            }
            Self::LogHidden => {
                "A stream mirrors CS_DECISIONS and can hide the end of the realm log from agents."
            }
            Self::LogJunk => {
                "Somebody stored messages among the entries of the realm log; they change nothing."
            }
            Self::RecoverySet => "The realm has another recovery key.",
            Self::RecoveryUsed => "The recovery key changed the operators.",
            Self::OperatorWaits => "A new operator's key waits to be accepted.",
            Self::OperatorJoined => "A new operator joined and may decide here.",
            Self::RecoverConflict => {
                "The bus holds a different decision from the one that this console knew before the recovery."
            }
            Self::LastMomentsLost => {
                "The console was not shut down cleanly and its NATS server lost the last messages; the console has published those that it knew again."
            }
            Self::UnreadableMessage => {
                "Somebody sent a message with a subject or headers that NATS clients cannot read. The console read it another way and handled it, but reads more slowly meanwhile."
            }
            Self::ConsoleRunsTwice => {
                "Two consoles run with the same keys, because a data folder was copied or restored elsewhere. Both write the same audit log on the bus, which then matches neither."
            }
            Self::StreamFull => {
                "A stream of the bus is full or nearly full. Once it is full, the stream rejects new messages, so agents cannot send requests."
            }
            Self::BusMoved => {
                "This port was in use when the console's own server started, so the server uses another one. Agents enrolled before still connect to this port, and the program there sees what they send."
            }
            Self::FeedFailing => {
                "The receiver of this feed is away, refuses events, or wants no more of them."
            }
            Self::GateOpen => {
                "The gate in front of this agent's program lets calls run that nobody approved: a probe was not denied, or a call ran without a request."
            }
            Self::AgentFloods => {
                "One agent sent most of the unread messages; requests that others sent after it are seen late, or too late."
            }
        }
    }

    /// What to do next, one sentence.
    #[must_use]
    pub fn next(self) -> &'static str {
        match self {
            Self::Executed(_) => {
                "Stop the agent (`countersign stop WS/AGENT`), find out what it did, and do not trust it before its gate is fixed."
            }
            Self::Stalled(Stall::NotOnBus) => {
                "Check that the bus can be reached and has room (`countersign doctor`); the decision is sent automatically until its deadline."
            }
            Self::Stalled(Stall::NotReceived) => {
                "Look at the agent's log: it may hang, or not be allowed to read `decided`."
            }
            Self::Stalled(Stall::NotExecuted) => {
                "Ask whoever runs the agent whether the call ran; the alarm ends with its receipt."
            }
            Self::VoidDecision => {
                "Look at it with `countersign show ID` and find out who can write there (`countersign doctor`)."
            }
            Self::VoidVote => {
                "Ask the operator who voted, and find out who can write there (`countersign doctor`)."
            }
            Self::ReadOnly => {
                "Run `countersign doctor`; if the bus lost its streams, `countersign bus recover` brings the decisions back."
            }
            Self::StoreFailed => {
                "Free space, or make the data folder writable, and the console continues automatically. A damaged file needs `countersign restore`; after a disk error, restart the console."
            }
            Self::StoreLocked => {
                "Close the program that has `countersign.db` open, such as a database browser or a copy of the folder (`fuser countersign.db` names it). Writing resumes when the lock is released."
            }
            Self::ControlUnverified => {
                "Find out who wrote it, then set it again (`countersign panic`, `pause` or `resume`)."
            }
            Self::RulesUnusable => {
                "Find out who wrote them, then put yours in their place (`countersign rules apply FILE`)."
            }
            Self::SetupUnusable => {
                "Find out who wrote it, then set the keys again (`countersign setup set`)."
            }
            Self::LogDiffers => {
                "Look at both with `countersign bus recover`, and find out who can change the streams."
            }
            Self::LogHidden => {
                "Find out who made the stream, and delete it with the server's tools."
            }
            Self::LogJunk => {
                "Find out who has a console's login and writes to CS_DECISIONS (`countersign doctor`)."
            }
            Self::RecoverySet | Self::RecoveryUsed => {
                "Ask the administrators whether they did it (`countersign operators log`)."
            }
            Self::OperatorWaits => {
                "Ask the person for the key, then `countersign operators accept KEY` or `retire KEY`."
            }
            Self::OperatorJoined => {
                "Look who it is (`countersign operators list`); if nobody expects them, end it with `countersign operators retire KEY`."
            }
            Self::RecoverConflict => {
                "Compare both (`countersign show ID`); agents use the one on the bus."
            }
            Self::LastMomentsLost => {
                "If the machine did not lose its power, find out who put an older copy of the folder `nats` in place; an agent whose last request is missing in the inbox must ask again."
            }
            Self::UnreadableMessage => {
                "No SDK sends such messages: find out what runs there; `countersign revoke WS/AGENT` revokes its login."
            }
            Self::ConsoleRunsTwice => {
                "Find both (`countersign status --json` names the operator under `consoles`) and stop the copy; a second machine needs a data folder of its own. If nobody knows of a copy, the keys were taken: `countersign operators rotate` or `retire`."
            }
            Self::StreamFull => {
                "Run `countersign doctor`; for CS_REQUESTS set a larger `requests_max_mib` in config.toml and start the console again, for any other ask whoever runs nats-server to raise its `max_bytes`."
            }
            Self::BusMoved => {
                "`countersign doctor` names these agents; end the program that holds the port and start the console again, or enroll them again (`countersign enroll`)."
            }
            Self::FeedFailing => {
                "`countersign feeds list` says why and `countersign feeds test NAME` tries it; `feeds failed NAME` lists what was refused, `feeds replay` sends it again, `feeds enable` a feed that was disabled."
            }
            Self::GateOpen => {
                "`countersign agents` and Agents in the window say why; once it is closed, `countersign doctor --gate NAME` with the program's name ends this alarm."
            }
            Self::AgentFloods => {
                "Find out what runs there; `countersign revoke --purge WS/AGENT` stops it, revokes its login and removes from the bus what it sent."
            }
        }
    }

    /// Whether it reports a lasting state: it ends when the state does, and not before.
    #[must_use]
    pub fn lasts(self) -> bool {
        matches!(self, Self::ReadOnly | Self::StoreFailed | Self::StoreLocked)
    }
}

/// What happened, and what to do next, for the word of an alarm and the thing that it is about: commands
/// name the request and its agent where it is about one.
#[must_use]
pub fn words(word: &str, subject: &str) -> (&'static str, String) {
    let (happened, next) =
        AlarmCode::from_word(word).map_or(UNKNOWN, |code| (code.happened(), code.next()));
    if code_of_agent(word, subject) {
        return (
            MORE,
            format!("Acknowledge what you have looked at. {next}").replace("WS/AGENT", subject),
        );
    }
    let next = match (subject.parse::<RequestKey>(), subject.parse::<AgentKey>()) {
        (Ok(key), _) => next
            .replace("WS/AGENT", &key.agent_key().to_string())
            .replace("show ID", &format!("show {key}")),
        (_, Ok(agent)) => next.replace("WS/AGENT", &agent.to_string()),
        _ => next.to_owned(),
    };
    (happened, next)
}

/// Whether an alarm about single requests summarises several of them.
fn code_of_agent(word: &str, subject: &str) -> bool {
    let of_requests = matches!(
        AlarmCode::from_word(word),
        Some(AlarmCode::Executed(_) | AlarmCode::Stalled(_))
    );
    of_requests && subject.parse::<AgentKey>().is_ok()
}

/// Both in one text.
#[must_use]
pub fn sentence(word: &str, subject: &str) -> String {
    let (happened, next) = words(word, subject);
    format!("{happened} {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alarm_says_what_happened_and_what_to_do() {
        for code in AlarmCode::all() {
            assert_eq!(AlarmCode::from_word(code.as_str()), Some(code));
            for words in [code.happened(), code.next()] {
                assert!(
                    words.len() > 20 && words.ends_with('.'),
                    "{code:?}: {words}"
                );
            }
            let reported = words(code.as_str(), "CS_REQUESTS");
            assert_eq!(reported, (code.happened(), code.next().to_owned()));
        }
        assert_eq!(words("of_tomorrow", "").0, UNKNOWN.0);
    }

    #[test]
    fn commands_name_the_request_and_the_agent_that_the_alarm_is_about() {
        for (code, command) in [
            ("executed_without_approval", "`countersign stop acme/bot`"),
            ("void_decision", "`countersign show acme/bot/r1`"),
        ] {
            let (_, next) = words(code, "acme/bot/r1");
            assert!(next.contains(command), "{code}: {next}");
            let (_, next) = words(code, "acme/bot/r1` rm");
            assert!(!next.contains("acme"), "{code}: {next}");
        }
        let (_, next) = words("unreadable_message", "acme/bot");
        assert!(next.contains("`countersign revoke acme/bot`"), "{next}");
        let (happened, next) = words("executed_without_approval", "acme/bot");
        assert!(
            happened.contains("keeps happening") && next.contains("`countersign stop acme/bot`")
        );
    }
}
