//! Data about mistakes: programs that are rejected, with the diagnostic and the repaired version; and
//! CUDA text that compiles and is wrong.
//!
//! A rejected program is a generated one with one fault put in, kept only where the compiler does refuse
//! it. Wrong CUDA text is that of a source with one operation exchanged for another of the same length:
//! it compiles because the compiler wrote it, its comments quote the right source, and the interpreter
//! has shown on inputs that its results are others.

use serde::{Deserialize, Serialize};
use warpsmith_compiler::{Compiler, Options, Target, emit, render};

use crate::generate::{Draft, Wanted, draft};
use crate::random::Random;
use crate::record::Origin;
use crate::verify::{Check, Executor, WarpOracle};

/// A program that is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// The pair that it was made from.
    pub id: String,
    /// The kind of fault.
    pub fault: String,
    /// The program with the fault.
    pub python: String,
    /// The code of the finding.
    pub code: String,
    /// The line of the finding.
    pub line: u32,
    /// The whole diagnostic.
    pub diagnostic: String,
    /// What Warp itself says about it, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp_diagnostic: Option<String>,
    /// The program without the fault.
    pub repaired: String,
}

impl Rejected {
    /// The same with what Warp says; `None` where Warp accepts the program.
    ///
    /// # Errors
    /// Where Warp could not be asked.
    pub fn asking(mut self, oracle: &mut WarpOracle) -> Result<Option<Self>, String> {
        self.warp_diagnostic = oracle.ask(&self.id, &self.python)?.error;
        Ok(self.warp_diagnostic.is_some().then_some(self))
    }
}

/// CUDA text that compiles and computes something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongCode {
    /// The pair that it was made from.
    pub id: String,
    /// What was exchanged for what.
    pub exchange: String,
    /// The source.
    pub python: String,
    /// The right text.
    pub cuda: String,
    /// The wrong one.
    pub wrong_cuda: String,
    /// What the right one computes, as JSON.
    pub expected: String,
    /// What the wrong one computes.
    pub wrong: String,
}

/// Faults: a name, what is replaced (the last occurrence), and by what.
const FAULTS: &[(&str, &str, &str)] = &[
    ("undefined name", "] = ", "] = missing_value + "),
    ("integer and float", " + ", " + 1 + 0.5 + "),
    ("missing annotation", ": wp.array(dtype=float)", ""),
    ("missing annotation", ": wp.array(dtype=wp.float32)", ""),
    ("swizzle", "[0]", ".xy"),
    ("list display", " = wp.", " = [1.0] + wp."),
    ("unknown builtin", "wp.max(", "wp.maximum("),
    ("unknown builtin", "wp.sin(", "wp.sine("),
    ("unknown builtin", "wp.length(", "wp.magnitude("),
    (
        "kernel returns a value",
        "        return\n",
        "        return 1.0\n",
    ),
    ("too many indices", "[i]", "[i, 0, 0]"),
    ("too many indices", "[tid]", "[tid, 0, 0]"),
    ("constant changed in a loop", " = float(0.0)\n", " = 0.0\n"),
    ("constant changed in a loop", " = int(0)\n", " = 0\n"),
    ("syntax", "):\n", ")\n"),
    ("wrong argument type", "wp.clamp(", "wp.clamp(1, "),
    (
        "wrong argument count",
        "wp.normalize(",
        "wp.normalize(1.0, ",
    ),
    ("chained assignment", " = wp.tid()", " = spare = wp.tid()"),
    (
        "annotated assignment",
        " = wp.where(",
        ": float = wp.where(",
    ),
];

/// A program with a fault, made from pair `index`; `None` where no fault of the table fits.
pub fn rejected(
    compiler: &mut Compiler,
    wanted: &Wanted,
    seed: u64,
    index: u64,
) -> Option<Rejected> {
    let draft = draft(wanted, seed, index, 0);
    let mut random = Random::of_pair(seed, index, u32::MAX - 3);
    // From a random one on; what fits every program only where it is drawn, or where nothing else fits.
    let start = random.below(FAULTS.len());
    let mut order: Vec<_> = (0..FAULTS.len())
        .map(|offset| FAULTS[(start + offset) % FAULTS.len()])
        .collect();
    order[1..].sort_by_key(|(fault, ..)| *fault == "syntax");
    for (fault, from, to) in order {
        let Some(at) = draft.source.rfind(from) else {
            continue;
        };
        let mut broken = draft.source.clone();
        broken.replace_range(at..at + from.len(), to);
        match compiler.compile(&broken, &Options::default()) {
            // The fault did no harm here.
            Ok(module) => compiler.recycle(module),
            Err(findings) => {
                let finding = findings.first()?;
                return Some(Rejected {
                    id: format!("{seed}-{index}"),
                    fault: fault.to_owned(),
                    code: finding.code.to_string(),
                    line: finding.span.as_ref().map_or(0, |span| span.line),
                    diagnostic: render(finding, &broken),
                    python: broken,
                    warp_diagnostic: None,
                    repaired: draft.source,
                });
            }
        }
    }
    None
}

