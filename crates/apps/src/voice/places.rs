//! Which file the result of each input goes to, checked before any work.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use warpsmith_console::global::Global;
use warpsmith_console::inputs::check_output_folder;
use warpsmith_console::output::note;
use warpsmith_formats::{check_distinct, check_inputs_kept, is_stdout};

use super::input::Input;
use super::sources::SoundFile;

/// An input with the file for its result; none is standard output.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) input: PathBuf,
    pub(super) output: Option<PathBuf>,
}

impl Place {
    /// Creates the folder for the result.
    pub(super) fn make_folder(&self) -> Result<()> {
        let folder = self.output.as_deref().and_then(Path::parent);
        match folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            Some(folder) => std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create `{}`", folder.display())),
            None => Ok(()),
        }
    }

    /// Whether there is a result that is not older than its input. Results appear complete or not at all.
    fn is_done(&self) -> bool {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|facts| facts.modified());
        let Some(output) = self.output.as_deref().filter(|path| path.is_file()) else {
            return false;
        };
        matches!((changed(output), changed(&self.input)), (Ok(result), Ok(input)) if result >= input)
    }
}

/// The places of all inputs. Of several inputs, `output` is a folder with a tree of results like that of the
/// inputs; `rename` makes the name of a result.
pub(super) fn places(
    input: &Input,
    output: Option<&Path>,
    rename: impl Fn(&Path) -> PathBuf,
) -> Result<Vec<Place>> {
    let mut files = input.files();
    let folder = match output {
        Some(output) if !is_stdout(output) && (input.is_several() || output.is_dir()) => {
            check_output_folder("--output", output)?;
            Some(output)
        }
        _ if files.len() > 1 => {
            bail!("several files need `--output DIRECTORY`, one result to a file")
        }
        _ => None,
    };
    // Results that lie below a folder of inputs are not inputs; inputs that lie below the folder of results are.
    if let Some(Ok(results)) = folder.map(Path::canonicalize) {
        let is_result = |file: &SoundFile| {
            let (Ok(path), Ok(tree)) = (file.path.canonicalize(), file.tree().canonicalize())
            else {
                return false;
            };
            results != tree && results.starts_with(tree) && path.starts_with(&results)
        };
        files.retain(|file| !(file.is_found && is_result(file)));
    }
    let place = |file: SoundFile| Place {
        output: match folder {
            Some(folder) => Some(folder.join(rename(&file.name))),
            None => output.filter(|path| !is_stdout(path)).map(Path::to_owned),
        },
        input: file.path,
    };
    let places: Vec<Place> = files.into_iter().map(place).collect();
    let read: Vec<&Path> = places.iter().map(|place| place.input.as_path()).collect();
    let written = places.iter().filter_map(|place| place.output.as_deref());
    let written: Vec<(&str, &Path)> = written.map(|path| ("--output", path)).collect();
    check_inputs_kept(&read, &written)?;
    if places.len() > 1 {
        let names: Vec<String> = places
            .iter()
            .map(|place| place.input.display().to_string())
            .collect();
        let named: Vec<(&str, &Path)> = names
            .iter()
            .zip(&places)
            .filter_map(|(name, place)| Some((name.as_str(), place.output.as_deref()?)))
            .collect();
        check_distinct(&named).context(
            "two inputs have one result; name the folder above both, and the results are a tree like it",
        )?;
    }
    Ok(places)
}

/// The places that have no result yet.
pub(super) fn left_to_do(global: &Global, places: Vec<Place>) -> Vec<Place> {
    let all = places.len();
    let left: Vec<Place> = places
        .into_iter()
        .filter(|place| !place.is_done())
        .collect();
    if left.len() < all {
        let done = all - left.len();
        note(
            global,
            &format!("note: {done} of {all} files are done already"),
        );
    }
    left
}
