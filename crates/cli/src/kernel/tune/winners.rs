//! What a tuning found: the file that programs load, and how it is shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpsmith_case::{Case, Choice, Point, Scope, TunableValue, size_words};
use warpsmith_core::Seconds;
use warpsmith_formats::write_output;

use warpsmith_console::table::Table;

/// The file that a program loads: winners by GPU and size.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Tuned {
    /// By the GPU's name.
    pub(super) gpus: BTreeMap<String, Vec<Winner>>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Winner {
    pub(super) size: Scope,
    /// Values of the tunables.
    pub(super) choice: BTreeMap<String, serde_json::Value>,
    /// Median of samples taken after the choice was made.
    pub(super) seconds: f64,
    /// The first values of the tunables, for comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_choice_seconds: Option<f64>,
    /// The next one, and how much longer it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) second: Option<(BTreeMap<String, serde_json::Value>, f64)>,
    /// Points that were measured, of how many; and how many were refused.
    pub(super) measured: usize,
    pub(super) points: usize,
    pub(super) refused: usize,
    /// Seconds that all of it took.
    pub(super) took: f64,
    /// Seconds of that in which candidates were compiled, checked and timed; in the final race; and in
    /// which the winner was checked at every size.
    #[serde(default)]
    pub(super) phases: Phases,
    /// How much of the spread each tunable explains by itself.
    pub(super) importance: Vec<(String, f64)>,
}

/// Where the time went.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Phases {
    pub(super) search: f64,
    /// Of the search: choosing points, waiting for the compiler, and checking and timing.
    #[serde(default)]
    pub(super) choosing: f64,
    #[serde(default)]
    pub(super) compiling: f64,
    #[serde(default)]
    pub(super) trying: f64,
    pub(super) race: f64,
    pub(super) verification: f64,
}

/// Puts the winners of this GPU into the file, and leaves other GPUs and sizes as they are.
pub(super) fn write(path: &Path, gpu: &str, winners: &[Winner]) -> Result<()> {
    let mut tuned: Tuned = match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "`{}` is no file of winners; name another with `--output`",
                path.display()
            )
        })?,
        Err(_) => Tuned::default(),
    };
    let rows = tuned.gpus.entry(gpu.to_owned()).or_default();
    for winner in winners {
        rows.retain(|row| row.size != winner.size);
        rows.push(winner.clone());
    }
    Ok(write_output(path, &serde_json::to_vec_pretty(&tuned)?)?)
}

/// Values that won a tuning, and where.
pub(crate) struct Chosen {
    pub(crate) choice: Choice,
    /// The file that says so.
    pub(crate) file: PathBuf,
    /// The size that was tuned, where it is another one.
    pub(crate) tuned_at: Option<Scope>,
}

/// What a tuning of the case on this GPU has found for a size: the winner there, else that of the nearest
/// size whose values the constraints allow here. `None` where nothing was tuned, or the case has other
/// tunables by now.
pub(crate) fn chosen(case: &Case, gpu: &str, size: &Scope) -> Result<Option<Chosen>> {
    let file = case.file.with_extension("tuned.json");
    let bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", file.display()));
        }
    };
    let tuned: Tuned = serde_json::from_slice(&bytes).with_context(|| {
        format!(
            "`{}` is no file of winners; remove it, or tune the case again",
            file.display()
        )
    })?;
    let mut winners: Vec<&Winner> = tuned.gpus.get(gpu).into_iter().flatten().collect();
    winners.sort_by(|a, b| distance(&a.size, size).total_cmp(&distance(&b.size, size)));
    for winner in winners {
        if let Some(choice) = of_json(case, &winner.choice)
            && case.allows(size, &choice)?
        {
            let tuned_at = (winner.size != *size).then(|| winner.size.clone());
            return Ok(Some(Chosen {
                choice,
                file,
                tuned_at,
            }));
        }
    }
    Ok(None)
}

/// How far two sizes are apart, each dimension by its ratio.
fn distance(a: &Scope, b: &Scope) -> f64 {
    let log = |value: Option<&i64>| (value.copied().unwrap_or(0).max(0) as f64 + 1.0).ln();
    let names = a
        .keys()
        .chain(b.keys().filter(|name| !a.contains_key(*name)));
    names
        .map(|name| (log(a.get(name)) - log(b.get(name))).powi(2))
        .sum()
}

