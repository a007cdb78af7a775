//! The command line of a profiler for a command of the user's.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Which profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Nsight Systems: when what ran.
    Nsys,
    /// Nsight Compute: why a kernel takes as long as it does.
    Ncu,
}

impl Tool {
    /// The program's name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Nsys => "nsys",
            Self::Ncu => "ncu",
        }
    }

    /// Where it is installed: on the path, else where NVIDIA's packages put it.
    pub fn find(self) -> Option<PathBuf> {
        let on_path = std::env::var_os("PATH")
            .map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>())
            .unwrap_or_default();
        let usual = ["/usr/local/cuda/bin", "/opt/nvidia/nsight-systems/bin"];
        on_path
            .into_iter()
            .chain(usual.iter().map(PathBuf::from))
            .map(|folder| folder.join(self.program()))
            .find(|path| path.is_file())
    }

    /// The words that profile `command` into files that begin with `stem`. ncu repeats a launch
    /// once for each set of counters: it takes the first `launches` of each kernel and shape, or
    /// all of them where that is `None`. nsys takes everything.
    pub fn words(
        self,
        program: &Path,
        stem: &Path,
        launches: Option<NonZeroU32>,
        command: &[String],
    ) -> Vec<String> {
        let program = program.display().to_string();
        let stem = stem.display();
        let mut words = match self {
            Self::Nsys => vec![
                program,
                "profile".into(),
                // What the memory track and the host spans of a report need.
                "--trace=cuda,nvtx,osrt".into(),
                "--cuda-memory-usage=true".into(),
                "--force-overwrite=true".into(),
                "--export=sqlite".into(),
                format!("--output={stem}"),
            ],
            Self::Ncu => vec![
                program,
                "--csv".into(),
                "--page=details".into(),
                // What the report shows by default, and what a roofline needs beside it.
                "--section=SpeedOfLight".into(),
                "--section=LaunchStats".into(),
                "--section=Occupancy".into(),
                format!("--metrics={}", super::ncu::ROOFLINE_METRICS.join(",")),
                "--target-processes=all".into(),
                "--force-overwrite".into(),
                format!("--log-file={stem}.csv"),
            ],
        };
        if let (Self::Ncu, Some(launches)) = (self, launches) {
            words.push("--filter-mode=per-launch-config".into());
            words.push(format!("--launch-count={launches}"));
        }
        words.extend(command.iter().cloned());
        words
    }

    /// The file that the profiler leaves to be read.
    pub fn result(self, stem: &Path) -> PathBuf {
        let extension = match self {
            Self::Nsys => "sqlite",
            Self::Ncu => "csv",
        };
        let mut name = stem.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        name.into()
    }
}

/// Words as a line that a POSIX shell reads back as the same words.
pub fn shell_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_for_the_shell() {
        let command = [
            "./run".to_owned(),
            "a b".into(),
            "it's".into(),
            String::new(),
        ];
        let few = NonZeroU32::new(5);
        let words = Tool::Nsys.words(Path::new("nsys"), Path::new("out/p"), few, &command);
        let line = shell_line(&words);
        assert!(
            line.starts_with("nsys profile --trace=cuda,nvtx,osrt"),
            "{line}"
        );
        assert!(
            line.ends_with(r"--output=out/p ./run 'a b' 'it'\''s' ''"),
            "{line}"
        );
        assert_eq!(
            Tool::Nsys.result(Path::new("out/p.1")),
            Path::new("out/p.1.sqlite")
        );
        assert_eq!(Tool::Ncu.result(Path::new("p")), Path::new("p.csv"));
    }

    #[test]
    fn ncu_takes_a_few_launches_of_each_kernel_unless_told_to_take_all() {
        let line = |launches| {
            let command = ["./run".to_owned()];
            shell_line(&Tool::Ncu.words(Path::new("ncu"), Path::new("p"), launches, &command))
        };
        let few = line(NonZeroU32::new(5));
        assert!(
            few.ends_with("--filter-mode=per-launch-config --launch-count=5 ./run"),
            "{few}"
        );
        assert!(!line(None).contains("launch-count"));
    }
}
