//! An architecture list from the database: what a toolkit compiles for, of GPUs that people have.

use crate::compat::database;
use crate::project::facts::ProjectFacts;
use crate::project::rules::{newest_allowed_torch, pinned_cuda};
use crate::version::Version;

/// Data-centre and desktop architectures; the rest are variants and boards with their own builds.
const COMMON: [&str; 8] = ["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"];

/// Words beside a list that a fix wrote: the project has promised nothing of it yet.
pub(super) const MARK: &str = "take out what you do not support";

/// Every common architecture that this CUDA compiles for, with PTX of the newest.
pub(super) fn list_of(cuda: &Version) -> Option<String> {
    let targets = database().toolkit(cuda)?.sm_targets.as_ref()?;
    let kept: Vec<&str> = COMMON
        .into_iter()
        .filter(|entry| targets.contains(&format!("sm_{}", entry.replace('.', ""))))
        .collect();
    (!kept.is_empty()).then(|| format!("{}+PTX", kept.join(";")))
}

/// The list for a project, and the CUDA that it is of with where that is written.
pub(super) fn list_for(facts: &ProjectFacts) -> Option<(String, String)> {
    if let Some((file, _, cuda)) = pinned_cuda(facts).into_iter().next() {
        return Some((
            list_of(&cuda)?,
            format!("CUDA {} of {file}", cuda.minor_name()),
        ));
    }
    let torch = newest_allowed_torch(facts)?;
    let cuda = Version::parse(torch.pypi_cuda.as_deref()?)?;
    Some((
        list_of(&cuda)?,
        format!("CUDA {} of torch {}", cuda.minor_name(), torch.torch),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_what_the_toolkit_compiles_from_volta_to_blackwell() {
        let list = |cuda: &str| list_of(&Version::parse(cuda).unwrap()).unwrap();
        assert_eq!(list("12.8"), "7.0;7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX");
        assert_eq!(list("13.0"), "7.5;8.0;8.6;8.9;9.0;10.0;12.0+PTX");
        assert_eq!(list("11.8"), "7.0;7.5;8.0;8.6;8.9;9.0+PTX");
    }
}
