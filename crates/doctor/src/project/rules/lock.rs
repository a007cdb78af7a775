//! Whether what an image installs is the same tomorrow.

use super::Check;
use super::place::at;
use crate::conclude::{Judgement, applies, one, pass};
use crate::project::facts::{ProjectFacts, is_test};
use crate::project::parse::dockerfile::Dockerfile;
use crate::project::parse::requirements::{Requirement, parse_requirement};
use crate::project::parse::shell;

pub(super) const RULES: &[Check] = &[("DEP005", no_lock)];

/// The first requirement of an image that more than one release satisfies: file, line, and which.
fn installed_range(facts: &ProjectFacts) -> Option<(String, u32, String)> {
    let installs = |file: &Dockerfile| -> Vec<(u32, Vec<String>)> {
        let runs = file.stages.iter().flat_map(|s| &s.instructions);
        runs.filter(|i| i.keyword == "RUN")
            .flat_map(|i| {
                shell::commands(&i.arguments)
                    .into_iter()
                    .map(|c| (i.line, c))
            })
            .filter(|(_, words)| words.iter().any(|w| w == "install" || w == "sync"))
            .collect()
    };
    let is_open = |r: &Requirement| r.range.pinned().is_none();
    for image in &facts.dockerfiles {
        for (line, words) in installs(image) {
            // A file of constraints may pin what the command does not.
            let constrained = words.iter().any(|w| w == "-c" || w == "--constraint");
            let named = |leaf: &str| words.iter().any(|w| w.rsplit('/').next() == Some(leaf));
            let own = words
                .iter()
                .any(|w| w == "." || w.starts_with(".[") || w == "sync");
            let meant = |file: &str| {
                let leaf = file.rsplit('/').next().unwrap_or(file);
                let project = matches!(leaf, "setup.py" | "pyproject.toml") && own;
                project || named(leaf)
            };
            let file = nearest(facts, &image.path, meant);
            let demand = facts
                .demands()
                .filter(|r| Some(r.file.as_str()) == file)
                .find(|r| is_open(r));
            if let Some(r) = demand.filter(|_| !constrained) {
                return Some((r.file.clone(), r.line, format!("{}{}", r.name, r.range)));
            }
            let install = words
                .iter()
                .position(|w| w == "install")
                .unwrap_or(words.len());
            // `apt install pip` installs it.
            let is_pip = |w: &String| matches!(w.as_str(), "pip" | "pip3" | "uv");
            let pip = words[..install].iter().any(is_pip);
            let bare = words[install..].iter().skip(1).find(|w| {
                let plain = w
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.[]<>=~!,".contains(c));
                let name = w.starts_with(|c: char| c.is_ascii_alphabetic()) && !w.contains(".txt");
                let tool = matches!(w.as_str(), "pip" | "setuptools" | "wheel" | "uv");
                plain && name && !tool && parse_requirement(w).is_some_and(|r| is_open(&r))
            });
            if let Some(word) = bare.filter(|_| pip && !constrained && !takes_values(&words)) {
                return Some((image.path.clone(), line, word.clone()));
            }
        }
    }
    None
}

/// The file of requirements that an image means: beside it or above it, which is where an image is built
/// from, else the only one there is.
fn nearest<'f>(
    facts: &'f ProjectFacts,
    image: &str,
    meant: impl Fn(&str) -> bool,
) -> Option<&'f str> {
    let folder_of = |path: &str| path.rfind('/').map_or(0, |end| end + 1);
    let files = || {
        let demands = facts.demands().filter(|r| !is_test(&r.file));
        demands.map(|r| r.file.as_str()).filter(|file| meant(file))
    };
    let above = files().filter(|file| image.starts_with(&file[..folder_of(file)]));
    above.max_by_key(|file| folder_of(file)).or_else(|| {
        let first = files().next()?;
        files().all(|file| file == first).then_some(first)
    })
}

/// Whether an option's value stands among the words, which is then no package.
fn takes_values(words: &[String]) -> bool {
    const OPTIONS: [&str; 7] = [
        "-r",
        "--requirement",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--target",
    ];
    words.iter().any(|w| OPTIONS.contains(&w.as_str()))
}

fn no_lock(facts: &ProjectFacts) -> Judgement {
    applies(facts.is_service(), "not a deployed service")?;
    let locked = facts.files.iter().any(|f| {
        let name = f.rsplit('/').next().unwrap_or(f);
        matches!(
            name,
            "poetry.lock"
                | "uv.lock"
                | "Pipfile.lock"
                | "pdm.lock"
                | "conda-lock.yml"
                | "pylock.toml"
        ) || name.ends_with(".lock.txt")
    });
    if locked || facts.requirements.iter().any(|r| r.has_hash) {
        return pass();
    }
    let Some((file, line, range)) = installed_range(facts) else {
        return pass();
    };
    one(at(
        "DEP005",
        &file,
        line,
        "the image installs ranges: the same commit gives another image tomorrow",
        range,
    )
    .because("files", "no lock file, no hashes")
    .hint("lock with `uv pip compile --generate-hashes` and install from the lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::parse::requirements::parse_requirements;

    #[test]
    fn what_is_pinned_is_no_range() {
        let seen = |requirements: &str, run: &str| {
            let facts = ProjectFacts {
                requirements: parse_requirements("requirements.txt", requirements).0,
                dockerfiles: vec![Dockerfile::parse(
                    "Dockerfile",
                    &format!("FROM a\nRUN {run}\n"),
                )],
                ..ProjectFacts::default()
            };
            installed_range(&facts).map(|(file, line, text)| format!("{file}:{line} {text}"))
        };
        let file = "pip install -r requirements.txt";
        assert_eq!(seen("flask==3.0.0\ntorch==2.8.0\n", file), None);
        assert_eq!(
            seen("flask==3.0.0\nnumpy>=1.2\n", file).as_deref(),
            Some("requirements.txt:2 numpy>=1.2")
        );
        assert_eq!(seen("numpy>=1.2\n", "pip install flask==3.0.0"), None);
        assert_eq!(seen("", "pip install --upgrade pip"), None);
        assert_eq!(seen("", "apt install -y git pip bash"), None);
        assert_eq!(
            seen("", "pip install flask gunicorn==1.0").as_deref(),
            Some("Dockerfile:2 flask")
        );
        assert_eq!(
            seen("numpy\n", "pip install -r requirements.txt -c all.txt"),
            None
        );
    }

    #[test]
    fn an_image_installs_the_file_that_lies_nearest() {
        let of = |file: &str, text: &str| parse_requirements(file, text).0;
        let facts = ProjectFacts {
            requirements: [
                of("sdk/requirements.txt", "mock>=1.3\n"),
                of("web/requirements.txt", "flask==3.0.0\n"),
            ]
            .concat(),
            dockerfiles: vec![Dockerfile::parse(
                "web/Dockerfile",
                "FROM a\nRUN pip install -r requirements.txt\n",
            )],
            ..ProjectFacts::default()
        };
        assert_eq!(installed_range(&facts), None);
    }
}
