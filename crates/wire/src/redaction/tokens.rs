//! Tokens by what they begin with, as their issuers document them.
//!
//! The list of issuers was compared with the rules of gitleaks. Those are for files and want a token whole;
//! here a token that was cut or has another length is hidden too.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;

/// Beginnings, and what follows them.
const TOKENS: &[(&str, &str)] = &[
    // Seeds of nkeys.
    ("SA SC SN SO SU SX", r"[A-Z2-7]{56}"),
    // JSON Web Tokens, and whatever else is base64 of `{"`: service accounts of 1Password, Grafana, Sentry.
    ("eyJ", r"[A-Za-z0-9_\-]{9,}(?:\.[A-Za-z0-9_\-=]*)*"),
    // Clouds: Amazon, Alibaba, Google, DigitalOcean, Databricks, Heroku, Cloudflare, Fly, Netlify, Tailscale.
    ("AKIA ASIA ABIA ACCA", r"[A-Z0-9]{12,}"),
    ("ABSK bedrock-api-key-", r"[A-Za-z0-9+/]{40,}=*"),
    ("LTAI", r"[A-Za-z0-9]{12,30}"),
    ("AIza GOCSPX-", r"[A-Za-z0-9_\-]{12,}"),
    ("ya29.", r"[A-Za-z0-9_\-.]{12,}"),
    ("1//0", r"[A-Za-z0-9_\-]{30,}"),
    ("doo_v1_ dop_v1_ dor_v1_", r"[A-Za-z0-9]{12,}"),
    ("dapi dkea dose", r"[a-f0-9]{32}(?:-[0-9])?"),
    ("HRKU-", r"[A-Za-z0-9_\-]{30,}"),
    ("v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("fo1_ fm1r_ fm1a_ fm2_", r"[A-Za-z0-9_\-+/]{40,}=*"),
    ("nfp_ tskey-", r"[A-Za-z0-9_\-]{20,}"),
    // Databases: Supabase, PlanetScale, Pinecone, Airtable.
    ("sbp_ sb_secret_", r"[A-Za-z0-9_\-]{20,}"),
    ("pscale_tkn_ pscale_oauth_ pscale_pw_", r"[A-Za-z0-9_\-=.]{20,}"),
    ("pcsk_", r"[A-Za-z0-9_]{20,}"),
    ("pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    // Vault, Terraform, Doppler, Pulumi, 1Password, age.
    ("hvs. hvb. hvr.", r"[A-Za-z0-9_\-]{20,}"),
    ("s. b. r.", r"[A-Za-z0-9]{24}(?-u:\b)"),
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_\-.]{30,}"),
    ("pul-", r"[a-f0-9]{40}"),
    ("A3-", r"[A-Z0-9]{6}-[A-Z0-9\-]{20,}"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    // Code and packages: GitHub, GitLab, Bitbucket and Jira, npm, PyPI, RubyGems, Clojars, Docker, Artifactory.
    ("ghp_ gho_ ghr_ ghs_ ghu_ github_pat_", r"[A-Za-z0-9_]{12,}"),
    (
        "glpat- gldt- glrt- glptt- glsoat- glcbt- glffct- glft- glimt- glagent- gloas- GR1348941",
        r"[A-Za-z0-9_\-.]{12,}",
    ),
    ("ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_\-=]{20,}"),
    ("npm_", r"[A-Za-z0-9]{12,}"),
    ("pypi-", r"[A-Za-z0-9_\-]{12,}"),
    ("rubygems_", r"[a-f0-9]{32,}"),
    ("CLOJARS_", r"[A-Za-z0-9]{40,}"),
    ("dckr_pat_ dckr_oat_", r"[A-Za-z0-9_\-]{12,}"),
    ("AKCp cmVmd", r"[A-Za-z0-9]{50,}"),
    // Building and watching: CircleCI, Buildkite, Octopus, Sentry, Grafana, New Relic, Dynatrace, Sourcegraph, OpenShift.
    ("CCIPAT_ CCIPRJ_ bkua_", r"[A-Za-z0-9_]{20,}"),
    ("API-", r"[A-Z0-9]{26,}"),
    ("sntrys_ sntryu_ glsa_ glc_", r"[A-Za-z0-9_+/=]{20,}"),
    ("NRAK- NRII-", r"[A-Za-z0-9_\-]{20,}"),
    ("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{20,}"),
    ("sgp_", r"[A-Za-z0-9_]{40,}"),
    ("sha256~", r"[A-Za-z0-9_\-]{40,}"),
    // Models: OpenAI, Anthropic, Hugging Face, Groq, xAI, Perplexity, Replicate, LangSmith, NVIDIA, Tavily.
    ("sk-", r"[A-Za-z0-9_\-]{12,}"),
    ("hf_ api_org_", r"[A-Za-z0-9]{12,}"),
    ("gsk_ xai- pplx-", r"[A-Za-z0-9]{20,}"),
    ("r8_ nvapi- tvly- lsv2_pt_ lsv2_sk_", r"[A-Za-z0-9_\-]{20,}"),
    // Work: Slack, Linear, Notion, Figma, Postman, Contentful, ReadMe.
    ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9\-]{10,}"),
    ("lin_api_ lin_oauth_", r"[A-Za-z0-9]{12,}"),
    ("ntn_ secret_", r"[A-Za-z0-9]{40,}"),
    ("figd_ CFPAT-", r"[A-Za-z0-9_\-]{20,}"),
    ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{20,}"),
    ("rdme_", r"[a-z0-9]{50,}"),
    // Money and shops: Stripe, Square, Shopify, EasyPost, Shippo, Duffel, Flutterwave.
    ("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ pk_test_", r"[A-Za-z0-9]{8,}"),
    ("whsec_", r"[A-Za-z0-9+/=]{20,}"),
    ("sq0atp- sq0csp-", r"[A-Za-z0-9_\-]{20,}"),
    ("shpat_ shpca_ shppa_ shpss_", r"[A-Za-z0-9]{12,}"),
    ("EZAK EZTK", r"[A-Za-z0-9]{50,}"),
    ("shippo_live_ shippo_test_ duffel_live_ duffel_test_", r"[A-Za-z0-9_\-=]{20,}"),
    ("FLWSECK-  FLWSECK_TEST-", r"[A-Za-z0-9\-]{12,}"),
    // Mail and messages: SendGrid, Brevo, MailerSend, Resend, Twilio, Facebook.
    ("SG.", r"[A-Za-z0-9_\-.]{12,}"),
    ("xkeysib- xsmtpsib-", r"[a-f0-9]{40,}(?:-[A-Za-z0-9]+)?"),
    ("mlsn.", r"[a-f0-9]{40,}"),
    ("re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("SK", r"[a-f0-9]{32}(?-u:\b)"),
    ("EAAC EAAM", r"[A-Za-z0-9]{80,}"),
];

struct Tokens {
    beginnings: AhoCorasick,
    /// What follows a beginning, by its number.
    rests: Vec<usize>,
    patterns: Vec<Regex>,
}

// The patterns are constants; a test compiles every one.
static SHAPES: LazyLock<Option<Tokens>> = LazyLock::new(|| {
    let (mut beginnings, mut rests, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
    for (words, rest) in TOKENS {
        for word in words.split_whitespace() {
            beginnings.push(word);
            rests.push(patterns.len());
        }
        patterns.push(Regex::new(&format!("^{rest}")).ok()?);
    }
    let beginnings = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(beginnings)
        .ok()?;
    Some(Tokens {
        beginnings,
        rests,
        patterns,
    })
});

/// Where tokens stand in a text.
pub(super) fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let Some(shapes) = &*SHAPES else {
        return found;
    };
    let mut passed = 0;
    for hit in shapes.beginnings.find_iter(text) {
        if hit.start() < passed || !begins_here(text, hit.start()) {
            continue;
        }
        let pattern = &shapes.patterns[shapes.rests[hit.pattern().as_usize()]];
        if let Some(rest) = pattern.find(&text[hit.end()..]) {
            passed = hit.end() + rest.end();
            if is_random(rest.as_str()) {
                found.push(hit.start()..passed);
            }
        }
    }
    found
}

/// Whether a token may begin here: after no letter or digit of a longer word, but after the letter of an
/// escape such as `\n`.
pub(super) fn begins_here(text: &str, at: usize) -> bool {
    match text.as_bytes()[..at] {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// Whether this is no name of several plain words, such as `sk-folding-cube`.
fn is_random(rest: &str) -> bool {
    rest.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase())
        || rest.split(['-', '_', '.']).any(|run| run.len() >= 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_looked_for() {
        assert!(SHAPES.is_some());
    }
}
