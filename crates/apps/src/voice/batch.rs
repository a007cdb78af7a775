//! Many files, one after the other: what fails is remembered, and the rest is done.

use std::any::Any;
use std::io::{ErrorKind, Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};
use warpsmith_formats::OutputError;

use super::input::Input;
use super::places::Place;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::progress;

/// The files of a call.
pub(super) struct Batch<'a> {
    global: &'a Global,
    /// Files to do, and all that were named.
    count: usize,
    named: usize,
    begun: usize,
    /// Whether the user named more than one file: of one, a failure is the call's.
    several: bool,
    failures: Vec<Error>,
}

impl<'a> Batch<'a> {
    /// A batch of the `count` inputs that are not done yet; says what of folders is left out.
    pub(super) fn new(global: &'a Global, count: usize, input: &Input) -> Result<Self> {
        input.announce(global)?;
        Ok(Self {
            global,
            count,
            named: input.files().len(),
            begun: 0,
            several: input.is_several(),
            failures: Vec::new(),
        })
    }

    /// Says which file is next, where somebody watches.
    pub(super) fn begin(&mut self, path: &Path) {
        self.begun += 1;
        if self.several {
            let Self { begun, count, .. } = self;
            progress(self.global, &format!("{begun}/{count} {}", path.display()));
        }
    }

    /// Takes what became of a file. An error where the next file cannot fare better: results cannot be
    /// written, or there is no next one.
    pub(super) fn end(&mut self, result: Result<()>) -> Result<()> {
        let Err(error) = result else { return Ok(()) };
        if !self.several || is_about_output(&error) {
            return Err(error);
        }
        self.failures.push(error);
        Ok(())
    }

    /// Lists what failed.
    pub(super) fn finish(self) -> Result<Outcome> {
        if self.several {
            progress(self.global, "");
        }
        let failed = self.failures.len();
        let mut out = stderr().lock();
        for error in &self.failures {
            // Nothing can be done about a standard error that is closed.
            let _ = writeln!(out, "failed: {error:#}");
        }
        if failed > 0 && failed == self.named {
            bail!("none of the {failed} files could be done");
        }
        if failed > 0 {
            let _ = writeln!(out, "{failed} of {} files failed", self.count);
        }
        Ok(Outcome::fine_if(failed == 0))
    }
}

/// Does the work of one file. A panic in it is that file's failure: the others are still done. What the work held is
/// dropped with it; every file is analysed by plans of its own.
pub(super) fn of_one_file<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(internal_error(path, &*panic)))
}

/// What became of each file of a group.
pub(super) type Each<T> = Vec<Result<T>>;

/// Does the work of files that are analysed together. After a panic each is done alone, so that it is the failure of
/// its file; an error of the work itself ends all.
pub(super) fn of_group<T>(
    group: &[Place],
    work: &mut dyn FnMut(&[Place]) -> Result<Each<T>>,
) -> Result<Each<T>> {
    match catch_unwind(AssertUnwindSafe(|| work(group))) {
        Ok(done) => done,
        Err(panic) => match group {
            [alone] => Ok(vec![Err(internal_error(&alone.input, &*panic))]),
            _ => {
                let mut done = Vec::with_capacity(group.len());
                for place in group.chunks(1) {
                    done.extend(of_group(place, work)?);
                }
                Ok(done)
            }
        },
    }
}

fn internal_error(path: &Path, panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
    anyhow!(
        "cannot process `{}`: internal error: {}; please report it with the file",
        path.display(),
        said.unwrap_or("a panic")
    )
}

fn is_about_output(error: &Error) -> bool {
    error.chain().any(|cause| {
        let pipe = cause.downcast_ref::<std::io::Error>();
        cause.is::<OutputError>() || pipe.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_the_failure_of_its_file() {
        let path = Path::new("take.wav");
        let none: Vec<f32> = Vec::new();
        let failed = of_one_file(path, || Ok(none[path.as_os_str().len()]));
        let said = failed.unwrap_err().to_string();
        assert!(
            said.starts_with("cannot process `take.wav`: internal error: index out of bounds"),
            "{said}"
        );
        assert_eq!(of_one_file(path, || Ok(3)).unwrap(), 3);
    }

    #[test]
    fn a_panic_in_a_group_is_the_failure_of_one_file() {
        let group = ["a.wav", "b.wav", "c.wav"].map(|name| Place {
            input: name.into(),
            output: None,
        });
        let mut passes = 0;
        let mut work = |places: &[Place]| {
            passes += 1;
            let names = places.iter().map(|place| place.input.display().to_string());
            let names: Vec<String> = names.collect();
            assert!(!names.contains(&"b.wav".to_owned()), "index out of bounds");
            Ok(names.into_iter().map(Ok).collect())
        };
        let done = of_group(&group, &mut work).unwrap();
        let [a, b, c] = <[Result<String>; 3]>::try_from(done).unwrap();
        assert_eq!((a.unwrap(), c.unwrap()), ("a.wav".into(), "c.wav".into()));
        let said = b.unwrap_err().to_string();
        assert!(
            said.starts_with("cannot process `b.wav`: internal error: index out of bounds"),
            "{said}"
        );
        assert_eq!(passes, 4);
        // What went wrong with the device is no file's failure.
        let mut lost = |_: &[Place]| -> Result<Each<String>> { bail!("the GPU was lost") };
        assert!(of_group(&group, &mut lost).is_err());
    }
}
