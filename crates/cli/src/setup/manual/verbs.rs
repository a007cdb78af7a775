//! The reference of the commands: what `--help` says, one page to a verb.

use clap::Command;

use super::page::{Page, cell};
use crate::help::GROUPS;

/// Columns that the help is set to.
const WIDTH: usize = 100;

/// The program with nothing left to be worked out, in the width of a page.
fn built(program: &Command) -> Command {
    let mut program = program
        .clone()
        .term_width(WIDTH)
        .disable_help_subcommand(true);
    program.build();
    program
}

/// One page to a verb, and one that lists them with the options that all take.
pub(super) fn pages(program: &Command) -> Vec<Page> {
    let program = built(program);
    let verbs: Vec<&Command> = program
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .collect();
    let mut index = format!(
        "# Commands\n\nWhat `--help` says, verb by verb.\n\n{}",
        help(&program, "warpsmith")
    );
    for group in &GROUPS {
        index.push_str(&format!(
            "\n## {}\n\n| verb | what it does |\n|---|---|\n",
            group.title
        ));
        for name in group.verbs() {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            index.push_str(&format!("| [`{name}`]({name}.md) | {} |\n", cell(&about)));
        }
    }
    let mut pages = vec![Page::generated("reference/commands/README.md", &index)];
    for verb in verbs {
        let mut text = String::new();
        describe(
            verb,
            &format!("warpsmith {}", verb.get_name()),
            1,
            &mut text,
        );
        text.push_str("\n[Options that every verb takes](README.md)\n");
        let name = format!("reference/commands/{}.md", verb.get_name());
        pages.push(Page::generated(&name, &text));
    }
    pages
}

/// A command and everything below it.
fn describe(command: &Command, name: &str, depth: usize, text: &mut String) {
    text.push_str(&format!("{} {name}\n\n", "#".repeat(depth)));
    // They stand on the index page once.
    let own = command
        .clone()
        .mut_args(|argument| match argument.is_global_set() {
            true => argument.hide(true),
            false => argument,
        });
    text.push_str(&help(&own, name));
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        text.push('\n');
        describe(
            below,
            &format!("{name} {}", below.get_name()),
            depth + 1,
            text,
        );
    }
}

fn help(command: &Command, name: &str) -> String {
    let help = command.clone().bin_name(name).render_long_help();
    let lines: Vec<String> = help
        .to_string()
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim())
}
