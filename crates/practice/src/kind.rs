//! The kinds of changes.

/// What is wrong with a practice card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// A host that looks like the approved one.
    LookAlikeHost,
    /// Another account, with check digits that are right.
    OtherAccount,
    /// Ten times the amount.
    AmountTimes10,
    /// A path or pattern that contains the approved one.
    WiderPath,
    /// A check that was on.
    SafeguardOff,
    /// Production in the place of another environment.
    Production,
    /// One more recipient.
    ExtraRecipient,
    /// A line that destroys something.
    DestructiveLine,
    /// A download that is run.
    PipedDownload,
    /// A character that cannot be seen.
    HiddenCharacter,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::LookAlikeHost,
        Self::OtherAccount,
        Self::AmountTimes10,
        Self::WiderPath,
        Self::SafeguardOff,
        Self::Production,
        Self::ExtraRecipient,
        Self::DestructiveLine,
        Self::PipedDownload,
        Self::HiddenCharacter,
    ];

    /// The word in the store and in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LookAlikeHost => "look_alike_host",
            Self::OtherAccount => "other_account",
            Self::AmountTimes10 => "amount_times_10",
            Self::WiderPath => "wider_path",
            Self::SafeguardOff => "safeguard_off",
            Self::Production => "production",
            Self::ExtraRecipient => "extra_recipient",
            Self::DestructiveLine => "destructive_line",
            Self::PipedDownload => "piped_download",
            Self::HiddenCharacter => "hidden_character",
        }
    }

    /// Reads the word of the store.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// As a person reads it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::LookAlikeHost => "look-alike host",
            Self::OtherAccount => "other account",
            Self::AmountTimes10 => "amount × 10",
            Self::WiderPath => "wider path",
            Self::SafeguardOff => "safeguard off",
            Self::Production => "production",
            Self::ExtraRecipient => "extra recipient",
            Self::DestructiveLine => "destructive line",
            Self::PipedDownload => "piped download",
            Self::HiddenCharacter => "hidden character",
        }
    }
}
