//! The user's own headers, without their host code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::blank::{exported_kernels, without_host_code};
use crate::cuda_source::read_cuda_source;

/// More headers, or larger ones, are left to the compiler.
const MOST_HEADERS: usize = 256;
const LONGEST: u64 = 4 << 20;

/// Every header that the text names in quotes and that lies beside it or in one of the folders, and
/// those that these name, by the names that they are included by.
pub(crate) fn local_headers(file: &Path, text: &str, folders: &[PathBuf]) -> Vec<(String, String)> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut open: Vec<(PathBuf, String)> = names(text)
        .map(|name| (folder_of(file), name.to_owned()))
        .collect();
    while let Some((beside, name)) = open.pop() {
        if found.contains_key(&name) || found.len() >= MOST_HEADERS {
            continue;
        }
        let places = std::iter::once(&beside).chain(folders);
        let Some(path) = places
            .map(|folder| folder.join(&name))
            .find(|path| is_small(path))
        else {
            continue;
        };
        let Ok(text) = read_cuda_source(&path) else {
            continue;
        };
        open.extend(names(&text).map(|name| (folder_of(&path), name.to_owned())));
        let exported = exported_kernels(&text).unwrap_or(text);
        let device = without_host_code(&exported).unwrap_or(exported);
        found.insert(name, device);
    }
    found.into_iter().collect()
}

fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_owned).unwrap_or_default()
}

fn is_small(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() <= LONGEST)
}

/// The names of `#include "name"`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("include")?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_beside_each_other_and_lose_their_host_code() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("inc/deep")).unwrap();
        fs::write(
            at("common.h"),
            "#include \"deep/types.h\"\nvoid check(int e) { exit(e); }\n__device__ int one() { return 1; }\n",
        )
        .unwrap();
        fs::write(
            at("inc/deep/types.h"),
            "# include \"common.h\"\ntypedef float real;\n",
        )
        .unwrap();
        let text = "#include <stdio.h>\n#include \"common.h\"\n#include \"missing.h\"\n";
        let found = local_headers(&at("a.cu"), text, &[at("inc")]);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["common.h", "deep/types.h"]);
        assert!(!found[0].1.contains("exit") && found[0].1.contains("one()"));
    }
}
