//! The reference of the commands: what `--help` says, one page to a verb.

use clap::{Command, CommandFactory};

use super::Page;
use crate::arguments::Arguments;

/// Columns that the help is set to.
const WIDTH: usize = 100;

/// The program with nothing left to be worked out, in the width of a page.
fn program() -> Command {
    let mut program = Arguments::command()
        .term_width(WIDTH)
        .disable_help_subcommand(true);
    program.build();
    program
}

/// One page to a verb, and one that lists them with the options that all take.
pub(super) fn pages() -> Vec<Page> {
    let program = program();
    let verbs: Vec<&Command> = program
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .collect();
    let mut index = format!(
        "# Commands\n\nWhat `--help` says, verb by verb.\n\n{}",
        help(&program, "warpsmith")
    );
    index.push_str("\n| verb | what it does |\n|---|---|\n");
    for verb in &verbs {
        let about = verb.get_about().map(ToString::to_string);
        index.push_str(&format!(
            "| [`{0}`]({0}.md) | {1} |\n",
            verb.get_name(),
            super::cell(&about.unwrap_or_default())
        ));
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// The words of a command line up to the first shell operator, as a shell splits them.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quote = None;
        for letter in line.chars() {
            match quote {
                Some(open) if letter == open => quote = None,
                Some(_) => word.push(letter),
                None => match letter {
                    '\'' | '"' => quote = Some(letter),
                    ' ' => words.push(std::mem::take(&mut word)),
                    _ => word.push(letter),
                },
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        let operator = |word: &String| matches!(word.as_str(), "|" | ">" | "&&" | ";" | "&" | "#");
        let end = words.iter().position(operator).unwrap_or(words.len());
        words.truncate(end);
        words
    }

    fn examples(command: &Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string);
        let lines = help.iter().flat_map(|help| help.lines());
        let typed = lines.filter_map(|line| line.strip_prefix("  "));
        found.extend(
            typed
                .filter(|line| line.starts_with("warpsmith "))
                .map(str::to_owned),
        );
        command
            .get_subcommands()
            .for_each(|below| examples(below, found));
    }

    #[test]
    fn every_example_of_a_help_text_is_a_command_line_that_we_take() {
        let mut found = Vec::new();
        examples(&program(), &mut found);
        assert!(found.len() > 60, "{} examples", found.len());
        let wrong: Vec<String> = found
            .iter()
            // A variable stands for what only its user knows.
            .map(|line| line.replace("$SLURM_ARRAY_TASK_ID", "0"))
            .map(|line| line.replace("$(git rev-parse HEAD)", "HEAD"))
            .filter_map(|line| {
                let error = Arguments::try_parse_from(words(&line)).err()?;
                Some(format!("{line}\n{error}"))
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_verb_has_an_example() {
        let program = program();
        let without: Vec<&str> = program
            .get_subcommands()
            .filter(|verb| {
                let mut found = Vec::new();
                examples(verb, &mut found);
                found.is_empty()
            })
            .map(Command::get_name)
            .collect();
        assert!(without.is_empty(), "{without:?}");
    }
}
