//! What follows from a verification, as findings.

use warpsmith_core::{Family, Finding, Severity};

use super::comparison::OutputComparison;
use super::verdict::{Check, Verdict, Verification};

/// What each code about a user's own kernel means.
pub static FAMILY: Family = Family::new(include_str!("../stories/C.md"));

/// Checks that are told in full for each kind of finding; the rest is a count.
const TOLD: usize = 3;

/// Code, what is wrong, what to do about it, and which verdicts belong to it.
type Kind = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Verdict) -> bool,
);

/// One finding for each kind of thing that is wrong.
pub fn judge(name: &str, verification: &Verification) -> Vec<Finding> {
    let mut findings = Vec::new();
    let kinds: &[Kind] = &[
        (
            "C006",
            "faults",
            "`compute-sanitizer` names the line",
            |verdict| {
                matches!(
                    verdict,
                    Verdict::Fault {
                        never_ended: false,
                        ..
                    }
                )
            },
        ),
        (
            "C007",
            "does not end",
            "look for a loop or a barrier that not every thread reaches",
            |verdict| {
                matches!(
                    verdict,
                    Verdict::Fault {
                        never_ended: true,
                        ..
                    }
                )
            },
        ),
        (
            "C003",
            "writes outside of an array",
            "guard every store by the array's length",
            |verdict| matches!(verdict, Verdict::OutOfBounds { .. }),
        ),
        (
            "C004",
            "changes an input",
            "declare the parameter `const`, or the argument `inout`",
            |verdict| matches!(verdict, Verdict::InputChanged { .. }),
        ),
        ("C001", "does not match its reference", "", |verdict| {
            matches!(verdict, Verdict::Wrong { .. })
        }),
        (
            "C002",
            "leaves part of an output as it was",
            "write every element, or declare the argument `inout`",
            |verdict| matches!(verdict, Verdict::StaleOutput { .. }),
        ),
        (
            "C008",
            "gives results that follow the order of threads",
            "use an atomic operation, or one thread per element; where threads of a block share memory, look for a \
             missing `__syncthreads()`, or `__syncwarp()` in code written before Volta",
            |verdict| matches!(verdict, Verdict::Race { .. }),
        ),
    ];
    for (code, what, hint, belongs) in kinds {
        let bad: Vec<&Check> = verification
            .checks
            .iter()
            .filter(|check| belongs(&check.verdict))
            .collect();
        if bad.is_empty() {
            continue;
        }
        let total = verification.checks.len();
        let message = format!("`{name}` {what} in {} of {total} checks", bad.len());
        let mut finding = Finding::new(*code, Severity::Error, message);
        // The same words at many sizes are read once.
        let mut told: Vec<(String, &Check, usize)> = Vec::new();
        for check in bad.iter().copied() {
            let words = check.verdict.words();
            match told.iter_mut().find(|(known, ..)| *known == words) {
                Some((.., count)) => *count += 1,
                None => told.push((words, check, 1)),
            }
        }
        for (words, check, count) in told.iter().take(TOLD) {
            let more = match count {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            finding = finding.because(format!("{}{more}", place(check)), words);
        }
        let rest: usize = told.iter().skip(TOLD).map(|(.., count)| count).sum();
        if rest > 0 {
            finding = finding.because("more", format!("{rest} checks"));
        }
        let hint = match *code {
            "C001" => wrong_hint(&bad),
            _ => (*hint).to_owned(),
        };
        if !hint.is_empty() {
            finding = finding.hint(hint);
        }
        findings.push(finding);
    }
    findings.extend(imprecise(name, verification));
    let varying = verification
        .checks
        .iter()
        .filter(|check| matches!(check.verdict, Verdict::Right { varies: true, .. }));
    let varying: Vec<&Check> = varying.collect();
    if let Some(first) = varying.first() {
        findings.push(
            Finding::new(
                "C005",
                Severity::Info,
                format!("`{name}` is right, and not the same bits in every run"),
            )
            .because(
                place(first),
                format!("one of {} checks where two runs differ", varying.len()),
            ),
        );
    }
    if !verification.compared {
        findings.push(
            Finding::new(
                "C010",
                Severity::Warning,
                format!("`{name}` has no reference: its results were not compared"),
            )
            .hint("add `reference = \"file.py:function\"` to the case"),
        );
    }
    findings
}

fn place(check: &Check) -> String {
    let special = if check.special {
        ", special values"
    } else {
        ""
    };
    match check.size.is_empty() {
        true => format!("seed {}{special}", check.seed),
        false => format!("{} (seed {}{special})", check.size, check.seed),
    }
}

impl Verdict {
    /// In a line.
    pub fn words(&self) -> String {
        match self {
            Verdict::Right { .. } => "right".into(),
            Verdict::Wrong { outputs, axes, .. } => {
                let wrong = outputs
                    .iter()
                    .zip(axes)
                    .filter(|(output, _)| output.wrong > 0);
                wrong
                    .map(|(output, axes)| output.words(axes))
                    .collect::<Vec<_>>()
                    .join("; ")
            }
            Verdict::StaleOutput { argument, elements } => {
                format!("{elements} elements of `{argument}` follow what was there before the run")
            }
            Verdict::OutOfBounds {
                argument,
                offset,
                bytes,
            } => match offset {
                0.. => format!(
                    "{bytes} bytes behind `{argument}` changed, the first {offset} bytes past its end"
                ),
                _ => format!(
                    "{bytes} bytes before `{argument}` changed, {} bytes before its start",
                    -offset
                ),
            },
            Verdict::InputChanged { argument, element } => {
                format!("`{argument}` was changed, first at element {element}")
            }
            Verdict::Race { reason } | Verdict::Fault { reason, .. } => reason.clone(),
        }
    }
}

fn wrong_hint(bad: &[&Check]) -> String {
    let mut outputs = Vec::new();
    let mut two_runs_differ = false;
    for check in bad {
        if let Verdict::Wrong {
            outputs: of_check,
            varies,
            ..
        } = &check.verdict
        {
            outputs.extend(of_check.iter().filter(|output| output.wrong > 0));
            two_runs_differ |= varies;
        }
    }
    let added =
        |output: &&&OutputComparison| output.follow_what_was_there > 0 && output.never_written == 0;
    if let Some(output) = outputs.iter().find(added) {
        return format!(
            "`{}` follows what was there before the run: where the kernel adds to it, declare \
             `direction = \"inout\"` and `fill = \"zeros\"`",
            output.name
        );
    }
    // The two runs differ by their poison then, which says nothing about a race.
    if outputs
        .iter()
        .any(|output| output.never_written == output.wrong)
    {
        return "some elements are never written: look at the grid and at the tail".into();
    }
    match two_runs_differ {
        true => "two runs differ: a race, or memory that was never written; try `compute-sanitizer --tool racecheck`".into(),
        false => String::new(),
    }
}

/// Right within the tolerance, but far less precise than a plain run in the same type.
fn imprecise(name: &str, verification: &Verification) -> Option<Finding> {
    let mut worst: Option<(f64, &Check)> = None;
    for check in &verification.checks {
        let Verdict::Right { outputs, .. } = &check.verdict else {
            continue;
        };
        for output in outputs {
            if let Some(ratio) = output.error_over_plain
                && output.compared >= 64
                && ratio > 300.0
                && worst.is_none_or(|(most, _)| ratio > most)
            {
                worst = Some((ratio, check));
            }
        }
    }
    let (ratio, check) = worst?;
    Some(
        Finding::new(
            "C009",
            Severity::Warning,
            format!("`{name}` is {ratio:.0} times less precise than the same formula in its own type"),
        )
        .because(place(check), "root mean square error against float64")
        .hint("narrower arithmetic (half, TF32) or an approximation inside; state a tolerance if that is meant"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_fault_at_many_sizes_is_told_once() {
        let check = |size: &str| Check {
            size: size.into(),
            dimensions: crate::expression::Scope::new(),
            seed: 1,
            round: 0,
            special: false,
            verdict: Verdict::Fault {
                reason: "kernel `k` failed an assertion".into(),
                never_ended: false,
            },
        };
        let verification = Verification {
            checks: ["n=1", "n=2", "n=3"].map(check).into(),
            compared: true,
            ..Verification::default()
        };
        let text = judge("k", &verification)[0].to_string();
        assert_eq!(text.matches("failed an assertion").count(), 1, "{text}");
        assert!(text.contains("n=1 (seed 1) and 2 more"), "{text}");
    }
}
