//! `warpsmith` alone: what to try first, on this machine and in this folder.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use warpsmith_core::Bytes;
use warpsmith_device::{CpuFacts, DeviceError, GpuFacts, cuda_devices};

/// Files that are looked at, at most: somebody's home folder is not read to its end.
const MOST_FILES: usize = 2_000;
/// Folders below this one that are looked into.
const DEPTH: usize = 3;
/// Bytes of a text file that tell what it is.
const HEAD_BYTES: u64 = 64 * 1024;
/// Suggestions at most.
const MOST: usize = 6;

/// What lies in a folder, as far as it matters to us: files by what they are.
#[derive(Debug, Default, PartialEq)]
struct Folder {
    cuda: Vec<PathBuf>,
    /// Python files with Warp-style kernels.
    warp: Vec<PathBuf>,
    cases: Vec<PathBuf>,
    recordings: Vec<PathBuf>,
    sounds: Vec<PathBuf>,
    /// Whether a build file speaks of CUDA.
    builds_cuda: bool,
    /// Whether there are more files than were looked at.
    is_partial: bool,
}

/// The text that says what to try.
pub(crate) fn first_steps() -> String {
    let gpus = cuda_devices();
    let folder = look(Path::new("."));
    let mut text = format!(
        "warpsmith {}: compile a kernel, check it, measure it, explain the machine\n\n",
        env!("CARGO_PKG_VERSION")
    );
    let _ = writeln!(text, "This machine: {}", machine(&gpus));
    let _ = writeln!(text, "This folder:  {}\n\nTry:", describe(&folder));
    let steps = suggestions(&folder, gpus.as_ref().is_ok_and(|gpus| !gpus.is_empty()));
    let width = steps
        .iter()
        .map(|(line, _)| line.chars().count())
        .max()
        .unwrap_or(0);
    for (line, does) in &steps {
        let _ = writeln!(text, "  {line:<width$}  {does}");
    }
    text.push_str(
        "\n`warpsmith -h` lists the commands, `warpsmith COMMAND --help` has examples.\n",
    );
    text
}

fn machine(gpus: &Result<Vec<GpuFacts>, DeviceError>) -> String {
    match gpus {
        Ok(gpus) if !gpus.is_empty() => {
            let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
            let same = names.iter().all(|name| *name == names[0]);
            let memory = Bytes(gpus[0].memory_bytes);
            match (names.len(), same) {
                (1, _) => format!("{} with {memory}", names[0]),
                (count, true) => format!("{count} × {} with {memory} each", names[0]),
                _ => names.join(", "),
            }
        }
        Err(error) if !error.is_missing_hardware() => {
            format!("a GPU driver that does not start ({error}); `warpsmith check` explains it")
        }
        _ => format!(
            "no GPU; {}, on which everything but GPU timings works",
            CpuFacts::read().model
        ),
    }
}

/// Looks for files of kinds that we know, in `root` and a little below it.
fn look(root: &Path) -> Folder {
    let mut folder = Folder::default();
    let mut left = MOST_FILES;
    look_into(root, DEPTH, &mut left, &mut folder);
    folder
}

fn look_into(place: &Path, depth: usize, left: &mut usize, folder: &mut Folder) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    let mut all = entries.flatten();
    let mut entries: Vec<_> = all.by_ref().take(*left).collect();
    *left -= entries.len();
    folder.is_partial |= all.next().is_some();
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut below = Vec::new();
    for entry in entries {
        let path = entry.path();
        let path = path.strip_prefix(".").map_or(path.clone(), Path::to_owned);
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link may lead in a circle, and a hidden folder holds no sources.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !name.starts_with('.') && name != "target" => {
                below.push(path);
            }
            Ok(kind) if kind.is_file() => sort(&name, path, folder),
            _ => {}
        }
    }
    folder.is_partial |= depth == 0 && !below.is_empty();
    if depth > 0 {
        for place in below {
            look_into(&place, depth - 1, left, folder);
        }
    }
}

/// Puts a file where it belongs.
fn sort(name: &str, path: PathBuf, folder: &mut Folder) {
    let says = |words: &[&str]| {
        let head = head(&path);
        words.iter().any(|word| head.contains(word))
    };
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        _ if name == "CMakeLists.txt" || name == "meson.build" || name == "Makefile" => {
            folder.builds_cuda |= says(&["CUDA", "cuda", "nvcc"]);
        }
        "cu" => folder.cuda.push(path),
        "py" if says(&["CUDAExtension", "cpp_extension"]) => folder.builds_cuda = true,
        "py" if says(&["@wp.kernel", "@warp.kernel"]) => folder.warp.push(path),
        "toml" if says(&["[launch]", "[sizes]"]) => folder.cases.push(path),
        "wsrec" => folder.recordings.push(path),
        "wav" | "flac" | "mp3" | "ogg" | "m4a" | "aiff" => folder.sounds.push(path),
        _ => {}
    }
}

