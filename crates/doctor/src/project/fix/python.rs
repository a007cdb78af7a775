//! Fixing setup.py, requirements, Python code and documentation lines.

use warpsmith_core::Finding;

use super::edits::Edits;
use super::{Fixer, place, quoted};
use crate::project::arch_list::{self, ProposedList};
use crate::project::facts::ProjectFacts;
use warpsmith_compatibility::database;
use warpsmith_compatibility::{Target, TorchArchList};

pub(super) const FIXERS: &[(&str, Fixer)] = &[
    ("BLD001", default_list),
    ("BLD002", add_ptx),
    ("BLD004", drop_arch),
    ("BLD006", build_requires),
    ("BLD007", escape),
    ("BLD008", standard),
    ("BLD014", cmake_minimum),
    ("DEP006", renamed),
    ("DEP007", companion),
    ("DEP009", https),
    ("DOC008", install_text),
    ("SEC002", weights_only),
];

fn import_os(file: &str, edits: &mut Edits<'_>) {
    if edits
        .find(file, 1, |l| {
            l.trim() == "import os" || l.starts_with("import os,")
        })
        .is_none()
    {
        edits.insert_later(file, "import os", |_| true);
    }
}

fn default_list(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, _)) = place(finding) else {
        return;
    };
    let Some(ProposedList { list, source }) = arch_list::list_for(facts) else {
        return;
    };
    // The import must stand at the top: an indented one is inside a function or a `try`.
    edits.insert_later(
        file,
        &format!("import os\n# What {source} compiles for; {}.\nos.environ.setdefault(\"TORCH_CUDA_ARCH_LIST\", \"{list}\")", arch_list::MARK),
        |l| l.contains("torch") && (l.starts_with("import ") || l.starts_with("from ")),
    );
}

fn add_ptx(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line, list)) = quoted(finding) else {
        return;
    };
    // Only a TORCH_CUDA_ARCH_LIST stands in the file as it is quoted.
    edits.change(file, line, |text| {
        let dotted = TorchArchList::dotted(list);
        let found = if text.contains(list) {
            list
        } else {
            dotted.as_str()
        };
        text.replacen(found, &format!("{found}+PTX"), 1)
    });
}

fn drop_arch(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line, list)) = quoted(finding) else {
        return;
    };
    let gone: Vec<Target> = finding
        .message
        .split(" cannot be compiled")
        .next()
        .unwrap_or("")
        .split(", ")
        .filter_map(Target::parse)
        .collect();
    let kept: Vec<&str> = list
        .split([';', ' '])
        .filter(|entry| {
            !Target::parse(entry.trim_end_matches("+PTX")).is_some_and(|t| gone.contains(&t))
        })
        .collect();
    let separator = if list.contains(';') { ";" } else { " " };
    if !kept.is_empty() {
        edits.change(file, line, |text| text.replace(list, &kept.join(separator)));
    }
}

fn build_requires(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, _)) = place(finding) else {
        return;
    };
    let own = match file.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/pyproject.toml"),
        None => "pyproject.toml".to_owned(),
    };
    const BLOCK: &str = "[build-system]\nrequires = [\"setuptools\", \"wheel\", \"torch\"]\nbuild-backend = \"setuptools.build_meta\"";
    match facts.pyprojects.iter().find(|p| p.path == own) {
        None => edits.create(&own, BLOCK),
        Some(p) if p.fault.is_some() => {}
        Some(p) if p.build_requires.is_none() => {
            edits.insert_before(&own, 1, &format!("{BLOCK}\n"))
        }
        Some(_) => {
            if let Some(section) = edits.find(&own, 1, |l| l.trim() == "[build-system]")
                && let Some(line) = edits.find(&own, section, |l| {
                    l.trim_start().starts_with("requires") && l.contains('[')
                })
            {
                let opens = |l: &str| l.trim_end().ends_with('[');
                if edits.line(&own, line).is_some_and(|l| opens(&l)) {
                    edits.insert_before(&own, line + 1, "    \"torch\",");
                } else {
                    edits.change(&own, line, |l| l.replacen('[', "[\"torch\", ", 1));
                }
            }
        }
    }
}

