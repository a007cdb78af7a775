//! The verbs in groups, in the order in which they are used.

use std::fmt::Write;

use clap::Command;
use clap::builder::{StyledStr, Styles};

/// Verbs that belong together.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    /// What the short help has a line for.
    first: &'static [&'static str],
    /// What it only names.
    more: &'static [&'static str],
}

impl Group {
    /// Every verb, in the order of use.
    pub(crate) fn verbs(&self) -> impl Iterator<Item = &'static str> {
        self.first.iter().chain(self.more).copied()
    }
}

/// The groups; each is a folder of this crate.
pub(crate) const GROUPS: [Group; 5] = [
    Group {
        title: "Kernels",
        first: &["new", "compile", "verify", "bench", "compare", "tune"],
        more: &[
            "judge", "inspect", "exec", "run", "scale", "ablate", "leak", "profile",
        ],
    },
    Group {
        title: "Machine",
        first: &["check", "devices", "watch"],
        more: &[
            "baseline", "record", "replay", "export", "health", "fleet", "wisdom",
        ],
    },
    Group {
        title: "Project and history",
        first: &["report", "audit", "history", "explain"],
        more: &[],
    },
    Group {
        title: "Applications",
        first: &[],
        more: &["voice", "corpus", "md", "lattice", "synth", "serve"],
    },
    Group {
        title: "Set-up",
        first: &[],
        more: &["config", "completions", "selftest"],
    },
];

/// Columns before what a verb does.
const INDENT: usize = 13;

/// The groups on one screen: a line for the verbs that come first, the names of the others.
pub(super) fn short(program: &Command) -> StyledStr {
    let styles = Styles::default();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let names = |verbs: &[&str]| {
        let styled = verbs
            .iter()
            .map(|verb| format!("{literal}{verb}{literal:#}"));
        styled.collect::<Vec<_>>().join(", ")
    };
    let mut text = String::new();
    for group in &GROUPS {
        if group.first.is_empty() {
            let _ = writeln!(
                text,
                "{header}{}:{header:#} {}",
                group.title,
                names(group.more)
            );
            continue;
        }
        let _ = writeln!(text, "{header}{}:{header:#}", group.title);
        for verb in group.first {
            text.push_str(&line(program, verb));
        }
        if !group.more.is_empty() {
            let _ = writeln!(text, "  {:<1$}{2}", "more:", INDENT - 2, names(group.more));
        }
        text.push('\n');
    }
    text.push('\n');
    text.into()
}

/// Every verb with what it does.
pub(super) fn long(program: &Command) -> StyledStr {
    let styles = Styles::default();
    let header = styles.get_header();
    let mut text = String::new();
    for group in &GROUPS {
        let _ = writeln!(text, "{header}{}:{header:#}", group.title);
        for verb in group.verbs() {
            text.push_str(&line(program, verb));
        }
        text.push('\n');
    }
    text.into()
}

fn line(program: &Command, verb: &str) -> String {
    let styles = Styles::default();
    let literal = styles.get_literal();
    let about = program.find_subcommand(verb).and_then(Command::get_about);
    let about = about.map(ToString::to_string).unwrap_or_default();
    let gap = " ".repeat(INDENT.saturating_sub(2 + verb.len()).max(1));
    format!("  {literal}{verb}{literal:#}{gap}{about}\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_verb_is_in_one_group() {
        let program = Arguments::command();
        let visible = program.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut verbs: Vec<&str> = visible.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(Group::verbs).collect();
        verbs.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(verbs, grouped);
    }

    #[test]
    fn what_a_verb_does_fits_a_line_of_80_columns() {
        let program = Arguments::command();
        for verb in program.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let about = verb.get_about().expect("every verb has one").to_string();
            let width = INDENT + about.chars().count();
            assert!(width <= 80, "{}: {about} ({width})", verb.get_name());
        }
    }
}
