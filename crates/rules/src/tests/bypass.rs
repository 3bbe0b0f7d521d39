//! What a bypass lets run, and what it never does.

use super::*;

fn by_bypass(policy: &PolicySet, asked: &Asked<'_>, change: impl Fn(&mut Setting<'_>)) -> String {
    let found = judge_in(policy, asked, |setting| {
        let since = noon().plus_ms(-60_000);
        let up_to = Risk::Medium;
        setting.bypass = Some(InBypass { up_to, since });
        change(setting);
    });
    word(policy, &found)
}

#[test]
fn a_bypass_counts_beneath_every_rule_and_reaches_its_risk() {
    let args = json!({"amount": 10});
    let none = set(Vec::new());
    for (risk, says) in [
        (Risk::Safe, "approve by bypass"),
        (Risk::Medium, "approve by bypass"),
        (Risk::High, "ask"),
        (Risk::Critical, "ask"),
    ] {
        let asked = Asked { risk, ..pay(&args) };
        assert_eq!(by_bypass(&none, &asked, |_| {}), says, "{risk:?}");
        assert_eq!(word(&none, &judge(&none, &asked)), "ask", "without one");
    }
    for (effect, says) in [
        ("deny", "deny r"),
        ("ask", "ask r 1"),
        ("approve", "approve r"),
    ] {
        let policy = set(vec![rule("r", effect, json!({}))]);
        assert_eq!(by_bypass(&policy, &pay(&args), |_| {}), says);
    }
}

#[test]
fn a_bypass_covers_no_more_than_a_rule_could() {
    let (args, hidden) = (json!({"amount": 10}), json!({"to": "\u{202e}"}));
    let none = set(Vec::new());
    let tools = ["refund".to_owned()];
    let plain = pay(&args);
    for (what, asked) in [
        (
            "critical, though the bypass says so",
            Asked {
                risk: Risk::Critical,
                ..plain
            },
        ),
        ("hidden characters", pay(&hidden)),
        (
            "several operators",
            Asked {
                approvals_required: 2,
                ..plain
            },
        ),
        (
            "no approve taken",
            Asked {
                takes_approval: false,
                ..plain
            },
        ),
        (
            "a question",
            Asked {
                kind: RequestKind::Question,
                ..plain
            },
        ),
        (
            "outside the skill",
            Asked {
                skill_tools: Some(&tools),
                ..plain
            },
        ),
        (
            "a tool that changed since",
            Asked {
                tool_changed_at: Some(noon()),
                ..plain
            },
        ),
    ] {
        let up_to = |setting: &mut Setting<'_>| {
            if let Some(bypass) = &mut setting.bypass {
                bypass.up_to = Risk::Critical;
            }
        };
        assert_eq!(by_bypass(&none, &asked, up_to), "ask", "{what}");
    }
    for off in [
        AutomaticOff::Panic,
        AutomaticOff::Paused,
        AutomaticOff::Stopped,
        AutomaticOff::PolicyUnknown,
    ] {
        let held = |setting: &mut Setting<'_>| setting.approves_off = Some(off);
        assert_eq!(by_bypass(&none, &plain, held), "ask", "{off}");
    }
    let limited = |setting: &mut Setting<'_>| setting.author_may = false;
    assert_eq!(
        by_bypass(&none, &plain, limited),
        "approve by bypass",
        "whose limits bind the rules does not bind another's bypass"
    );
}
