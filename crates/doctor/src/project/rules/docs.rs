//! Rules about documentation and licence, and about promises that code does not keep.

use std::collections::BTreeMap;

use warpsmith_core::Span;

use super::Check;
use super::place::{as_info, at};
use crate::conclude::{Judgement, applies, finding, not_applicable, one, pass};
use crate::project::facts::ProjectFacts;
use crate::project::proof::speaks_of_a_licence;
use warpsmith_compatibility::Version;

pub(super) const RULES: &[Check] = &[
    ("DOC001", no_driver),
    ("DOC002", cuda_version),
    ("DOC003", no_cudnn),
    ("DOC004", no_capability),
    ("DOC005", licence),
    ("DOC006", community_files),
    ("DOC007", broken_links),
    ("DOC008", removed_mechanisms),
    ("DOC009", claims_without_benchmark),
    ("DOC010", contradicted_claims),
];

const NO_README: &str = "no README";
const NO_CUDA: &str = "no CUDA code";

fn no_driver(facts: &ProjectFacts) -> Judgement {
    // A project of Python alone that asks its users for CUDA owes them the driver as well.
    if !facts.has_cuda() && !asks_for_cuda(facts) {
        return not_applicable(NO_CUDA);
    }
    let Some(readme) = facts.readme() else {
        return one(finding(
            "DOC001",
            "the lowest NVIDIA driver is not documented, and there is no README",
        )
        .because("README", "absent")
        .hint("state it: `warpsmith check` prints the table for your CUDA version"));
    };
    let first_read = facts.documents.iter().filter(|d| {
        let lower = d.path.to_ascii_lowercase();
        let name = lower.rsplit('/').next().unwrap_or(&lower);
        let begins = |words: &[&str]| words.iter().any(|w| name.starts_with(w));
        begins(&["install", "requirement", "prerequisite", "getting"])
            || !lower.contains('/') && name.starts_with("readme")
    });
    let stated = first_read.into_iter().any(|d| {
        d.lower().any(|(_, line)| {
            line.match_indices("driver").any(|(at, _)| {
                let mut end = (at + 45).min(line.len());
                while !line.is_char_boundary(end) {
                    end -= 1;
                }
                let tail = &line[at..end];
                // `a CUDA 13.3 driver` names it as well.
                let mut before = line[..at].split_whitespace().rev().take(2);
                let of_cuda = before.next().is_some_and(|w| {
                    w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.')
                }) && before.next().is_some_and(|w| w.ends_with("cuda"));
                if of_cuda {
                    return true;
                }
                // Three digits behind the word: `driver >= 515`, `driver version 535.54`.
                tail.split(|c: char| !(c.is_ascii_digit() || c == '.'))
                    .any(|n| {
                        let major = n.split('.').next().unwrap_or("");
                        major.len() == 3
                            && major.parse::<u32>().is_ok_and(|n| (380..700).contains(&n))
                    })
            })
        })
    });
    if stated {
        return pass();
    }
    // Where the text states its demands; a badge is a picture of them.
    let documented = documented_cuda(facts);
    let line = documented
        .iter()
        .find(|(_, l, _)| !readme.is_badge(*l))
        .or(documented.first())
        .map_or(1, |(_, l, _)| *l);
    one(at(
        "DOC001",
        &readme.path,
        line,
        "the lowest NVIDIA driver is not documented",
        "no driver version",
    )
    .hint(
        "state it beside the CUDA version, for example: CUDA 12.x needs driver 525.60.13 or newer",
    ))
}

/// Whether the README demands a CUDA version or a compute capability of its reader.
fn asks_for_cuda(facts: &ProjectFacts) -> bool {
    !documented_cuda(facts).is_empty()
        || facts
            .readme()
            .is_some_and(|d| d.lower().any(|(_, l)| l.contains("compute capability")))
}

