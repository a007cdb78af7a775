//! *Is this project ready to ship?*

use warpsmith_core::{Report, Severity};
use warpsmith_doctor::{AuditBody, Outcome};

use super::environment_blocks::version_matrix;
use super::findings_table::{groups, table};
use super::{counted, empty};
use crate::digits;
use crate::document::{Block, Cell, Chapter, Column, Fold, Row, State, Status, Table, Tag};
use crate::facts::Facts;
use crate::judge::verdict::in_a_sentence;

pub(super) fn chapter(facts: &Facts) -> Chapter {
    let mut chapter = empty("ship", "Ship", "Is this project ready to ship?");
    let Some(audit) = &facts.project else {
        let failed = facts.sections.iter().find_map(|run| match &run.status {
            Status::Failed(why) if run.id == "project" => Some(why.clone()),
            _ => None,
        });
        chapter.note = match &failed {
            Some(_) => "the audit failed".to_owned(),
            None => "not inside a project".to_owned(),
        };
        chapter.answers = [
            match failed {
                Some(why) => format!("Not judged: {why}."),
                None => "Not judged: the report was not made inside a project.".to_owned(),
            },
            "`warpsmith audit FOLDER` judges a project by itself.".to_owned(),
            String::new(),
        ];
        chapter.folds.extend(version_matrix(facts));
        return chapter;
    };
    let count = |severity| {
        audit
            .findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let (errors, warnings, notes) = (
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Info),
    );
    let score = audit.body.score.total;
    chapter.light = match (errors, warnings) {
        (0, 0) => State::Good,
        (0, _) => State::Look,
        _ => State::Act,
    };
    let of_hundred = score.map_or("no score".to_owned(), |score| format!("{score:.0} of 100"));
    let worst = match (errors, warnings) {
        (0, 0) => counted(notes, "note"),
        (0, warnings) => counted(warnings, "warning"),
        (errors, _) => format!("{} to fix first", counted(errors, "error")),
    };
    chapter.note = format!("{of_hundred}; {worst}");
    chapter.answers = answers(audit, &of_hundred, errors, warnings);
    chapter.findings = audit.findings.clone();

    let areas = area_blocks(&audit.body);
    let least = match errors + warnings {
        0 => Severity::Info,
        _ => Severity::Warning,
    };
    let found = groups(&audit.findings, least);
    if found.is_empty() {
        chapter.blocks.extend(areas);
    } else {
        let heading = match least {
            Severity::Info => "To improve",
            _ => "What to fix, in this order",
        };
        let note = format!(
            "{}, {}, {}",
            counted(errors, "error"),
            counted(warnings, "warning"),
            counted(notes, "note")
        );
        let fixes = vec![
            Block::Heading {
                title: heading.to_owned(),
                note,
            },
            Block::Table(table("to-fix", "what was found", &found)),
        ];
        chapter
            .blocks
            .push(Block::Columns(vec![(3, areas), (4, fixes)]));
    }
    chapter.folds.extend(version_matrix(facts));
    chapter.folds.extend(strengths(&audit.body));
    chapter.folds.extend(notes_fold(audit, least));
    chapter.folds.extend(accepted(&audit.body));
    chapter.folds.extend(excluded(&audit.body));
    chapter.folds.extend(not_assessed(&audit.body));
    chapter
}

fn answers(
    audit: &Report<AuditBody>,
    of_hundred: &str,
    errors: usize,
    warnings: usize,
) -> [String; 3] {
    let body = &audit.body;
    let files = format!(
        "{}, {} of them CUDA",
        counted(body.files, "file"),
        digits::count(body.cuda_files as u64)
    );
    let first = match (errors, warnings) {
        (0, 0) => format!("Yes: {of_hundred}, no error and no warning in {files}."),
        (0, warnings) => {
            let warnings = counted(warnings, "warning");
            format!("Nearly: {of_hundred}, no error and {warnings} in {files}.")
        }
        (errors, _) => format!(
            "Not yet: {of_hundred}, with {} in {files}.",
            counted(errors, "error")
        ),
    };
    let areas = &body.score.areas;
    let named = |wanted: &dyn Fn(f64) -> bool| -> Vec<String> {
        areas
            .iter()
            .filter_map(|area| {
                let score = area.score?;
                wanted(score).then(|| format!("{} ({score:.0})", in_a_sentence(area.area.title())))
            })
            .collect()
    };
    let (strong, weak) = (named(&|score| score >= 99.5), named(&|score| score < 70.0));
    let judged = areas.iter().filter(|area| area.score.is_some()).count();
    let second = match (strong.len(), weak.len()) {
        (all, 0) if all == judged => format!("All {judged} areas with something to judge pass."),
        (0, _) => format!("Weak: {}.", weak.join(", ")),
        (_, 0) => format!("Strong: {}.", strong.join(", ")),
        _ => format!("Strong: {}. Weak: {}.", strong.join(", "), weak.join(", ")),
    };
    let risk = groups(&audit.findings, Severity::Info);
    let third = risk.first().map_or(
        "No rule found a risk; what no rule can judge is listed below.".to_owned(),
        |group| {
            format!(
                "First risk: {} ({}).",
                group.first.message, group.first.code
            )
        },
    );
    [first, second, third]
}

