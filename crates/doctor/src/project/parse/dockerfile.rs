//! Dockerfiles: instructions with their lines, stages, and variables expanded per stage.

use std::collections::BTreeMap;

/// One instruction; continuation lines are joined.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) line: u32,
    /// Upper case.
    pub(crate) keyword: String,
    pub(crate) arguments: String,
    /// Line of each continuation, for evidence inside long instructions: (offset, line).
    lines: Vec<(usize, u32)>,
}

impl Instruction {
    /// The line on which the byte at `offset` of the arguments stands.
    pub(crate) fn line_at(&self, offset: usize) -> u32 {
        self.lines
            .iter()
            .rev()
            .find(|(start, _)| *start <= offset)
            .map_or(self.line, |(_, line)| *line)
    }
}

/// A stage: `FROM` and what follows.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) line: u32,
    /// The image, variables expanded.
    pub(crate) base: String,
    pub(crate) name: Option<String>,
    pub(crate) instructions: Vec<Instruction>,
    /// ENV and ARG values in force at the end.
    pub(crate) variables: BTreeMap<String, String>,
}

/// A Dockerfile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dockerfile {
    pub(crate) path: String,
    pub(crate) stages: Vec<Stage>,
}

impl Dockerfile {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            stages: Vec::new(),
        };
        let mut global = BTreeMap::new();
        for instruction in instructions(text) {
            match (instruction.keyword.as_str(), file.stages.last_mut()) {
                ("FROM", _) => {
                    let words: Vec<&str> = instruction
                        .arguments
                        .split_whitespace()
                        .filter(|w| !w.starts_with("--"))
                        .collect();
                    let base = expand(words.first().unwrap_or(&""), &global);
                    let name = words
                        .iter()
                        .position(|w| w.eq_ignore_ascii_case("as"))
                        .and_then(|n| words.get(n + 1))
                        .map(|n| (*n).to_owned());
                    // A stage that starts from an earlier one inherits its variables.
                    let variables = file
                        .stages
                        .iter()
                        .find(|s| s.name.as_deref() == Some(base.as_str()))
                        .map(|s| s.variables.clone())
                        .unwrap_or_default();
                    file.stages.push(Stage {
                        line: instruction.line,
                        base,
                        name,
                        instructions: Vec::new(),
                        variables,
                    });
                }
                ("ARG", None) => assign(&instruction.arguments, &mut global),
                (_, None) => {}
                (keyword, Some(stage)) => {
                    match keyword {
                        "ENV" => assign(&instruction.arguments, &mut stage.variables),
                        "ARG" => {
                            let name = instruction.arguments.split('=').next().unwrap_or("").trim();
                            match global.get(name) {
                                Some(value) if !instruction.arguments.contains('=') => {
                                    stage.variables.insert(name.to_owned(), value.clone());
                                }
                                _ => assign(&instruction.arguments, &mut stage.variables),
                            }
                        }
                        _ => {}
                    }
                    stage.instructions.push(instruction);
                }
            }
        }
        file
    }

    /// The stage that an image is made from by default.
    pub(crate) fn last(&self) -> Option<&Stage> {
        self.stages.last()
    }

    /// The external image at the root of a stage.
    pub(crate) fn root_of<'a>(&'a self, stage: &'a Stage) -> &'a Stage {
        let mut at = stage;
        for _ in 0..self.stages.len() {
            match self
                .stages
                .iter()
                .find(|s| s.name.as_deref() == Some(at.base.as_str()))
            {
                Some(parent) if !std::ptr::eq(parent, at) => at = parent,
                _ => break,
            }
        }
        at
    }

    /// The instructions that a stage inherits and its own, in order.
    pub(crate) fn lineage<'a>(&'a self, stage: &'a Stage) -> Vec<&'a Instruction> {
        let mut chain = vec![stage];
        for _ in 0..self.stages.len() {
            let base = &chain[chain.len() - 1].base;
            match self
                .stages
                .iter()
                .find(|s| s.name.as_deref() == Some(base.as_str()))
            {
                Some(parent) if !chain.iter().any(|c| std::ptr::eq(*c, parent)) => {
                    chain.push(parent)
                }
                _ => break,
            }
        }
        chain
            .into_iter()
            .rev()
            .flat_map(|s| &s.instructions)
            .collect()
    }
}

