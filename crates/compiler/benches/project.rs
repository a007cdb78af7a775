//! Time to compile a project as it is, all kernels of all files on all cores, and from the edit of one kernel to its
//! text, in a process that knows the project's other modules.
//!
//! ```text
//! cargo bench -p warpsmith-compiler --bench project -- SITE_PACKAGES PACKAGE
//! ```
//! `SITE_PACKAGES` is a folder with the package and all that it imports (`pip install --target`).
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench prints its figures"
)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use warpsmith_compiler::{Compiler, Folder, Options, Roots, emit_cuda};

/// How often the project is compiled, and how often each file's first kernel is edited.
const ROUNDS: usize = 9;

fn python_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            python_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "py") {
            found.push(path);
        }
    }
}

/// Every kernel's text; how many there are, how many are refused, and how long they are.
fn project(files: &[PathBuf], root: &Path) -> (usize, usize, usize) {
    let roots = Roots::default();
    let of_files = files.par_iter().map_init(Compiler::new, |compiler, path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let (mut compiled, mut refused, mut bytes) = (0, 0, 0);
        if text.contains("kernel") {
            let folder = Folder::within(&roots, path, Some(root));
            let options = Options {
                file: path.display().to_string(),
                ..Options::default()
            };
            let mut done = |_: &str, module: Result<&_, Vec<_>>| match module {
                Ok(module) => {
                    compiled += 1;
                    bytes += emit_cuda(module).len();
                }
                Err(_) => refused += 1,
            };
            let read = compiler.compile_each(&text, &options, Some(&folder.place()), &mut done);
            refused += usize::from(read.is_err());
        }
        (compiled, refused, bytes)
    });
    of_files.reduce(
        || (0, 0, 0),
        |one, other| (one.0 + other.0, one.1 + other.1, one.2 + other.2),
    )
}

/// The times from an edit to the text, of the first kernel of a file that compiles.
fn edits(path: &Path, root: &Path, roots: &Roots) -> Option<Vec<Duration>> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut compiler = Compiler::new();
    let options = Options {
        file: path.display().to_string(),
        ..Options::default()
    };
    let folder = Folder::within(roots, path, Some(root));
    let mut first = None;
    let mut done = |name: &str, module: Result<&_, Vec<_>>| {
        if module.is_ok() && first.is_none() {
            first = Some(name.to_owned());
        }
    };
    let read = compiler.compile_each(&text, &options, Some(&folder.place()), &mut done);
    read.ok()?;
    let options = Options {
        kernel: Some(first?),
        ..options
    };
    let round = |at: usize| {
        let edited = format!("# edit {at}\n{text}");
        let start = Instant::now();
        let folder = Folder::within(roots, path, Some(root));
        let module = compiler.compile_in(&edited, &options, Some(&folder.place()));
        let module = module.ok()?;
        std::hint::black_box(emit_cuda(&module));
        let elapsed = start.elapsed();
        compiler.recycle(module);
        Some(elapsed)
    };
    (0..ROUNDS).map(round).collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let [root, package] = arguments.as_slice() else {
        eprintln!(
            "usage: cargo bench -p warpsmith-compiler --bench project -- SITE_PACKAGES PACKAGE"
        );
        return;
    };
    let root = Path::new(root);
    let mut files = Vec::new();
    python_files(&root.join(package), &mut files);
    files.sort();
    let mut times = Vec::new();
    let mut counts = (0, 0, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        counts = project(&files, root);
        times.push(start.elapsed());
    }
    let (compiled, refused, bytes) = counts;
    println!(
        "{} files, {compiled} kernels compiled, {refused} refused, {bytes} bytes, on {} threads: {:.0} ms (median of {ROUNDS})",
        files.len(),
        rayon::current_num_threads(),
        median(&mut times).as_secs_f64() * 1e3,
    );
    let roots = Roots::default();
    let mut medians: Vec<Duration> = files
        .iter()
        .filter_map(|path| edits(path, root, &roots))
        .map(|mut times| median(&mut times))
        .collect();
    if let Some(longest) = medians.iter().max().copied() {
        println!(
            "edit of a kernel to its text: {:.1} ms in the median of {} files, {:.1} at most (median of {ROUNDS} each)",
            median(&mut medians).as_secs_f64() * 1e3,
            medians.len(),
            longest.as_secs_f64() * 1e3,
        );
    }
}