fn area_blocks(body: &AuditBody) -> Vec<Block> {
    let areas = &body.score.areas;
    let full = |score: Option<f64>| score.is_none_or(|score| score >= 99.5);
    if areas.iter().all(|area| full(area.score)) {
        let tags = areas.iter().map(|area| match area.score {
            Some(score) => Tag {
                state: Some(State::Good),
                text: in_a_sentence(area.area.title()),
                strong: format!("{score:.0}"),
            },
            None => Tag {
                state: Some(State::NotMeasured),
                text: format!("{}: nothing to judge", in_a_sentence(area.area.title())),
                strong: String::new(),
            },
        });
        return vec![Block::Tags(tags.collect())];
    }
    let rows = areas.iter().map(|area| {
        let bar = match area.score {
            Some(score) => Cell::Bar {
                share: score / 100.0,
                text: format!("{score:.0} of 100"),
                state: Some(match score {
                    score if score >= 90.0 => State::Good,
                    score if score >= 50.0 => State::Look,
                    _ => State::Act,
                }),
            },
            None => Cell::Muted("nothing to judge".to_owned()),
        };
        Row::new(vec![Cell::text(in_a_sentence(area.area.title())), bar])
    });
    vec![
        Block::Heading {
            title: "Readiness by area".to_owned(),
            note: String::new(),
        },
        Block::Table(Table {
            name: "readiness".to_owned(),
            columns: vec![Column::text("area"), Column::text("score")],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        }),
    ]
}

fn strengths(body: &AuditBody) -> Option<Fold> {
    let passed: Vec<_> = body
        .outcomes
        .iter()
        .filter(|outcome| outcome.outcome == Outcome::Pass)
        .collect();
    if passed.is_empty() {
        return None;
    }
    let rows = passed.iter().map(|outcome| {
        Row::new(vec![
            Cell::text(in_a_sentence(outcome.area.title())),
            Cell::text(outcome.title.clone()),
            Cell::Code(outcome.code.clone()),
        ])
    });
    Some(Fold {
        title: "Strengths".to_owned(),
        note: format!("{} passed", counted(passed.len(), "rule")),
        blocks: vec![Block::Table(Table {
            name: "strengths".to_owned(),
            columns: vec![
                Column::text("area"),
                Column::text("rule"),
                Column::text("code"),
            ],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        })],
    })
}

fn notes_fold(audit: &Report<AuditBody>, shown: Severity) -> Option<Fold> {
    if shown == Severity::Info {
        return None;
    }
    let notes: Vec<_> = audit
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Info)
        .cloned()
        .collect();
    let groups = groups(&notes, Severity::Info);
    if groups.is_empty() {
        return None;
    }
    Some(Fold {
        title: "Notes".to_owned(),
        note: format!("{}, none of them blocks", counted(notes.len(), "note")),
        blocks: vec![Block::Table(table("notes", "note", &groups))],
    })
}

fn accepted(body: &AuditBody) -> Option<Fold> {
    if body.suppressed.is_empty() {
        return None;
    }
    let rows = body.suppressed.iter().map(|suppressed| {
        Row::new(vec![
            Cell::text(suppressed.finding.message.clone()),
            Cell::text(suppressed.reason.clone()),
            Cell::Code(suppressed.finding.code.clone()),
        ])
    });
    Some(Fold {
        title: "Accepted".to_owned(),
        note: counted(body.suppressed.len(), "finding"),
        blocks: vec![Block::Table(Table {
            name: "accepted".to_owned(),
            columns: vec![
                Column::text("finding"),
                Column::text("reason"),
                Column::text("rule"),
            ],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        })],
    })
}

fn excluded(body: &AuditBody) -> Option<Fold> {
    /// More names say no more.
    const SHOWN: usize = 40;
    let count = body.excluded.len();
    if count == 0 {
        return None;
    }
    let mut names: Vec<&str> = body
        .excluded
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect();
    if count > SHOWN {
        names.push("…");
    }
    Some(Fold {
        title: "Not judged".to_owned(),
        note: format!(
            "{}: inputs of tests, or excluded in .warpsmith.toml",
            counted(count, "file")
        ),
        blocks: vec![Block::Lines(names.join("\n"))],
    })
}

fn not_assessed(body: &AuditBody) -> Option<Fold> {
    if body.not_assessed.is_empty() {
        return None;
    }
    let rows = body.not_assessed.iter().map(|item| {
        Row::new(vec![
            Cell::text(item.item.clone()),
            Cell::text(item.question.clone()),
        ])
    });
    Some(Fold {
        title: "Not assessed by any rule".to_owned(),
        note: format!(
            "{} for a reader",
            counted(body.not_assessed.len(), "question")
        ),
        blocks: vec![Block::Table(Table {
            name: "not-assessed".to_owned(),
            columns: vec![Column::text("item"), Column::text("question")],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        })],
    })
}
