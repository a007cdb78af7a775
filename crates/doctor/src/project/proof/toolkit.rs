//! Which CUDA, cuDNN and architectures a project builds with, as its images and lists say.

use warpsmith_core::Finding;

use super::{Standing, file_of, folder_of, open, proved, seen};
use crate::project::facts::ProjectFacts;
use crate::project::parse::cuda_api::api;
use crate::project::rules::{arch_lists, documented_cuda, pinned_cuda};
use warpsmith_compatibility::Capability;
use warpsmith_compatibility::Version;

/// The first CUDA of the table of headers.
const FIRST_OF_TABLE: &str = "11.7";

/// An architecture list and the CUDA that it is for stand in the same image.
pub(super) fn unsupported_architecture(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let file = file_of(finding);
    let line = finding.span.as_ref().map_or(0, |span| span.line);
    let mut pins = pinned_cuda(facts).into_iter();
    match pins.find(|(path, at, _)| path == file && *at <= line) {
        Some((path, at, cuda)) => proved(format!("{path}:{at} has CUDA {cuda}")),
        None => open("which CUDA builds this list is not written beside it"),
    }
}

/// A list of architectures with one that does not have the intrinsic.
pub(super) fn architecture_without_intrinsic(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let file = file_of(finding);
    if let Some(source) = facts.cuda_file(file)
        && (source.mentions_other_platform || source.asks_architecture)
    {
        return open("the file tells platforms or architectures apart");
    }
    let volta = Capability { major: 7, minor: 0 };
    let lists = arch_lists(facts);
    let list = lists.iter().find(|list| {
        let builds = file.starts_with(folder_of(&list.file)) || !list.file.contains("setup.py");
        builds && list.coverage.cubins.iter().any(|t| t.capability >= volta)
    });
    match list {
        Some(list) => proved(format!("{}:{} builds {}", list.file, list.line, list.text)),
        None => open("no list of architectures says that it is built for sm_70 or newer"),
    }
}

/// Every version of the library that the project names is without the function.
pub(super) fn version_without_function(facts: &ProjectFacts, finding: &Finding) -> Standing {
    let function = api(seen(finding));
    let library = function.map_or("cudart", |f| f.library);
    let removed = function
        .and_then(|f| f.removed_in)
        .unwrap_or(FIRST_OF_TABLE);
    let Some(limit) = Version::parse(removed) else {
        return open("the version is not known");
    };
    let named: Vec<(String, Version)> = match library {
        "cudart" | "cuda" | "nvrtc" => {
            let images = pinned_cuda(facts);
            let prose = documented_cuda(facts);
            images
                .into_iter()
                .chain(prose)
                .map(|(path, line, version)| (format!("{path}:{line}"), version))
                .collect()
        }
        "cudnn" => cudnn_of_images(facts),
        other => return open(format!("which {other} is installed is not known")),
    };
    if let Some((place, version)) = named.iter().find(|(_, version)| *version < limit) {
        return open(format!("{place} names {version}, which still has it"));
    }
    match named.first() {
        Some((place, version)) => proved(format!("{place} names {version}")),
        None => open(format!(
            "no file of the project says which version it is built with; before {removed} this compiles"
        )),
    }
}

/// `nvidia/cuda:12.1.0-cudnn8-devel-ubuntu22.04` → 8.
fn cudnn_of_images(facts: &ProjectFacts) -> Vec<(String, Version)> {
    let images = facts.dockerfiles.iter();
    let stages = images.flat_map(|image| image.stages.iter().map(move |stage| (image, stage)));
    stages
        .filter_map(|(image, stage)| {
            let (_, behind) = stage.base.split_once("-cudnn")?;
            let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
            let place = format!("{}:{}", image.path, stage.line);
            Some((place, Version::parse(&digits)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use warpsmith_core::{Severity, Span};

    use super::*;
    use crate::project::parse::dockerfile::Dockerfile;

    fn found(code: &str, name: &str) -> Finding {
        Finding::new(code, Severity::Error, "m")
            .because("a.cu:1", name)
            .at(Span::line("a.cu", 1))
    }

    fn image(text: &str) -> ProjectFacts {
        ProjectFacts {
            dockerfiles: vec![Dockerfile::parse("Dockerfile", text)],
            ..ProjectFacts::default()
        }
    }

    #[test]
    fn a_removed_function_is_proved_by_the_version_that_is_built_with() {
        let standing = |base: &str, name: &str| {
            version_without_function(&image(&format!("FROM {base}\n")), &found("SRC008", name))
        };
        let texture = "cudaBindTexture";
        assert!(standing("nvidia/cuda:12.4.1-devel-ubuntu22.04", texture).is_ok());
        assert!(standing("nvidia/cuda:11.8.0-devel-ubuntu22.04", texture).is_err());
        assert!(
            standing("ubuntu:22.04", texture)
                .unwrap_err()
                .contains("no file")
        );
        let rnn = "cudnnGetRNNParamsSize";
        assert!(standing("nvidia/cuda:12.4.1-cudnn8-devel-ubuntu22.04", rnn).is_err());
        assert!(standing("nvidia/cuda:12.4.1-cudnn9-devel-ubuntu22.04", rnn).is_ok());
    }

    #[test]
    fn an_intrinsic_is_proved_gone_by_an_architecture() {
        let list = "FROM a\nENV TORCH_CUDA_ARCH_LIST=\"6.1;8.0\"\n";
        let old = "FROM a\nENV TORCH_CUDA_ARCH_LIST=\"6.1\"\n";
        let shuffle = found("SRC007", "__shfl");
        assert!(architecture_without_intrinsic(&image(list), &shuffle).is_ok());
        assert!(architecture_without_intrinsic(&image(old), &shuffle).is_err());
        assert!(architecture_without_intrinsic(&image("FROM a\n"), &shuffle).is_err());
    }
}