fn instructions(text: &str) -> Vec<Instruction> {
    let mut found: Vec<Instruction> = Vec::new();
    let escape = text
        .lines()
        .take(3)
        .find_map(|l| l.trim().strip_prefix("# escape=")?.chars().next())
        .unwrap_or('\\');
    let mut lines = (1u32..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let (keyword, rest) = trimmed
            .split_once(char::is_whitespace)
            .unwrap_or((trimmed, ""));
        let keyword = keyword.to_ascii_uppercase();
        if !keyword.bytes().all(|b| b.is_ascii_uppercase()) {
            continue;
        }
        let mut instruction = Instruction {
            line: number,
            keyword,
            arguments: String::new(),
            lines: vec![(0, number)],
        };
        let mut part = rest.trim().to_owned();
        loop {
            let continued = part.ends_with(escape);
            if continued {
                part.pop();
            }
            instruction.arguments.push_str(&part);
            instruction.arguments.push('\n');
            if !continued {
                break;
            }
            // Comments and blank lines inside a continuation do not end it.
            let next = lines.by_ref().find(|(_, l)| {
                let l = l.trim();
                !l.is_empty() && !l.starts_with('#')
            });
            let Some((next_number, next_line)) = next else {
                break;
            };
            instruction
                .lines
                .push((instruction.arguments.len(), next_number));
            part = next_line.trim().to_owned();
        }
        // `RUN <<EOF`: the body is the script.
        if let Some(tag) = heredoc(&instruction.arguments) {
            for (next_number, next_line) in lines.by_ref() {
                if next_line.trim() == tag {
                    break;
                }
                instruction
                    .lines
                    .push((instruction.arguments.len(), next_number));
                instruction.arguments.push_str(next_line);
                instruction.arguments.push('\n');
            }
        }
        found.push(instruction);
    }
    found
}

fn heredoc(arguments: &str) -> Option<String> {
    let rest = &arguments[arguments.find("<<")? + 2..];
    let rest = rest.trim_start_matches('-').trim_start_matches(['"', '\'']);
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    (end > 0 && rest.as_bytes()[0].is_ascii_alphabetic()).then(|| rest[..end].to_owned())
}

/// `A=1 B="two words"` or the old form `A 1`.
fn assign(arguments: &str, variables: &mut BTreeMap<String, String>) {
    for words in super::shell::commands(
        &arguments
            .replace([';', '|', '&'], "\u{1}")
            .replace('\n', " "),
    ) {
        if let Some((first, rest)) = words.split_first()
            && !first.contains('=')
        {
            if !rest.is_empty() {
                let value = expand(&rest.join(" ").replace('\u{1}', ";"), variables);
                variables.insert(first.clone(), value);
            }
            return;
        }
        for word in words {
            if let Some((name, value)) = word.split_once('=') {
                let value = expand(&value.replace('\u{1}', ";"), variables);
                variables.insert(name.to_owned(), value);
            }
        }
    }
}

/// `$NAME`, `${NAME}` and `${NAME:-default}`; an unknown name stays as written.
pub(crate) fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let (name, default, after) = if let Some(inner) = tail.strip_prefix('{') {
            let end = inner.find('}').unwrap_or(inner.len());
            let body = &inner[..end];
            let (name, default) = body.split_once(":-").unwrap_or((body, ""));
            (name, default, inner.get(end + 1..).unwrap_or(""))
        } else {
            let end = tail
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(tail.len());
            (&tail[..end], "", &tail[end..])
        };
        match variables.get(name) {
            Some(value) => out.push_str(value),
            None if !default.is_empty() => out.push_str(default),
            None => out.push_str(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
        // A value may be long, and may name itself; the result stays small.
        if out.len() > 4096 {
            break;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stages_variables_and_continuations_are_read() {
        let file = Dockerfile::parse(
            "Dockerfile",
            "ARG TAG=12.4.1\nFROM nvidia/cuda:${TAG}-devel AS build\nENV LIST=\"80;86\" \\\n    # note\n    B=2\nRUN a && \\\n    b\n\
             FROM build\nUSER me\nRUN <<EOF\nx\nEOF\nCMD [\"run\"]\n",
        );
        assert_eq!(file.stages.len(), 2);
        assert_eq!(file.stages[0].base, "nvidia/cuda:12.4.1-devel");
        assert_eq!(file.stages[0].variables["LIST"], "80;86");
        assert_eq!(file.stages[0].variables["B"], "2");
        assert_eq!(file.stages[1].variables["LIST"], "80;86");
        let run = &file.stages[0].instructions[1];
        assert_eq!(
            (run.line, run.line_at(run.arguments.find('b').unwrap())),
            (6, 7)
        );
        assert_eq!(
            file.root_of(file.last().unwrap()).base,
            "nvidia/cuda:12.4.1-devel"
        );
        assert_eq!(file.stages[1].instructions.last().unwrap().keyword, "CMD");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(
            text in "(FROM |RUN |ENV |ARG |A=|\\$\\{|\\}|<<EOF|\\\\\n|\n|as |[a-z\"'=:]|\\PC){0,60}"
        ) {
            let file = Dockerfile::parse("D", &text);
            for stage in &file.stages {
                let _ = (file.root_of(stage), file.lineage(stage));
            }
        }
    }
}
