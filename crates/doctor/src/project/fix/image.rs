//! Fixing Dockerfiles.

use warpsmith_core::{Finding, Severity};

use super::edits::Edits;
use super::{Fixer, place, quoted};
use crate::project::arch_list;
use crate::project::facts::ProjectFacts;
use crate::project::rules::cuda_of_image;
use warpsmith_compatibility::TorchArchList;
use warpsmith_compatibility::lifecycle;

pub(super) const FIXERS: &[(&str, Fixer)] = &[
    ("BLD003", dotted),
    ("BLD005", add_documented),
    ("DKR001", user),
    ("DKR002", healthcheck),
    ("DKR005", supported_system),
    ("DKR006", arch_list),
    ("DKR007", add_documented),
    ("DKR008", apt),
    ("DKR012", nvidia_variables),
    ("DKR013", ask_for_gpu),
];

fn dotted(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if let Some((file, line, list)) = quoted(finding) {
        edits.change(file, line, |text| {
            text.replace(list, &TorchArchList::dotted(list))
        });
    }
}

fn add_documented(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some(promised) = finding
        .evidence
        .get(1)
        .and_then(|e| e.seen.rsplit(' ').next())
    else {
        return;
    };
    if let Some((file, line, list)) = quoted(finding) {
        let dotted = TorchArchList::dotted(list);
        if dotted.split(';').any(|entry| entry == promised) || list.contains("sm_") {
            return;
        }
        // The list may have been fixed on this line already.
        edits.change(file, line, |text| {
            let found = if text.contains(list) {
                list
            } else {
                dotted.as_str()
            };
            text.replace(found, &format!("{promised};{dotted}"))
        });
    }
}

/// The line of the last CMD or ENTRYPOINT, or one behind the end.
fn before_start(file: &str, edits: &mut Edits<'_>) -> u32 {
    let mut at = None;
    let mut from = 1;
    while let Some(line) = edits.find(file, from, |l| {
        l.starts_with("CMD") || l.starts_with("ENTRYPOINT") || l.starts_with("FROM ")
    }) {
        let is_from = edits
            .line(file, line)
            .is_some_and(|l| l.starts_with("FROM "));
        at = if is_from { None } else { at.or(Some(line)) };
        from = line + 1;
    }
    at.unwrap_or(u32::MAX)
}

fn user(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    // A note is about an image whose user somebody else chooses.
    let Some((file, line)) = place(finding).filter(|_| finding.severity != Severity::Info) else {
        return;
    };
    if edits
        .line(file, line)
        .is_some_and(|l| l.trim_start().starts_with("USER"))
    {
        edits.change(file, line, |_| {
            "RUN useradd --create-home app\nUSER app".to_owned()
        });
        return;
    }
    let at = before_start(file, edits);
    edits.insert_before(file, at, "RUN useradd --create-home app\nUSER app");
}

fn healthcheck(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, _)) = place(finding) else {
        return;
    };
    let port = finding
        .evidence
        .first()
        .and_then(|e| e.seen.split_whitespace().nth(1))
        .map_or("8080", |p| p.split('/').next().unwrap_or(p))
        .to_owned();
    let at = before_start(file, edits);
    // Any image with Python can ask itself; curl may not be there.
    let text = format!(
        "HEALTHCHECK --interval=30s --timeout=10s CMD python3 -c \"import urllib.request; urllib.request.urlopen('http://localhost:{port}/health')\" || exit 1"
    );
    edits.insert_before(file, at, &text);
}

fn arch_list(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    // A setup.py that ends without a GPU is fixed in setup.py.
    if facts.extension().is_some_and(|s| s.needs_gpu.is_some()) {
        return;
    }
    let Some((file, line)) = place(finding) else {
        return;
    };
    if let Some(proposed) = arch_list::list_for_image(facts, file, line) {
        let (list, source, mark) = (proposed.list, proposed.source, arch_list::MARK);
        let text =
            format!("# What {source} compiles for; {mark}.\nENV TORCH_CUDA_ARCH_LIST=\"{list}\"");
        edits.insert_before(file, line, &text);
    }
}

/// The same image on Ubuntu 22.04: CUDA images exist for it from 11.7 on.
fn supported_system(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line, base)) = quoted(finding) else {
        return;
    };
    // Only a tag that NVIDIA's list has on the other system: another may not exist.
    let bare = base.split('@').next().unwrap_or(base);
    let tag = bare
        .rsplit(':')
        .next()
        .and_then(|tag| tag.split('-').next());
    let old_enough = cuda_of_image(base).is_none_or(|cuda| {
        let listed = &lifecycle().cuda_images.supported;
        warpsmith_compatibility::Version::parse("11.7").is_some_and(|first| cuda >= first)
            && listed.iter().any(|version| Some(version.as_str()) == tag)
    });
    // Another distribution, or an image of somebody else, has other packages.
    let ours = base.starts_with("ubuntu:") || base.contains("nvidia/cuda:");
    if !old_enough || !ours {
        return;
    }
    edits.change(file, line, |l| {
        let mut text = l.to_owned();
        for release in ["16.04", "18.04", "20.04"] {
            text = text
                .replace(&format!("ubuntu{release}"), "ubuntu22.04")
                .replace(&format!("ubuntu:{release}"), "ubuntu:22.04");
        }
        text
    });
}

/// A device reservation for the first service of a compose file.
fn ask_for_gpu(finding: &Finding, facts: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, _)) = place(finding) else {
        return;
    };
    let Some(compose) = facts.yaml.iter().find(|y| y.path == file) else {
        return;
    };
    // Only where a service has no `deploy` of its own; a block mapping is assumed, as compose writes.
    let service = compose.outline.entries.iter().find(|e| {
        e.value.is_empty() && e.path.starts_with("services/") && e.path.matches('/').count() == 1
    });
    let Some(service) = service else {
        return;
    };
    let deploy = format!("{}/deploy", service.path);
    if compose.outline.below(&deploy).next().is_some() {
        return;
    }
    let indent = edits
        .line(file, service.line)
        .map_or(2, |l| l.len() - l.trim_start().len());
    let block = [
        "deploy:",
        "  resources:",
        "    reservations:",
        "      devices:",
        "        - driver: nvidia",
        "          count: 1",
        "          capabilities: [gpu]",
    ];
    let inner = " ".repeat(indent + 2);
    let text: Vec<String> = block.iter().map(|l| format!("{inner}{l}")).collect();
    edits.insert_before(file, service.line + 1, &text.join("\n"));
}

fn apt(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    let Some((file, line)) = place(finding) else {
        return;
    };
    let installs =
        |l: &str| (l.contains("apt-get ") || l.contains("apt ")) && l.contains(" install");
    let Some(install) = edits.find(file, line, installs) else {
        return;
    };
    edits.change(file, install, |l| {
        l.replacen(" install", " install --no-install-recommends", 1)
    });
    // The end of the instruction: the first line that is not continued.
    if let Some(end) = edits.find(file, install, |l| !l.trim_end().ends_with('\\')) {
        edits.change(file, end, |l| {
            format!("{} && rm -rf /var/lib/apt/lists/*", l.trim_end())
        });
    }
}

fn nvidia_variables(finding: &Finding, _: &ProjectFacts, edits: &mut Edits<'_>) {
    if let Some((file, line)) = place(finding) {
        edits.insert_before(
            file,
            line + 1,
            "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        );
    }
}