/// The values in the order of the case; `None` where they are not those of its tunables.
fn of_json(case: &Case, values: &BTreeMap<String, serde_json::Value>) -> Option<Choice> {
    let mut choice = case.first_choice();
    if values.len() != choice.len() {
        return None;
    }
    for (name, chosen) in &mut choice {
        *chosen = match values.get(name)? {
            serde_json::Value::Number(number) => TunableValue::Whole(number.as_i64()?),
            serde_json::Value::String(word) => TunableValue::Word(word.clone()),
            _ => return None,
        };
    }
    Some(choice)
}

pub(super) fn as_json(point: &Point) -> BTreeMap<String, serde_json::Value> {
    let pairs = point.iter().map(|(name, value)| {
        let value = match value {
            TunableValue::Whole(value) => (*value).into(),
            TunableValue::Word(word) => word.clone().into(),
        };
        (name.clone(), value)
    });
    pairs.collect()
}

pub(super) fn describe(winners: &[Winner], case: &Case) -> String {
    let mut table = Table::new(&[
        "size",
        "best",
        ">time",
        ">first values",
        ">next",
        ">measured",
        ">refused",
        ">took",
    ]);
    for winner in winners {
        let choice: Vec<String> = winner
            .choice
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        table.row([
            size_words(&winner.size, &case.sizes.names),
            choice.join(" "),
            Seconds(winner.seconds).to_string(),
            winner.first_choice_seconds.map_or("-".into(), |first| {
                format!("{:.2} ×", first / winner.seconds)
            }),
            winner.second.as_ref().map_or("-".into(), |(_, margin)| {
                format!("{:+.1} %", 100.0 * margin)
            }),
            format!("{} of {}", winner.measured, winner.points),
            winner.refused.to_string(),
            format!("{:.1} s", winner.took),
        ]);
    }
    let mut text = table.to_string();
    for winner in winners {
        let size = size_words(&winner.size, &case.sizes.names);
        text.push_str(&format!(
            "\nwhat mattered{}{size}\n",
            if size.is_empty() { "" } else { " at " }
        ));
        for (name, share) in &winner.importance {
            let bar = "#".repeat((share * 40.0).round() as usize);
            text.push_str(&format!("  {name:<16} {:>5.1} %  {bar}\n", 100.0 * share));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn winner(n: i64, block: i64) -> Winner {
        Winner {
            size: [("n".to_owned(), n)].into(),
            choice: [("BLOCK".to_owned(), block.into())].into(),
            seconds: 1e-6,
            first_choice_seconds: None,
            second: None,
            measured: 1,
            points: 1,
            refused: 0,
            took: 1.0,
            phases: Phases::default(),
            importance: Vec::new(),
        }
    }

    #[test]
    fn a_size_gets_its_own_winner_else_the_nearest_that_fits() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        let text = "source = \"a.cu\"\nconstraints = [\"BLOCK <= n\"]\n[sizes]\nn = [64, 1024]\n[launch]\ngrid = 1\n\
                    block = \"BLOCK\"\n[tunables]\nBLOCK = [32, 64, 256]\n";
        let case = Case::parse(&file, text).unwrap();
        let size = |n: i64| -> Scope { [("n".to_owned(), n)].into() };
        let at = |n: i64| chosen(&case, "GPU", &size(n)).unwrap();
        assert!(at(64).is_none());
        let tuned = file.with_extension("tuned.json");
        write(&tuned, "GPU", &[winner(1024, 256), winner(16, 64)]).unwrap();
        let exact = at(1024).unwrap();
        assert_eq!(
            (&exact.choice[0].1, &exact.tuned_at),
            (&TunableValue::Whole(256), &None)
        );
        // 256 threads do not fit into 100 elements; the other winner does.
        let near = at(100).unwrap();
        assert_eq!(near.choice[0].1, TunableValue::Whole(64));
        assert_eq!(near.tuned_at, Some(size(16)));
        assert!(chosen(&case, "another", &size(1024)).unwrap().is_none());
        fs::write(&tuned, "not one").unwrap();
        let error = chosen(&case, "GPU", &size(64)).err().unwrap().to_string();
        assert!(error.contains("is no file of winners"), "{error}");
    }
}
