//! One alarm with its words.

use countersign_core::domain::AlarmCode;
use countersign_core::domain::alarm::words;
use countersign_core::domain::facts::Alarm;
use countersign_core::ops::realm::Listed;
use countersign_view::{AlarmItem, AlarmSeen, JoinedView};
use countersign_wire::RequestKey;

use countersign_view::window::escape;
use countersign_view::window::key_tail;

/// As the list shows it; `operators` gives keys their names.
pub(crate) fn alarm_item(alarm: &Alarm, operators: &[Listed]) -> AlarmItem {
    let (happened, next) = words(&alarm.code, &alarm.subject);
    let seen = |(at_ms, key): (i64, &String)| AlarmSeen {
        at_ms,
        by: operators
            .iter()
            .find(|listed| listed.key == *key)
            .and_then(|listed| listed.name.as_deref().map(escape)),
        key_tail: key_tail(key),
    };
    AlarmItem {
        id: alarm.id,
        code: alarm.code.clone(),
        subject: escape(&alarm.subject),
        request: alarm
            .subject
            .parse::<RequestKey>()
            .ok()
            .map(|key| key.to_string()),
        at_ms: alarm.at,
        joined: joined(alarm, operators),
        happened: happened.to_owned(),
        next,
        lasts: AlarmCode::from_word(&alarm.code).is_some_and(AlarmCode::lasts),
        seen: alarm
            .acknowledged_at
            .zip(alarm.acknowledged_by.as_ref())
            .map(seen),
    }
}

/// Whoever joined last with the key that the alarm is about.
fn joined(alarm: &Alarm, operators: &[Listed]) -> Option<JoinedView> {
    let is_its = |line: &&Listed| {
        alarm.code == AlarmCode::OperatorJoined.as_str() && line.key == alarm.subject
    };
    let line = operators.iter().rfind(is_its)?;
    Some(JoinedView {
        name: escape(line.name.as_deref()?),
        from_ms: line.at?.0,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn alarm(code: &str, subject: &str) -> Alarm {
        Alarm {
            id: 3,
            code: code.to_owned(),
            subject: subject.to_owned(),
            at: 7,
            ..Alarm::default()
        }
    }

    #[test]
    fn an_alarm_leads_to_its_request_and_says_what_to_do() {
        let item = alarm_item(&alarm("void_decision", "acme/bot/r1"), &[]);
        assert_eq!(item.request.as_deref(), Some("acme/bot/r1"));
        assert!(item.happened.contains("does not verify") && item.next.contains("`countersign"));
        assert_eq!((item.lasts, item.seen), (false, None));
        for (code, subject, lasts) in [
            ("read_only", "CS_REQUESTS", true),
            ("store_failed", "countersign.db", true),
            ("setup_unusable", "setup.acme.bot", false),
            ("of_tomorrow", "acme/bot", false),
        ] {
            let item = alarm_item(&alarm(code, subject), &[]);
            assert_eq!((item.request, item.lasts), (None, lasts), "{code}");
        }
    }

    #[test]
    fn who_has_seen_it_is_told_by_key_where_no_list_has_the_name() {
        let mut seen = alarm("void_vote", "acme/bot/r1\u{202e}");
        seen.acknowledged_at = Some(9);
        seen.acknowledged_by = Some("UABCDEFGH7Q2F".to_owned());
        let item = alarm_item(&seen, &[]);
        let by = item.seen.unwrap();
        assert_eq!((by.at_ms, by.by, by.key_tail.as_str()), (9, None, "7Q2F"));
        assert!(item.subject.plain().contains("⟨U+202E⟩"));
        assert_eq!(item.request, None);
    }
}
