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

countersign_wire::words!(ChangeKind {
    LookAlikeHost => "look_alike_host", OtherAccount => "other_account",
    AmountTimes10 => "amount_times_10", WiderPath => "wider_path", SafeguardOff => "safeguard_off",
    Production => "production", ExtraRecipient => "extra_recipient",
    DestructiveLine => "destructive_line", PipedDownload => "piped_download",
    HiddenCharacter => "hidden_character",
});

impl ChangeKind {
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
