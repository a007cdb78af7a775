//! What to do next: candidates from findings, techniques and unanswered questions, ranked.
//!
//! An action has a gain, a cost and one command, or it is not listed.

use std::collections::BTreeSet;

use warpsmith_core::{Finding, Severity};

use crate::chapters::gains::{impact_is_harmful, speed_up, wrong_defaults};
use crate::digits;
use crate::document::{Action, ActionClass, Chapter, Fitness, State};
use crate::facts::{Default, Facts, TechniqueFacts};
use crate::judge::trust::trusted;
use crate::judge::verdict::capitalised;

/// What fits on the first screen.
const MOST: usize = 7;
/// Warnings of the project that are actions of their own; its chapter has all.
const OF_PROJECT: usize = 3;
/// Smaller gains are not worth a line.
const LEAST_GAIN: f64 = 1.05;

/// The ranked actions, and how many more there are.
pub fn rank(facts: &Facts, fitness: &Fitness, chapters: &[Chapter]) -> (Vec<Action>, usize) {
    let mut actions = Vec::new();
    actions.extend(quiet(fitness));
    actions.extend(pinned(facts));
    actions.extend(
        wrong_defaults(&facts.matrix)
            .into_iter()
            .filter_map(technique),
    );
    for chapter in chapters {
        actions.extend(of_findings(chapter));
    }
    actions.extend(unanswered(facts, chapters));
    actions.sort_by(|a, b| a.class.cmp(&b.class).then(b.value.total_cmp(&a.value)));
    let more = actions.len().saturating_sub(MOST);
    actions.truncate(MOST);
    (actions, more)
}

fn quiet(fitness: &Fitness) -> Option<Action> {
    let cause = fitness.unfit.first()?;
    let hypervisor = cause.contains("hypervisor");
    Some(Action {
        class: ActionClass::Correctness,
        value: 2.0,
        what: match hypervisor {
            true => "Measure again when the host is quieter".to_owned(),
            false => "Stop the other programs, then measure again".to_owned(),
        },
        why: cause.clone(),
        command: "warpsmith report".to_owned(),
        gain: "figures".to_owned(),
        gain_note: "that can be compared".to_owned(),
        cost: "minutes".to_owned(),
        chapter: "rest".to_owned(),
    })
}

/// Copies from pinned memory, where pageable ones are slower.
fn pinned(facts: &Facts) -> Option<Action> {
    let (pinned, pageable) = (
        facts.numbers.pinned.as_ref()?,
        facts.numbers.pageable.as_ref()?,
    );
    let figures = (
        trusted(&pinned.measurement).ok()?,
        trusted(&pageable.measurement).ok()?,
    );
    let rate = |amount: f64, seconds: f64| amount / seconds;
    let fast = rate(pinned.amount, figures.0.interval.median);
    let slow = rate(pageable.amount, figures.1.interval.median);
    let low = rate(pinned.amount, figures.0.interval.high)
        / rate(pageable.amount, figures.1.interval.low);
    if low < LEAST_GAIN {
        return None;
    }
    let shown = |rate: f64| digits::quantity(rate, digits::Quantity::BytesPerSecond, None);
    Some(Action {
        class: ActionClass::Speed,
        value: low.log2(),
        what: "Copy from pinned host memory".to_owned(),
        why: format!(
            "copies of {} from pageable memory are slower",
            pageable.size
        ),
        command: "warpsmith ablate machine/launch --set bytes=67108864".to_owned(),
        gain: digits::ratio(fast / slow),
        gain_note: format!("{} → {}", shown(slow), shown(fast)),
        cost: "low effort and risk".to_owned(),
        chapter: "machine".to_owned(),
    })
}

fn effort(word: &str) -> f64 {
    match word {
        "low" => 1.0,
        "medium" => 2.0,
        _ => 4.0,
    }
}

fn technique(row: &TechniqueFacts) -> Option<Action> {
    let (ratio, low, high) = speed_up(row);
    let harmful = impact_is_harmful(row);
    // What is on and harmful gains by being turned off.
    let (gain, least) = match harmful {
        true => (1.0 / ratio, 1.0 / high),
        false => (ratio, low),
    };
    if least < LEAST_GAIN {
        return None;
    }
    let (parameter, on) = &row.setting;
    let bits = match row.alone.output_difference {
        Some(0.0) => ", same bits",
        _ => "",
    };
    let interval = match harmful {
        true => digits::ratio_interval(gain, 1.0 / high, 1.0 / low),
        false => digits::ratio_interval(gain, low, high),
    };
    let direction = if harmful { "off" } else { "on" };
    let default = match &row.default {
        Default::On => "on",
        Default::Off => "off",
        Default::Other(value) => value.as_str(),
    };
    Some(Action {
        class: ActionClass::Speed,
        value: least.log2() / effort(&row.effort),
        what: format!("Turn {} {direction} in {}", row.technique, row.workload),
        why: format!("its default is {default}"),
        command: match harmful {
            true => format!("warpsmith ablate {}", row.workload),
            false => format!("warpsmith bench {} --set {parameter}={on}", row.workload),
        },
        gain: digits::ratio(gain),
        gain_note: format!("{interval}{bits}"),
        cost: match row.effort == row.risk {
            true => format!("{} effort and risk", row.effort),
            false => format!("{} effort, {} risk", row.effort, row.risk),
        },
        chapter: "fast".to_owned(),
    })
}