fn escape(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    // Up to the condition that leads here.
    for n in (line.saturating_sub(12).max(1)..=line).rev() {
        let Some(text) = edits.line(file, n) else {
            return;
        };
        let body = text.trim_start();
        if body.starts_with("if not ") && body.ends_with(':') {
            edits.change(file, n, |l| {
                format!(
                    "{} and os.environ.get(\"FORCE_CUDA\") != \"1\":",
                    l.trim_end().trim_end_matches(':')
                )
            });
            import_os(file, edits);
            return;
        }
        if let Some(condition) = body
            .strip_prefix("if ")
            .filter(|b| b.contains("is_available()") && b.ends_with(':'))
        {
            let condition = condition.trim_end_matches(':').to_owned();
            edits.change(file, n, |l| {
                let indent = &l[..l.len() - l.trim_start().len()];
                format!("{indent}if ({condition}) or os.environ.get(\"FORCE_CUDA\") == \"1\":")
            });
            import_os(file, edits);
            return;
        }
    }
}

fn standard(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let needed = finding
        .message
        .rsplit("C++")
        .next()
        .unwrap_or("")
        .to_owned();
    if let Some((file, line)) = place(finding)
        && needed.parse::<u32>().is_ok()
    {
        let old = finding
            .evidence
            .first()
            .map_or(String::new(), |e| e.seen.clone());
        edits.change(file, line, |l| {
            l.replace(&old, &format!("-std=c++{needed}"))
        });
    }
}

fn cmake_minimum(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let floor = finding
        .hint
        .as_deref()
        .and_then(|h| h.rsplit(' ').next())
        .unwrap_or("")
        .to_owned();
    if let Some((file, line, old)) = quoted(finding) {
        edits.change(file, line, |l| l.replacen(old, &floor, 1));
    }
}

fn renamed(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line, old)) = quoted(finding) else {
        return;
    };
    let Some(new) = finding
        .hint
        .as_deref()
        .and_then(|h| h.strip_prefix("require "))
        .filter(|n| !n.contains(' '))
        .map(str::to_owned)
    else {
        return;
    };
    // The old package's version means nothing for the new one.
    edits.change(file, line, |l| {
        let Some(at) = l.find(old) else {
            return l.to_owned();
        };
        let rest = &l[at + old.len()..];
        let end = rest.find(['"', '\'', '#', ';']).unwrap_or(rest.len());
        let tail = if end < rest.len() { &rest[end..] } else { "" };
        format!(
            "{}{new}{}{tail}",
            &l[..at],
            if tail.starts_with('#') { "  " } else { "" }
        )
    });
}

fn companion(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let torch = facts
        .demands()
        .find(|r| r.name == "torch" && r.file == file)
        .and_then(|r| r.range.pinned().cloned());
    let Some((name, old)) = finding
        .evidence
        .first()
        .and_then(|e| e.seen.split_once("=="))
    else {
        return;
    };
    let right = torch.and_then(|torch| {
        database()
            .releases(name)
            .into_iter()
            .filter(|row| {
                database()
                    .torch_pin(name, &row.version)
                    .is_some_and(|r| r.pinned().is_some() && r.contains(&torch))
            })
            .map(|row| row.version.clone())
            .max()
    });
    if let Some(right) = right {
        edits.change(file, line, |l| l.replacen(old, &right.to_string(), 1));
    }
}

fn https(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if let Some((file, line)) = place(finding).filter(|_| finding.message.contains("HTTP")) {
        edits.change(file, line, |l| l.replacen("http://", "https://", 1));
    }
}

fn install_text(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    const NEW: [(&str, &str); 4] = [
        ("python setup.py install", "pip install ."),
        ("python setup.py develop", "pip install -e ."),
        ("nvidia-docker run", "docker run --gpus all"),
        ("nvidia-docker2", "nvidia-container-toolkit"),
    ];
    // The section is the place; its lines are the evidence.
    for evidence in &finding.evidence {
        let Some((file, line)) = evidence.source.rsplit_once(':') else {
            continue;
        };
        if let (Ok(line), Some((old, new))) = (
            line.parse(),
            NEW.iter().find(|(old, _)| *old == evidence.seen),
        ) {
            edits.change(file, line, |l| {
                // The old command may carry the new one's option already.
                let new = match l.contains("--gpus") {
                    true => new.trim_end_matches(" --gpus all"),
                    false => new,
                };
                l.replace(old, new)
            });
        }
    }
}

fn weights_only(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    edits.change(file, line, |l| {
        let Some(at) = l.find("torch.load(") else {
            return l.to_owned();
        };
        let mut depth = 0;
        for (n, c) in l[at..].char_indices() {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        return format!("{}, weights_only=True{}", &l[..at + n], &l[at + n..]);
                    }
                }
                _ => {}
            }
        }
        l.to_owned()
    });
}
