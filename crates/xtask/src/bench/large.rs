//! The figures of a large store, and of spans that come fast.

use std::path::Path;
use std::process::Command;

use super::{BenchArgs, Figures, figures};

/// Fills a store and reads it, then sends spans; says what was left out.
pub(super) fn measure(
    target: &Path,
    data: &Path,
    args: &BenchArgs,
    product: &mut Figures,
) -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    let release = target.join("release");
    eprintln!("bench: a thousand rules");
    let mut rules = Command::new(release.join("countersign-seed"));
    product.extend(figures(rules.arg("rules"))?);
    eprintln!("bench: what is found in calls");
    let mut judgement = Command::new(release.join("countersign-seed"));
    product.extend(figures(judgement.arg("judgement"))?);
    if args.requests > 0 {
        eprintln!("bench: a store of {} requests", args.requests);
        std::fs::create_dir_all(data)?;
        let folder = tempfile::tempdir_in(data)?;
        let seed = |task: &str| {
            let mut command = Command::new(release.join("countersign-seed"));
            command.arg(task).arg("--data").arg(folder.path());
            command
        };
        let mut fill = seed("fill");
        fill.args(["--requests", &args.requests.to_string()]);
        product.extend(figures(&mut fill)?);
        let mut read = seed("measure");
        read.arg("--console").arg(release.join("countersign"));
        product.extend(figures(&mut read)?);
    } else {
        missing.push("no large store was measured: --requests is 0".to_owned());
    }
    if args.span_seconds > 0 {
        eprintln!("bench: spans over OTLP");
        std::fs::create_dir_all(data)?;
        let mut spans = Command::new(release.join("countersign-bench-spans"));
        spans.arg("--json").arg("--folder").arg(data);
        spans.args(["--seconds", &args.span_seconds.to_string()]);
        product.extend(figures(&mut spans)?);
    } else {
        missing.push("no spans were measured: --span-seconds is 0".to_owned());
    }
    Ok(missing)
}
