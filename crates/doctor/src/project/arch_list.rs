//! An architecture list from the database: what a toolkit compiles for, of GPUs that people have.

use super::facts::ProjectFacts;
use super::rules::{newest_allowed_torch, pinned_cuda};
use warpsmith_compatibility::Version;
use warpsmith_compatibility::database;

/// Data-centre and desktop architectures; the rest are variants and boards with their own builds.
const COMMON: [&str; 8] = ["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"];

/// Words beside a list that a fix wrote: the project has promised nothing of it yet.
pub(super) const MARK: &str = "take out what you do not support";

/// A list, and what it follows from.
#[derive(Debug, PartialEq)]
pub(super) struct ProposedList {
    /// `8.0;9.0+PTX`.
    pub(super) list: String,
    /// `CUDA 12.8 of Dockerfile`.
    pub(super) source: String,
}

impl ProposedList {
    /// Where the list comes from, for a hint.
    pub(super) fn evidence(&self) -> String {
        format!(
            "what {} compiles for (compatibility database of {})",
            self.source,
            database().generated
        )
    }
}

/// Every common architecture that this CUDA compiles for and this torch accepts, with PTX of the newest.
fn list_of(cuda: &Version, torch: Option<&[String]>) -> Option<String> {
    let targets = database().toolkit(cuda)?.sm_targets.as_ref()?;
    let accepted = |entry: &str| {
        torch.is_none_or(|known| known.is_empty() || known.iter().any(|k| k == entry))
    };
    let kept: Vec<&str> = COMMON
        .into_iter()
        .filter(|entry| targets.contains(&format!("sm_{}", entry.replace('.', ""))))
        .filter(|entry| accepted(entry))
        .collect();
    (!kept.is_empty()).then(|| format!("{}+PTX", kept.join(";")))
}

/// The list for a stage of an image, by the CUDA that it stands on.
pub(super) fn list_for_image(facts: &ProjectFacts, file: &str, line: u32) -> Option<ProposedList> {
    let images = pinned_cuda(facts);
    let (_, _, cuda) = images
        .iter()
        .rev()
        .find(|(image, stage, _)| image == file && *stage <= line)?;
    let torch = newest_allowed_torch(facts).map(|row| row.extension_supported_arches.as_slice());
    Some(ProposedList {
        list: list_of(cuda, torch)?,
        source: format!("CUDA {} of {file}", cuda.minor_name()),
    })
}

/// The list for a project: by the first image that pins CUDA, else by the torch that it takes.
pub(super) fn list_for(facts: &ProjectFacts) -> Option<ProposedList> {
    if let Some((file, line, _)) = pinned_cuda(facts).into_iter().next() {
        return list_for_image(facts, &file, line);
    }
    let torch = newest_allowed_torch(facts)?;
    let cuda = Version::parse(torch.pypi_cuda.as_deref()?)?;
    Some(ProposedList {
        list: list_of(&cuda, Some(&torch.extension_supported_arches))?,
        source: format!("CUDA {} of torch {}", cuda.minor_name(), torch.torch),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_what_the_toolkit_compiles_from_volta_to_blackwell() {
        let list = |cuda: &str| list_of(&Version::parse(cuda).unwrap(), None).unwrap();
        assert_eq!(list("12.8"), "7.0;7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX");
        assert_eq!(list("13.0"), "7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX");
        assert_eq!(list("11.8"), "7.0;7.5;8.0;8.6;8.9;9.0+PTX");
    }
    #[test]
    fn a_torch_that_does_not_know_blackwell_is_not_given_it() {
        let cuda = Version::parse("12.8").unwrap();
        let torch = database().torch(&Version::parse("2.0.0").unwrap()).unwrap();
        let known = Some(torch.extension_supported_arches.as_slice());
        assert_eq!(
            list_of(&cuda, known).unwrap(),
            "7.0;7.5;8.0;8.6;8.9;9.0+PTX"
        );
    }
}
