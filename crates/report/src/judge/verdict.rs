//! The verdict, from a fixed table: the first row that applies.

use warpsmith_core::{Finding, Severity};

use crate::document::{
    Chapter, Fitness, Headline, Reading, SectionRun, State, Status, Verdict, VerdictState,
};

/// The GPU vanished or hangs.
const LOST: [&str; 3] = ["B012", "B013", "B044"];
/// Results may be wrong: parity, memory errors, faults that the driver reported while we measured.
const WRONG: [&str; 3] = ["M050", "B008", "B020"];

/// What the verdict is made from.
pub struct Grounds<'a> {
    /// How quiet the machine was.
    pub fitness: &'a Fitness,
    /// The five numbers.
    pub numbers: &'a [Headline],
    /// The chapters, with their findings.
    pub chapters: &'a [Chapter],
    /// What ran.
    pub sections: &'a [SectionRun],
    /// Whether anything was measured on a GPU.
    pub on_gpu: bool,
}

/// Concludes.
pub fn judge(grounds: &Grounds<'_>) -> Verdict {
    let findings = || {
        grounds
            .chapters
            .iter()
            .flat_map(|chapter| &chapter.findings)
    };
    let of = |codes: &[&str]| findings().find(|finding| codes.contains(&finding.code.as_str()));
    if let Some(lost) = of(&LOST) {
        return verdict(VerdictState::Lost, lost.message.clone(), evidence(lost));
    }
    for run in grounds.sections {
        if let Status::Failed(why) = &run.status
            && is_lost(why)
        {
            let headline = format!("the GPU was lost in \u{201c}{}\u{201d}", run.title);
            return verdict(VerdictState::Lost, headline, sentence(why));
        }
    }
    let fit = "fit to measure";
    if let Some((first, rest)) = grounds.fitness.unfit.split_first() {
        let detail = match rest {
            [] => "Rates are for orientation only.".to_owned(),
            rest => sentence(&format!(
                "{}; rates are for orientation only",
                rest.join(", and ")
            )),
        };
        return verdict(VerdictState::Unfit, format!("not {fit}: {first}"), detail);
    }
    if let Some(wrong) = of(&WRONG) {
        let headline = format!("results may be wrong: {}", wrong.message);
        return verdict(VerdictState::Wrong, headline, evidence(wrong));
    }
    let facts = facts_of(grounds.numbers);
    let slow: Vec<&Headline> = grounds
        .numbers
        .iter()
        .filter(|number| number.state == State::Act)
        .collect();
    if let Some(number) = slow.first() {
        let headline = format!(
            "{fit}, but {} is at {}{}",
            in_a_sentence(&number.name),
            number.share.0,
            number.share.1
        );
        return verdict(VerdictState::Slow, headline, facts);
    }
    let judged = grounds
        .numbers
        .iter()
        .filter(|number| matches!(number.state, State::Good | State::Look))
        .filter(|number| !number.id.ends_with("-at-rest"))
        .count();
    // Load and power at rest say nothing about speed.
    let speed = match judged {
        0 => "",
        _ if grounds.on_gpu => " and at full speed",
        _ => " and as fast as its record",
    };
    let faults: Vec<&Finding> = grounds
        .chapters
        .iter()
        .filter(|chapter| ["machine", "rest"].contains(&chapter.id.as_str()))
        .flat_map(|chapter| &chapter.findings)
        .filter(|finding| finding.severity >= Severity::Warning)
        .collect();
    let mut codes: Vec<&str> = faults.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    match codes.len() {
        0 => verdict(VerdictState::Well, format!("{fit}{speed}"), facts),
        count => {
            let things = match count {
                1 => "one thing to look into".to_owned(),
                count => format!("{count} things to look into"),
            };
            let first = sentence(&faults[0].message);
            let detail = match facts.is_empty() {
                true => first,
                false => format!("{first} {facts}"),
            };
            verdict(
                VerdictState::Fault,
                format!("{fit}{speed}; {things}"),
                detail,
            )
        }
    }
}

fn verdict(state: VerdictState, headline: String, detail: String) -> Verdict {
    Verdict {
        state,
        headline: capitalised(&headline),
        detail,
    }
}

/// Whether a section failed because the GPU is gone.
fn is_lost(why: &str) -> bool {
    [
        "DEVICE_LOST",
        "DEVICE_UNAVAILABLE",
        "ECC_UNCORRECTABLE",
        "fell off the bus",
    ]
    .iter()
    .any(|mark| why.contains(mark))
}