/// Exchanges that keep the length of a line, so that quoted lines keep their width.
const EXCHANGES: &[(&str, &str)] = &[
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " + "),
    ("wp.sin(", "wp.cos("),
    ("wp.cos(", "wp.sin("),
    ("wp.min(", "wp.max("),
    ("wp.max(", "wp.min("),
    (" < ", " > "),
    (" > ", " < "),
    ("wp.floor(", "wp.trunc("),
    (" & ", " | "),
    (" << ", " >> "),
    (" += ", " -= "),
    (" -= ", " += "),
];

/// Wrong CUDA text for pair `index`; `None` where no exchange changes a result.
pub fn wrong_code(
    compiler: &mut Compiler,
    wanted: &Wanted,
    seed: u64,
    index: u64,
) -> Option<WrongCode> {
    let draft = draft(wanted, seed, index, 0);
    let origin = Origin {
        seed,
        index,
        attempt: 0,
    };
    let mut random = Random::of_pair(seed, index, u32::MAX - 4);
    let (cuda, expected) = text_and_results(compiler, &draft.source, origin)?;
    let start = random.below(EXCHANGES.len());
    // Exchanges after the signature only.
    let body = draft.source.rfind("= wp.tid()")? + "= wp.tid()".len();
    for offset in 0..EXCHANGES.len() {
        let (from, to) = EXCHANGES[(start + offset) % EXCHANGES.len()];
        let places: Vec<usize> = draft.source[body..]
            .match_indices(from)
            .map(|(at, _)| body + at)
            .collect();
        if places.is_empty() {
            continue;
        }
        let at = places[random.below(places.len())];
        let mut other = draft.source.clone();
        other.replace_range(at..at + from.len(), to);
        let Some((text, wrong)) = text_and_results(compiler, &other, origin) else {
            continue;
        };
        if wrong == expected {
            continue;
        }
        let wrong_cuda = with_lines_of(&draft, &other, at, &text);
        return Some(WrongCode {
            id: format!("{seed}-{index}"),
            exchange: format!("`{}` became `{}`", from.trim(), to.trim()),
            python: draft.source,
            cuda,
            wrong_cuda,
            expected,
            wrong,
        });
    }
    None
}

/// A source's CUDA text, and what the interpreter says that it computes.
fn text_and_results(
    compiler: &mut Compiler,
    source: &str,
    origin: Origin,
) -> Option<(String, String)> {
    let module = compiler.compile(source, &Options::default()).ok()?;
    let execution = Executor::default().execute(&module, origin, false);
    let mut text = String::new();
    emit(&module, Target::Cuda, &mut text);
    compiler.recycle(module);
    (execution.executed == Check::Passed).then_some((text, execution.extra.expected))
}

/// The text of `other` with its quoted lines replaced by those of the draft.
fn with_lines_of(draft: &Draft, other: &str, at: usize, text: &str) -> String {
    let line = |source: &str| {
        let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
        source[start..]
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    text.replace(&line(other), &line(&draft.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_refused_and_repairs_are_not() {
        let mut compiler = Compiler::new();
        let wanted = Wanted::default();
        let found: Vec<Rejected> = (0..150)
            .filter_map(|index| rejected(&mut compiler, &wanted, 4, index))
            .collect();
        assert!(found.len() > 120, "{}", found.len());
        let mut codes: Vec<&str> = found
            .iter()
            .map(|rejected| rejected.code.as_str())
            .collect();
        codes.sort_unstable();
        codes.dedup();
        assert!(codes.len() >= 6, "{codes:?}");
        for rejected in &found {
            let repaired = compiler.compile(&rejected.repaired, &Options::default());
            compiler.recycle(repaired.expect("the repaired program is accepted"));
            assert!(rejected.diagnostic.contains(&rejected.code));
        }
    }

    #[test]
    fn wrong_text_quotes_the_right_source_and_computes_something_else() {
        let mut compiler = Compiler::new();
        let wanted = Wanted {
            difficulties: vec![1, 2],
            ..Wanted::default()
        };
        let found: Vec<WrongCode> = (0..40)
            .filter_map(|index| wrong_code(&mut compiler, &wanted, 4, index))
            .collect();
        assert!(found.len() > 15, "{}", found.len());
        for wrong in &found {
            assert_ne!(wrong.cuda, wrong.wrong_cuda);
            assert_ne!(wrong.expected, wrong.wrong);
            let quoted = |text: &str| -> Vec<String> {
                // What the replay leaves out is a comment too, and shows the call that was exchanged.
                let lines = text
                    .lines()
                    .filter(|line| line.trim_start().starts_with("// ") && line.contains("<L "));
                lines.map(str::to_owned).collect()
            };
            assert_eq!(
                quoted(&wrong.cuda),
                quoted(&wrong.wrong_cuda),
                "{}",
                wrong.id
            );
        }
    }
}