/// CUDA versions that the user documentation names: file, line, version.
pub(in crate::project) fn documented_cuda(facts: &ProjectFacts) -> Vec<(String, u32, Version)> {
    let mut found = Vec::new();
    for document in facts.readme().into_iter() {
        for (number, line) in document.lower() {
            for (at, _) in line.match_indices("cuda") {
                let tail: String = line[at + 4..].chars().take(14).collect();
                let tail = tail.trim_start_matches([
                    '-', ' ', '_', '>', '=', '≥', '%', 'v', ':', '*', '`', '(',
                ]);
                let tail = tail
                    .strip_prefix("toolkit ")
                    .or_else(|| tail.strip_prefix("version "))
                    .unwrap_or(tail)
                    .trim_start_matches(['>', '=', '≥', ' ']);
                let text: String = tail
                    .chars()
                    .take_while(|c| c.is_ascii_digit() || *c == '.')
                    .collect();
                if let Some(version) = Version::parse(text.trim_end_matches('.'))
                    .filter(|v| (9..20).contains(&v.major()) && v.precision() >= 2)
                {
                    found.push((document.path.clone(), number, version));
                }
            }
        }
    }
    found
}

fn cuda_version(facts: &ProjectFacts) -> Judgement {
    applies(facts.has_cuda(), NO_CUDA)?;
    let Some(readme) = facts.readme() else {
        return not_applicable(NO_README);
    };
    let documented = documented_cuda(facts);
    let Some((file, ..)) = documented.first() else {
        return one(as_info(
            at(
                "DOC002",
                &readme.path,
                1,
                "no CUDA version is documented",
                "no CUDA version",
            )
            .hint("state the versions that you build and test"),
        ));
    };
    // A badge or heading that promises another lowest version than the text.
    let lowest = documented
        .iter()
        .filter(|(_, l, _)| {
            readme.lines.get(*l as usize - 1).is_some_and(|t| {
                // `%2B` is a plus sign in the address of a badge.
                let t = t.to_lowercase();
                [
                    "+",
                    "%2b",
                    "or later",
                    "or newer",
                    "or higher",
                    "or above",
                    ">=",
                    "≥",
                ]
                .iter()
                .any(|w| t.contains(w))
            })
        })
        .collect::<Vec<_>>();
    if let (Some((_, badge_line, badge)), Some((_, text_line, text))) = (
        lowest.first(),
        lowest.iter().find(|(_, _, v)| {
            lowest
                .first()
                .is_some_and(|(_, _, f)| v.minor_name() != f.minor_name())
        }),
    ) {
        return one(as_info(
            at(
                "DOC002",
                file,
                *badge_line,
                format!("the documentation contradicts itself: CUDA {badge} and CUDA {text}"),
                badge.to_string(),
            )
            .because(format!("{file}:{text_line}"), text.to_string())
            .hint("state one lowest version"),
        ));
    }
    pass()
}

fn no_cudnn(facts: &ProjectFacts) -> Judgement {
    let uses = facts
        .cuda
        .iter()
        .chain(&facts.cxx)
        .any(|f| f.includes.iter().any(|i| i.name.starts_with("cudnn")));
    applies(uses, "cuDNN is not used")?;
    let Some(readme) = facts.readme() else {
        return not_applicable(NO_README);
    };
    if facts.user_documents().any(|d| {
        d.lower()
            .any(|(_, l)| l.contains("cudnn") && l.contains(|c: char| c.is_ascii_digit()))
    }) {
        return pass();
    }
    one(as_info(
        at(
            "DOC003",
            &readme.path,
            1,
            "the code uses cuDNN and no version is documented",
            "no cuDNN version",
        )
        .hint("state the major version"),
    ))
}

fn no_capability(facts: &ProjectFacts) -> Judgement {
    applies(facts.has_cuda(), NO_CUDA)?;
    let Some(readme) = facts.readme() else {
        return not_applicable(NO_README);
    };
    let words = [
        "compute capability",
        "sm_",
        "sm8",
        "sm9",
        "ampere",
        "hopper",
        "turing",
        "volta",
        "blackwell",
        "pascal",
    ];
    if facts
        .user_documents()
        .any(|d| d.lower().any(|(_, l)| words.iter().any(|w| l.contains(w))))
    {
        return pass();
    }
    one(as_info(
        at(
            "DOC004",
            &readme.path,
            1,
            "the supported GPUs are not documented",
            "no compute capability, no generation",
        )
        .hint("name the lowest compute capability"),
    ))
}