/// The first command in a hint, which stands in backticks.
fn command_in(hint: &str) -> Option<String> {
    let command = hint.split('`').nth(1)?;
    let typed = command.contains(' ') && !command.contains('\n');
    typed.then(|| command.to_owned())
}

fn of_findings(chapter: &Chapter) -> Vec<Action> {
    let mut actions = Vec::new();
    if chapter.id == "ship" {
        actions.extend(audit_errors(chapter));
    }
    let mut seen = BTreeSet::new();
    // The project's warnings must not crowd out everything else.
    let most = if chapter.id == "ship" {
        OF_PROJECT
    } else {
        usize::MAX
    };
    for finding in &chapter.findings {
        if seen.len() >= most {
            break;
        }
        let is_error = finding.severity == Severity::Error;
        if finding.severity < Severity::Warning
            || (chapter.id == "ship" && is_error)
            // The machine being busy is one action of its own; no GPU is not a fault.
            || ["B040", "B043", "B002"].contains(&finding.code.as_str())
            || !seen.insert(finding.code.as_str())
        {
            continue;
        }
        let places = chapter
            .findings
            .iter()
            .filter(|other| other.code == finding.code)
            .count();
        actions.push(of_finding(finding, places, &chapter.id));
    }
    actions
}

fn of_finding(finding: &Finding, places: usize, chapter: &str) -> Action {
    let hint = finding.hint.as_deref().unwrap_or_default();
    // Some messages count their places themselves.
    let what = match places {
        _ if finding.message.contains(" more place") => capitalised(&finding.message),
        1 => capitalised(&finding.message),
        places => format!("{} ({places} places)", capitalised(&finding.message)),
    };
    let wrong = finding.severity == Severity::Error && chapter != "ship";
    Action {
        class: match wrong {
            true => ActionClass::Correctness,
            false => ActionClass::Upkeep,
        },
        value: places as f64,
        what,
        why: first_sentence(hint).to_owned(),
        command: command_in(hint).unwrap_or_else(|| format!("warpsmith explain {}", finding.code)),
        gain: match wrong {
            true => "right results".to_owned(),
            false => match chapter {
                "ship" => "ready to ship".to_owned(),
                _ => "a healthy machine".to_owned(),
            },
        },
        gain_note: finding.code.clone(),
        cost: "minutes".to_owned(),
        chapter: chapter.to_owned(),
    }
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

fn audit_errors(chapter: &Chapter) -> Option<Action> {
    let errors: Vec<&Finding> = chapter
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    let first = errors.first()?;
    let count = errors.len();
    Some(Action {
        class: ActionClass::Project,
        value: count as f64,
        what: match count {
            1 => "Fix 1 error before shipping".to_owned(),
            count => format!("Fix {count} errors before shipping"),
        },
        why: match count {
            1 => first.message.clone(),
            count => format!("{}, and {} more", first.message, count - 1),
        },
        command: "warpsmith audit .".to_owned(),
        gain: "can ship".to_owned(),
        gain_note: match count {
            1 => "1 error gone".to_owned(),
            count => format!("{count} errors gone"),
        },
        cost: "an hour, low risk".to_owned(),
        chapter: "ship".to_owned(),
    })
}

fn unanswered(facts: &Facts, chapters: &[Chapter]) -> Vec<Action> {
    let mut actions = Vec::new();
    let upkeep = |value: f64, what: &str, why: &str, command: &str, gain: &str| Action {
        class: ActionClass::Upkeep,
        value,
        what: what.to_owned(),
        why: why.to_owned(),
        command: command.to_owned(),
        gain: gain.to_owned(),
        gain_note: String::new(),
        cost: "5 minutes".to_owned(),
        chapter: "machine".to_owned(),
    };
    if facts.machine.gpus.is_empty() && !facts.machine.is_gpu() {
        actions.push(upkeep(
            0.5,
            "Make this report on a machine with a GPU",
            "roofline, crossover and parity are answered by half without one",
            "warpsmith report --full",
            "4 answers",
        ));
    }
    if facts.project.is_none()
        && chapters
            .iter()
            .any(|c| c.id == "ship" && c.light == State::NotMeasured)
    {
        actions.push(upkeep(
            0.4,
            "Make this report inside a project",
            "whether it is ready to ship was not judged",
            "warpsmith audit FOLDER",
            "1 answer",
        ));
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_gives_its_command() {
        let hint = "run `apt-get install nsight-systems`. It is small";
        assert_eq!(
            command_in(hint).as_deref(),
            Some("apt-get install nsight-systems")
        );
        assert_eq!(first_sentence(hint), "run `apt-get install nsight-systems`");
        assert_eq!(command_in("set `x`"), None);
        assert_eq!(command_in("nothing to type"), None);
    }

    #[test]
    fn findings_with_one_code_are_one_action() {
        let of = |code: &str| Finding::new(code, Severity::Warning, "odd").hint("look");
        let chapter = Chapter {
            id: "machine".into(),
            short: String::new(),
            title: String::new(),
            light: State::Look,
            note: String::new(),
            answers: std::default::Default::default(),
            blocks: Vec::new(),
            folds: Vec::new(),
            findings: vec![of("D001"), of("D001"), of("D002"), of("B040")],
        };
        let actions = of_findings(&chapter);
        let seen: Vec<(&str, f64)> = actions
            .iter()
            .map(|action| (action.gain_note.as_str(), action.value))
            .collect();
        assert_eq!(seen, [("D001", 2.0), ("D002", 1.0)]);
        assert_eq!(actions[0].command, "warpsmith explain D001");
    }
}
