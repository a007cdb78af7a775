//! Every finding code of the product: its table of contents.

use warpsmith_core::{Family, Story};

/// The families of every crate that makes findings: the machine first, then what runs on it.
pub(crate) fn families() -> impl Iterator<Item = &'static Family> {
    [&warpsmith_device::FAMILY]
        .into_iter()
        .chain(&warpsmith_doctor::FAMILIES)
        .chain([
            &warpsmith_telemetry::baseline::FAMILY,
            &warpsmith_telemetry::fleet::FAMILY,
            &warpsmith_compiler::FAMILY,
            &warpsmith_case::FAMILY,
            &warpsmith_case::judge::FAMILY,
            &warpsmith_measure::findings::FAMILY,
            &warpsmith_md::FAMILY,
            &warpsmith_corpus::FAMILY,
            &warpsmith_synth::FAMILY,
            &warpsmith_server::FAMILY,
        ])
}

/// Every story of every family.
pub(crate) fn stories() -> impl Iterator<Item = &'static Story> {
    families().flat_map(Family::stories)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_one_conclusion_and_stands_in_its_family() {
        let mut codes: Vec<_> = stories().map(|story| story.code).collect();
        codes.sort_unstable();
        let twice: Vec<_> = codes.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        for family in families() {
            assert!(!family.title().is_empty() && !family.introduction().is_empty());
            for story in family.stories() {
                let letters = story.code.trim_end_matches(|c: char| c.is_ascii_digit());
                assert_eq!(letters, family.letters(), "{}", story.code);
            }
        }
    }

    #[test]
    fn every_story_is_told_to_the_end() {
        let faults: Vec<_> = stories().flat_map(Story::faults).collect();
        assert!(
            faults.is_empty(),
            "{} faults\n{}",
            faults.len(),
            faults.join("\n")
        );
    }

    /// Who publishes what a story may cite: the vendor's or the project's own documentation, the standard
    /// itself, or the manual of the system call.
    const PRIMARY: &[&str] = &[
        "12factor.net",
        // The papers that first described a cheat.
        "arxiv.org",
        "choosealicense.com",
        "cmake.org",
        "developer.nvidia.com",
        "devguide.python.org",
        "docs.astral.sh",
        "docs.conda.io",
        "docs.cupy.dev",
        "docs.docker.com",
        "docs.github.com",
        "docs.jax.dev",
        "docs.kernel.org",
        "docs.lammps.org",
        "docs.nvidia.com",
        "docs.pytest.org",
        "docs.python.org",
        "docs.pytorch.org",
        "docs.scipy.org",
        "docs.vulkan.org",
        "emcee.readthedocs.io",
        "flask.palletsprojects.com",
        // Where a cheat was found and told: the repository that it fooled.
        "github.com",
        "huggingface.co",
        "kubernetes.io",
        "man7.org",
        "manual.gromacs.org",
        "metr.org",
        "midi.org",
        "numpy.org",
        "nvidia.github.io",
        "onnxruntime.ai",
        "packages.debian.org",
        "packaging.python.org",
        "parquet.apache.org",
        "pip.pypa.io",
        "prometheus.github.io",
        "pypi.org",
        "pytorch.org",
        "sre.google",
        "ubuntu.com",
        "www.nvidia.com",
        "www.rfc-editor.org",
        "www.tensorflow.org",
    ];
    /// Our own documentation is the primary source of what only we define.
    const OWN: &str = "https://github.com/warpsmith/warpsmith/blob/main/";

    #[test]
    fn every_source_is_a_primary_one_and_our_own_pages_exist() {
        let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for story in stories() {
            let at = |what: &str| format!("{}: {}: {what}", story.code, story.source);
            if let Some(page) = story.source.strip_prefix(OWN) {
                let page = page.split('#').next().unwrap_or(page);
                assert!(checkout.join(page).is_file(), "{}", at("no such page"));
                continue;
            }
            let host = story.source.split('/').nth(2).unwrap_or_default();
            assert!(PRIMARY.contains(&host), "{}", at("not a primary source"));
        }
        for host in PRIMARY {
            let used = stories().any(|story| story.source.split('/').nth(2) == Some(host));
            assert!(used, "no story cites {host}");
        }
    }

    /// Filler shows as the same sentence behind several codes.
    #[test]
    fn no_two_codes_share_a_sentence_about_what_they_mean_or_why() {
        let mut told: Vec<_> = stories()
            .flat_map(|story| [(story.means, story.code), (story.why, story.code)])
            .filter(|(text, _)| !text.is_empty())
            .collect();
        told.sort_unstable();
        for pair in told.windows(2) {
            assert_ne!(pair[0].0, pair[1].0, "{} and {}", pair[0].1, pair[1].1);
        }
    }
}