fn licence(facts: &ProjectFacts) -> Judgement {
    let is_licence = |name: &str| {
        ["license", "licence", "copying", "unlicense"]
            .iter()
            .any(|w| name.starts_with(w))
    };
    let has = facts.files.iter().any(|f| {
        let lower = f.to_ascii_lowercase();
        !f.contains('/') && is_licence(&lower) || lower.starts_with("licenses/")
    });
    // A README may lead to the texts in a folder.
    let linked = facts.readme().is_some_and(|d| {
        d.links.iter().any(|link| {
            let target = link.target.trim_start_matches("./");
            let lower = target.to_ascii_lowercase();
            (lower.contains("licen") || lower.contains("copying")) && facts.has_file(target)
        })
    });
    if has || linked {
        return pass();
    }
    let named = facts.readme().and_then(|d| {
        d.lower()
            .find(|(_, l)| {
                // A heading of that name has the licence below it.
                (l.contains("license") || l.contains("licence"))
                    && (l.starts_with('#')
                        || ["mit", "apache", "bsd", "gpl", "same licen"]
                            .iter()
                            .any(|w| l.contains(w)))
            })
            .map(|(n, _)| (d.path.clone(), n))
    });
    let named = named.or_else(|| {
        let mut own = facts.setups.iter().filter(|s| s.path == "setup.py");
        own.find_map(|setup| {
            let mut lines = (1u32..).zip(setup.text.lines());
            let (line, _) = lines.find(|(_, l)| l.trim_start().starts_with("license="))?;
            Some((setup.path.clone(), line))
        })
    });
    match named {
        Some((file, line)) => one(at(
            "DOC005",
            &file,
            line,
            format!("{file} names a licence, and there is no licence file"),
            "no LICENSE",
        )
        .hint("add the licence's text as LICENSE")),
        // Many projects in one repository may each have their own.
        None if facts.files.iter().any(|f| {
            let lower = f.to_ascii_lowercase();
            lower.rsplit('/').next().is_some_and(is_licence)
        }) =>
        {
            one(as_info(
                finding(
                    "DOC005",
                    "there is no licence file at the root, only in folders",
                )
                .because("LICENSE", "absent at the root")
                .hint("say in the README which licence is for what"),
            ))
        }
        None => {
            let message = match speaks_of_a_licence(facts) {
                Some(path) => format!("there is no licence file; `{path}` speaks of a licence"),
                None => "there is no licence file: nobody may use this".to_owned(),
            };
            one(finding("DOC005", message)
                .because("LICENSE", "absent")
                .hint("choose a licence and add its text as LICENSE"))
        }
    }
}

fn community_files(facts: &ProjectFacts) -> Judgement {
    let has = |stem: &str| {
        facts.files.iter().any(|f| {
            let lower = f.to_ascii_lowercase();
            let name = lower.rsplit('/').next().unwrap_or(&lower);
            lower.matches('/').count() <= 1 && name.starts_with(stem)
        })
    };
    let missing: Vec<&str> = [
        ("changelog", "CHANGELOG"),
        ("security", "SECURITY.md"),
        ("contributing", "CONTRIBUTING.md"),
    ]
    .iter()
    .filter(|(stem, _)| {
        !has(stem)
            && !(*stem == "changelog"
                && (has("changes") || has("releases") || has("history") || has("news")))
    })
    .map(|(_, name)| *name)
    .collect();
    if missing.is_empty() {
        return pass();
    }
    one(as_info(finding("DOC006", format!("missing: {}", missing.join(", "))).because("files", "absent").hint("add short ones: what changed, how to report a vulnerability, how to build and test")))
}

fn broken_links(facts: &ProjectFacts) -> Judgement {
    let Some(readme) = facts.readme() else {
        return not_applicable(NO_README);
    };
    if readme.path.ends_with(".rst") {
        return not_applicable("the README is not Markdown");
    }
    Ok(readme
        .links
        .iter()
        .filter(|link| {
            let target = link.target.trim_start_matches("./").trim_end_matches('/');
            // Only files: a folder is listed through what is in it, and links may leave the project.
            let known = target.starts_with("..")
                || target.contains('{')
                || target.contains('%')
                || facts.has_file(target)
                || facts
                    .files
                    .iter()
                    .any(|f| f.starts_with(&format!("{target}/")));
            !known && !facts.root.join(target).exists()
        })
        .map(|link| {
            at(
                "DOC007",
                &readme.path,
                link.line,
                format!("`{}` does not exist", link.target),
                link.target.clone(),
            )
            .hint("correct or remove the link")
        })
        .collect())
}

