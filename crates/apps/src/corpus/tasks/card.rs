//! The card of a set of tasks: the `README.md` that Hugging Face reads, made from what was written.

use std::fmt::Write;

use warpsmith_intent::Split;

use super::index::{Counts, DIFFICULTIES, DIVIDED};

/// What follows from how tasks are made, whatever the data say.
const LIMITS: &str = "\
- Every text is printed from a specification: English, references and kernels have a small vocabulary and one \
style each. A model that answers all of these tasks may still fail on one that people wrote.\n\
- Elements are `float` and `int`; there are no half precisions, tensor cores, streams, or several kernels in one task.\n\
- Solutions are written for any GPU from Volta on; none is tuned for one architecture.\n\
- Sizes of a timed launch are one per task. What is fastest there need not be at other sizes.\n\
- Wrong kernels have one mistake each, on one line. Mistakes of people and models come in other kinds and in numbers.\n";

/// The card.
pub(super) fn card(counts: &Counts, command: &str) -> String {
    let mut out = front_matter(counts);
    let _ = write!(
        out,
        "# Warpsmith kernel tasks\n\n{} tasks of {} families: a CUDA kernel described in English, what judges it, \
         and kernels that solve it from naive to fast. No two tasks have one specification. Every text was \
         written by a generator; none is copied from anywhere.\n\n",
        counts.tasks,
        counts.families.len()
    );
    uses(counts, &mut out);
    let table = |out: &mut String, title: &str, rows: &mut dyn Iterator<Item = (String, usize)>| {
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            let _ = write!(out, "| {title} | count |\n|---|---:|\n");
            for (name, count) in rows {
                let _ = writeln!(out, "| {name} | {count} |");
            }
            out.push('\n');
        }
    };
    let named = |(name, count): (&&str, &usize)| ((*name).to_owned(), *count);
    let owned = |(name, count): (&String, &usize)| (name.clone(), *count);
    out.push_str("## Counts\n\n");
    table(&mut out, "split", &mut counts.splits.iter().map(named));
    out.push_str("`test_family` has families of which training sees nothing, `test_specification` combinations of options that training does not see together. Names and options decide, never text.\n\n");
    table(
        &mut out,
        "kind of family",
        &mut counts.groups.iter().map(owned),
    );
    table(
        &mut out,
        "mistake of a wrong kernel",
        &mut counts.kinds.iter().map(owned),
    );
    table(
        &mut out,
        "how a wrong kernel shows",
        &mut counts.shown.iter().map(named),
    );
    table(
        &mut out,
        "difficulty",
        &mut counts
            .difficulties
            .iter()
            .map(|(level, count)| (words(*level), *count)),
    );
    measured(counts, &mut out);
    let _ = write!(
        out,
        "## Known biases\n\n{}## Limits\n\n{LIMITS}\n## Licence\n\nApache-2.0, texts and code alike. The generator wrote all of it; there is no \
         personal data and no third party's code.\n\n## Reproduce\n\n```console\n$ {command}\n```\n\nWarpsmith {}.\n",
        biases(counts),
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn front_matter(counts: &Counts) -> String {
    let mut out =
        String::from("---\npretty_name: Warpsmith kernel tasks\nlanguage:\n- en\n- code\n");
    out.push_str("license: apache-2.0\ntask_categories:\n- text-generation\n");
    out.push_str("tags:\n- code\n- cuda\n- gpu-kernels\n- synthetic\nconfigs:\n");
    for kind in DIVIDED {
        if counts.lines.contains_key(kind) {
            let _ = writeln!(out, "- config_name: {kind}\n  data_files:");
            for split in Split::ALL {
                if counts.divided.contains_key(&(kind, split.name())) {
                    let name = split.name();
                    let _ = writeln!(out, "  - split: {name}\n    path: data/{kind}/{name}.jsonl");
                }
            }
        }
    }
    // Their rows have a column for the split; `train` would be a promise that they do not keep, and
    // `all` is a word of the `datasets` library.
    for kind in ["tasks", "faults"] {
        if counts.lines.contains_key(kind) {
            let _ = writeln!(
                out,
                "- config_name: {kind}\n  data_files:\n  - split: every_split\n    path: {kind}.jsonl"
            );
        }
    }
    out.push_str("---\n\n");
    out
}

fn uses(counts: &Counts, out: &mut String) {
    out.push_str("## Use\n\n```python\nfrom datasets import load_dataset\n\n");
    for (kind, columns) in [
        ("instructions", "prompt, answer, technique"),
        ("preferences", "prompt, chosen, rejected, kind, reason"),
        ("chains", "prompt, steps from slow to fast"),
    ] {
        if counts.lines.contains_key(kind) {
            let _ = writeln!(
                out,
                "{kind} = load_dataset(\"path/to/this/folder\", \"{kind}\")  # {columns}"
            );
        }
    }
    out.push_str("```\n\n| file | lines |\n|---|---:|\n");
    for (name, lines) in &counts.lines {
        let path = match DIVIDED.contains(name) {
            true => format!("data/{name}/*.jsonl"),
            false => format!("{name}.jsonl"),
        };
        let _ = writeln!(out, "| `{path}` | {lines} |");
    }
    out.push('\n');
}

/// A difficulty with what it means.
fn words(level: u8) -> String {
    let bounds: Vec<f64> = DIFFICULTIES.iter().map(|(_, least)| *least).collect();
    let at = usize::from(level.saturating_sub(1)).min(bounds.len() - 1);
    match bounds.get(at + 1) {
        Some(next) => format!(
            "{level}: the fastest known kernel is less than {next} times as fast as the naive one"
        ),
        None => format!("{level}: at least {} times as fast", bounds[at]),
    }
}

fn measured(counts: &Counts, out: &mut String) {
    let kernels = counts.lines.get("candidates").copied().unwrap_or_default();
    let judged: usize = counts
        .shown
        .iter()
        .filter(|(word, _)| **word != "not judged")
        .map(|(_, n)| n)
        .sum();
    let _ = writeln!(
        out,
        "{} of {kernels} CUDA kernels were timed, {judged} of {} wrong kernels judged. `warpsmith judge` does both; \
         the command below then adds what it found: times, difficulty, and how mistakes show.\n",
        counts.timed,
        counts.kinds.values().sum::<usize>()
    );
}

/// What the counts show that a reader should know before training.
fn biases(counts: &Counts) -> String {
    let mut out = String::new();
    let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    if let Some((group, tasks)) = counts.groups.iter().max_by_key(|(_, tasks)| **tasks) {
        let _ = writeln!(
            out,
            "- {:.0} % of the tasks are {group}, the most frequent of {} kinds of families.",
            share(*tasks, counts.tasks),
            counts.groups.len()
        );
    }
    let wrong = counts.kinds.values().sum::<usize>();
    if let Some((kind, count)) = counts.kinds.iter().max_by_key(|(_, count)| **count) {
        let _ = writeln!(
            out,
            "- {:.0} % of the wrong kernels have the mistake `{kind}`.",
            share(*count, wrong)
        );
    }
    let hidden = counts.shown.get("correct").copied().unwrap_or_default();
    if hidden > 0 {
        let _ = writeln!(
            out,
            "- {hidden} mistakes changed no result that was judged. They stay in `faults.jsonl` with the verdict `correct`, and are no preferences."
        );
    }
    let answers = counts
        .lines
        .get("instructions")
        .copied()
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "- {:.0} % of the answers are the naive kernel of their task.\n",
        share(counts.tasks, answers)
    );
    out
}