fn facts_of(numbers: &[Headline]) -> String {
    let rates = [("memory-rate", "memory"), ("arithmetic-rate", "arithmetic")];
    let shares: Vec<String> = rates
        .iter()
        .filter_map(|(id, name)| {
            let number = numbers.iter().find(|number| number.id == *id)?;
            let known = matches!(number.reading, Reading::Number { .. });
            (known && !number.share.0.is_empty()).then(|| {
                format!(
                    "{name} reaches {}{}",
                    number.share.0,
                    unquoted(&number.share.1)
                )
            })
        })
        .collect();
    match shares.is_empty() {
        true => String::new(),
        false => sentence(&shares.join(" and ")),
    }
}

/// ` of the datasheet, 4.81 TB/s` without the number.
fn unquoted(words: &str) -> &str {
    words.split(',').next().unwrap_or(words)
}

/// With a small letter, where it does not begin with an acronym.
pub fn in_a_sentence(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// With a capital letter, where it does not begin with the name of a workload or a command.
pub fn capitalised(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    if first.contains(['/', '`', '_']) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// With a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let text = capitalised(text.trim());
    match text.ends_with(['.', '!', '?']) || text.is_empty() {
        true => text,
        false => format!("{text}."),
    }
}

fn evidence(finding: &Finding) -> String {
    let seen: Vec<String> = finding
        .evidence
        .iter()
        .take(3)
        .map(|evidence| format!("{}: {}", evidence.source, evidence.seen))
        .collect();
    sentence(&seen.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(state: State) -> Headline {
        Headline {
            id: "memory-rate".into(),
            name: "Memory rate".into(),
            reading: Reading::Number {
                value: 1.0,
                text: "1".into(),
                unit: "TB/s".into(),
            },
            state,
            bar: None,
            share: ("63 %".into(), " of the datasheet, 4.81 TB/s".into()),
            basis: String::new(),
        }
    }

    fn chapter(findings: Vec<Finding>) -> Chapter {
        Chapter {
            id: "rest".into(),
            short: String::new(),
            title: String::new(),
            light: State::Good,
            note: String::new(),
            answers: Default::default(),
            blocks: Vec::new(),
            folds: Vec::new(),
            findings,
        }
    }

    fn judged(fitness: &Fitness, state: State, findings: Vec<Finding>) -> Verdict {
        judge(&Grounds {
            fitness,
            numbers: &[number(state)],
            chapters: &[chapter(findings)],
            sections: &[],
            on_gpu: true,
        })
    }

    #[test]
    fn the_first_row_that_applies_decides() {
        let (fit, unfit) = (
            Fitness::default(),
            Fitness {
                unfit: vec!["the hypervisor took 30 % of the time".into()],
                ..Fitness::default()
            },
        );
        let lost = Finding::new("B012", Severity::Error, "GPU 0 was lost");
        let xid = Finding::new("B020", Severity::Error, "the driver reported Xid 31");
        let warning = Finding::new("B007", Severity::Warning, "the PCIe link is below its best");
        let all = vec![lost, xid.clone(), warning.clone()];
        assert_eq!(judged(&unfit, State::Act, all).state, VerdictState::Lost);
        let two = vec![xid, warning.clone()];
        let verdict = judged(&unfit, State::Act, two.clone());
        assert_eq!(verdict.state, VerdictState::Unfit);
        assert_eq!(
            verdict.headline,
            "Not fit to measure: the hypervisor took 30 % of the time"
        );
        assert_eq!(judged(&fit, State::Act, two).state, VerdictState::Wrong);
        let verdict = judged(&fit, State::Act, vec![warning.clone()]);
        assert_eq!(verdict.state, VerdictState::Slow);
        assert_eq!(
            verdict.headline,
            "Fit to measure, but memory rate is at 63 % of the datasheet, 4.81 TB/s"
        );
        let verdict = judged(&fit, State::Good, vec![warning]);
        assert_eq!(verdict.state, VerdictState::Fault);
        assert!(
            verdict
                .headline
                .ends_with("at full speed; one thing to look into")
        );
        let verdict = judged(&fit, State::Good, Vec::new());
        assert_eq!(verdict.state, VerdictState::Well);
        assert_eq!(verdict.detail, "Memory reaches 63 % of the datasheet.");
    }

    #[test]
    fn names_keep_their_letters() {
        assert_eq!(capitalised("md/lj has two modes"), "md/lj has two modes");
        assert_eq!(sentence("the disk is full"), "The disk is full.");
    }

    #[test]
    fn a_gpu_that_is_gone_half_way_is_lost() {
        let sections = [SectionRun {
            id: "latency".into(),
            title: "workloads".into(),
            status: Status::Failed("cannot launch: CUDA_ERROR_DEVICE_LOST".into()),
            seconds: 1.0,
            budget_seconds: 1.0,
        }];
        let verdict = judge(&Grounds {
            fitness: &Fitness::default(),
            numbers: &[],
            chapters: &[],
            sections: &sections,
            on_gpu: true,
        });
        assert_eq!(verdict.state, VerdictState::Lost);
    }
}