fn removed_mechanisms(facts: &ProjectFacts) -> Judgement {
    const OLD: [(&str, &str); 5] = [
        ("nvidia-docker2", "install nvidia-container-toolkit"),
        (
            "apt-key add",
            "put the key into /etc/apt/keyrings and name it with signed-by",
        ),
        ("nvidia-docker run", "docker run --gpus all"),
        ("python setup.py install", "pip install ."),
        ("python setup.py develop", "pip install -e ."),
    ];
    let documents: Vec<_> = facts
        .user_documents()
        .filter(|d| !d.path.to_ascii_lowercase().contains("change"))
        .collect();
    applies(!documents.is_empty(), NO_README)?;
    let mut findings = Vec::new();
    for document in documents.into_iter().filter(|d| !d.path.contains('/')) {
        // A section that is out of date is one task: its lines are the evidence.
        let mut sections: BTreeMap<u32, Vec<(u32, &str, &str)>> = BTreeMap::new();
        for (number, line) in document.lower() {
            for (old, new) in OLD.iter().filter(|(old, _)| line.contains(old)) {
                let section = document.section_of(number).unwrap_or(number);
                sections
                    .entry(section)
                    .or_default()
                    .push((number, old, new));
            }
        }
        for (start, lines) in sections {
            let mut old: Vec<String> = lines.iter().map(|(_, old, _)| format!("`{old}`")).collect();
            let mut new: Vec<&str> = lines.iter().map(|(_, _, new)| *new).collect();
            old.dedup();
            new.dedup();
            let mut found = finding(
                "DOC008",
                format!(
                    "this section uses what is removed or retired: {}",
                    old.join(", ")
                ),
            )
            .at(Span::line(document.path.clone(), start))
            .hint(format!("write: {}", new.join("; ")));
            for (number, old, _) in lines {
                found = found.because(format!("{}:{number}", document.path), old);
            }
            findings.push(found);
        }
    }
    Ok(findings)
}

fn claims_without_benchmark(facts: &ProjectFacts) -> Judgement {
    let Some(readme) = facts.readme().filter(|_| facts.has_cuda()) else {
        return not_applicable("no README, or no CUDA code");
    };
    let bench = facts.files.iter().any(|f| {
        let lower = f.to_ascii_lowercase();
        lower
            .split('/')
            .any(|part| part.starts_with("bench") || part.contains("benchmark"))
    });
    if bench {
        return pass();
    }
    let claims = readme.lower().filter(|(_, l)| {
        let digit = l.contains(|c: char| c.is_ascii_digit());
        digit
            && (l.contains("x faster")
                || l.contains("times faster")
                || l.contains("x speedup")
                || l.contains("speed-up")
                || (l.contains("latency") && l.contains("ms"))
                || l.contains("ms latency"))
    });
    Ok(claims
        .take(20)
        .map(|(line, text)| {
            at(
                "DOC009",
                &readme.path,
                line,
                "a performance figure, and nothing in the repository that measures it",
                text.trim().chars().take(80).collect::<String>(),
            )
            .hint("add the benchmark and the conditions of the figure, or remove it")
        })
        .collect())
}

fn contradicted_claims(facts: &ProjectFacts) -> Judgement {
    let claim = facts.readme().and_then(|d| {
        d.lower()
            .find(|(_, l)| l.contains("cpu") && (l.contains("fallback") || l.contains("fall back")))
            .map(|(n, _)| (d.path.clone(), n))
    });
    let Some((file, line)) = claim else {
        return not_applicable("no claim that can be compared with code");
    };
    match facts
        .setups
        .iter()
        .find_map(|s| Some((&s.path, s.needs_gpu?)))
    {
        None => pass(),
        Some((setup, exit)) => one(as_info(
            at(
                "DOC010",
                &file,
                line,
                "a CPU fallback is promised, and the build ends without a GPU",
                "CPU fallback",
            )
            .because(
                format!("{setup}:{exit}"),
                "ends when torch.cuda.is_available() is false",
            )
            .hint("make the build pass without a GPU, or take the promise back"),
        )),
    }
}