/// The beginning of a text file; empty where it cannot be read.
fn head(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        // Half a text is enough, and none tells nothing.
        let _ = file.take(HEAD_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn describe(folder: &Folder) -> String {
    let count = |files: &[PathBuf], one: &str, many: &str| match files.len() {
        0 => None,
        1 => Some(format!("{} ({one})", files[0].display())),
        n if folder.is_partial => Some(format!("at least {n} {many}")),
        n => Some(format!("{n} {many}")),
    };
    let parts: Vec<String> = [
        count(&folder.cuda, "a CUDA source", "CUDA sources"),
        count(
            &folder.warp,
            "Warp-style kernels",
            "files of Warp-style kernels",
        ),
        count(&folder.cases, "a case", "cases"),
        count(&folder.recordings, "a recording", "recordings"),
        count(&folder.sounds, "a sound", "sounds"),
        folder
            .builds_cuda
            .then(|| "a build that uses CUDA".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    match parts.is_empty() {
        true => "no kernels, no CUDA project".to_owned(),
        false => parts.join(", "),
    }
}

/// Command lines with what they do, the best first.
fn suggestions(folder: &Folder, has_gpu: bool) -> Vec<(String, &'static str)> {
    let mut steps = Vec::new();
    let mut add = |line: String, does| steps.push((line, does));
    if let Some(case) = folder.cases.first() {
        let case = quoted(case);
        add(format!("warpsmith verify {case}"), "is the kernel right?");
        if has_gpu {
            add(format!("warpsmith bench {case}"), "how fast is it?");
        }
    } else if let Some(source) = with_kernel(&folder.cuda) {
        add(
            format!("warpsmith new {}", quoted(source)),
            "write a case for your kernel, then `verify` and `bench` it",
        );
    }
    if let Some(source) = folder.warp.first() {
        add(
            format!("warpsmith compile {}", quoted(source)),
            "CUDA C++ of your Warp-style kernel",
        );
    }
    if folder.builds_cuda || folder.cuda.len() > 1 {
        add(
            "warpsmith audit .".to_owned(),
            "what is wrong with this CUDA project",
        );
    }
    if let Some(recording) = folder.recordings.first() {
        add(
            format!("warpsmith replay {}", quoted(recording)),
            "see it again",
        );
    }
    if let Some(sound) = folder.sounds.first() {
        add(
            format!("warpsmith voice analyze {}", quoted(sound)),
            "length, level, loudness, speech and pitch",
        );
    }
    add(
        "warpsmith check".to_owned(),
        match has_gpu {
            true => "is this machine healthy?",
            false => "what is here, what is missing, how to fix it",
        },
    );
    add(
        "warpsmith report --open".to_owned(),
        "one page about this machine, within a minute",
    );
    if has_gpu {
        add(
            "warpsmith watch".to_owned(),
            "the GPU live: use, power, temperature",
        );
    }
    add(
        "warpsmith bench machine/saxpy".to_owned(),
        "a first measurement",
    );
    steps.truncate(MOST);
    steps
}

/// The first source that defines a kernel itself, as opposed to including one.
fn with_kernel(sources: &[PathBuf]) -> Option<&PathBuf> {
    let mut looked_at = sources.iter().take(50);
    looked_at.find(|source| head(source).contains("__global__"))
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(plain) && !text.starts_with('-') {
        true => text,
        false => format!("'./{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(folder: &Folder, has_gpu: bool) -> Vec<String> {
        let steps = suggestions(folder, has_gpu);
        steps.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn an_empty_folder_leads_to_the_machine() {
        let place = tempfile::tempdir().unwrap();
        let folder = look(place.path());
        assert_eq!(folder, Folder::default());
        assert_eq!(lines(&folder, false)[0], "warpsmith check");
        assert!(lines(&folder, true).contains(&"warpsmith watch".to_owned()));
    }

    #[test]
    fn a_project_leads_to_its_kernels_and_its_audit() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        fs::create_dir(place.path().join("src")).unwrap();
        write("src/soft max.cu", "__global__ void k() {}");
        write("CMakeLists.txt", "enable_language(CUDA)");
        write("notes.py", "print(1)");
        let folder = look(place.path());
        assert!(folder.builds_cuda && folder.cuda.len() == 1 && folder.warp.is_empty());
        let steps = lines(&folder, false);
        assert!(steps[0].starts_with("warpsmith new '"), "{steps:?}");
        assert!(steps.contains(&"warpsmith audit .".to_owned()));
        write("scale.py", "@wp.kernel\ndef scale(): ...");
        write("case.toml", "source = 'k.cu'\n[sizes]\nn = [1]\n");
        let steps = lines(&look(place.path()), true);
        assert!(
            steps[0].starts_with("warpsmith verify") && steps[1].starts_with("warpsmith bench")
        );
        assert!(
            steps
                .iter()
                .any(|step| step.starts_with("warpsmith compile"))
        );
    }

    #[test]
    fn a_folder_without_end_is_read_to_a_bound() {
        let place = tempfile::tempdir().unwrap();
        for nth in 0..MOST_FILES + 50 {
            fs::write(place.path().join(format!("{nth}.cu")), "").unwrap();
        }
        let found = look(place.path());
        assert_eq!(found.cuda.len(), MOST_FILES);
        assert!(describe(&found).starts_with("at least 2000 CUDA sources"));
    }
}
