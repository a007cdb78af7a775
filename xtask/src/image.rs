//! `cargo xtask image`: the exporter's image built from `deploy/Containerfile` and run as hardened as
//! its manifests say, against the fake NVML: that it serves, is healthy, holds no rights, is small.
//!
//! The run stage is the real one. Its base is made here from this machine's C library, because a
//! registry may be out of reach, and the program is built outside, where its dependencies are.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::workspace;

#[derive(Args)]
pub(crate) struct Image {
    /// Use this program instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What the image may weigh.
const MOST_BYTES: u64 = 30_000_000;
/// The port that `warpsmith health` asks.
const ADDRESS: &str = "127.0.0.1:9877";
/// What the program and the driver's libraries link to.
const LIBRARIES: &[&str] = &[
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
];

impl Image {
    pub(crate) fn run(&self) -> Result<()> {
        for tool in ["buildah", "podman", "runc"] {
            if workspace::output(Path::new(tool), &["--version"]).is_err() {
                bail!("`{tool}` is not installed; Debian has a package of this name");
            }
        }
        let binary = match &self.binary {
            Some(path) => path.clone(),
            None => {
                workspace::run(
                    "cargo",
                    &[
                        "build",
                        "--profile",
                        "small",
                        "--locked",
                        "--package",
                        "warpsmith",
                    ],
                )?;
                workspace::target().join("small/warpsmith")
            }
        };
        workspace::run("cargo", &["build", "--package", "warpsmith-fake-nvml"])?;
        let folder = workspace::target().join("image");
        fs::create_dir_all(folder.join("base/lib/x86_64-linux-gnu"))?;
        fs::create_dir_all(folder.join("base/lib64"))?;
        fs::copy(&binary, folder.join("warpsmith"))
            .with_context(|| format!("cannot copy `{}`", binary.display()))?;
        let engine = Engine { folder };
        engine.build()?;
        let bytes = engine.size()?;
        let ran = engine.serve();
        // Also after a failure: the container would keep the port.
        engine.podman(&["rm", "--force", "warpsmith-check"])?;
        ran?;
        eprintln!("the image has {:.1} MB", bytes as f64 / 1e6);
        if bytes > MOST_BYTES {
            bail!("the image has {bytes} bytes, more than {MOST_BYTES}");
        }
        Ok(())
    }
}

struct Engine {
    folder: PathBuf,
}

impl Engine {
    /// Storage of its own, which needs no overlay file system.
    fn storage(&self) -> [String; 6] {
        let at = |name: &str| self.folder.join(name).display().to_string();
        [
            "--root".into(),
            at("storage"),
            "--runroot".into(),
            at("state"),
            "--storage-driver".into(),
            "vfs".into(),
        ]
    }

    fn call(&self, tool: &str, options: &[&str], arguments: &[&str]) -> Result<String> {
        let storage = self.storage();
        let all: Vec<&str> = storage
            .iter()
            .map(String::as_str)
            .chain(options.iter().copied())
            .chain(arguments.iter().copied())
            .collect();
        workspace::output(Path::new(tool), &all)
    }

    fn buildah(&self, arguments: &[&str]) -> Result<String> {
        self.call("buildah", &[], arguments)
    }

    fn podman(&self, arguments: &[&str]) -> Result<String> {
        // crun needs a unified cgroup tree and systemd; runc with cgroupfs runs everywhere.
        let runtime = ["--runtime", "runc", "--cgroup-manager", "cgroupfs"];
        self.call("podman", &runtime, arguments)
    }

    fn build(&self) -> Result<()> {
        let folder = self.folder.display().to_string();
        workspace::output(Path::new("strip"), &[&format!("{folder}/warpsmith")])?;
        let system = Path::new("/lib/x86_64-linux-gnu");
        for library in LIBRARIES {
            let to = self.folder.join("base/lib/x86_64-linux-gnu").join(library);
            fs::copy(system.join(library), to).with_context(|| format!("no `{library}` here"))?;
        }
        let loader = "lib64/ld-linux-x86-64.so.2";
        fs::copy(
            Path::new("/").join(loader),
            self.folder.join("base").join(loader),
        )?;
        fs::write(self.folder.join("Base"), "FROM scratch\nCOPY base /\n")?;
        let real = fs::read_to_string(workspace::root().join("deploy/Containerfile"))?;
        fs::write(self.folder.join("Containerfile"), run_stage(&real)?)?;
        for (name, file, base) in [
            ("localhost/base", "Base", ""),
            ("localhost/warpsmith", "Containerfile", "localhost/base"),
        ] {
            let file = format!("{folder}/{file}");
            let base = format!("RUN_IMAGE={base}");
            self.buildah(&[
                "bud",
                "--isolation",
                "chroot",
                "--format",
                "docker",
                "--build-arg",
                &base,
                "--tag",
                name,
                "--file",
                &file,
                &folder,
            ])?;
        }
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        let arguments = [
            "image",
            "inspect",
            "--format",
            "{{.Size}}",
            "localhost/warpsmith",
        ];
        let text = self.podman(&arguments)?;
        text.trim()
            .parse()
            .with_context(|| format!("`{text}` is no size"))
    }

    /// Runs it with every right taken away, and asks it.
    fn serve(&self) -> Result<()> {
        let fake = workspace::target().join("debug/libwarpsmith_fake_nvml.so");
        let mount = format!(
            "{}:/lib/x86_64-linux-gnu/libnvidia-ml.so.1:ro",
            fake.display()
        );
        self.podman(&[
            "run",
            "--detach",
            "--name",
            "warpsmith-check",
            "--read-only",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            "--memory",
            "64m",
            "--pids-limit",
            "64",
            "--network",
            "host",
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=4096:4096",
            "--volume",
            &mount,
            "localhost/warpsmith",
            "export",
            "--listen",
            ADDRESS,
        ])?;
        let page = ask("/metrics").context("the exporter in the container does not answer")?;
        if !page.contains("warpsmith_gpu_") {
            bail!("the page has no GPU on it:\n{page}");
        }
        let pid = self.podman(&["inspect", "--format", "{{.State.Pid}}", "warpsmith-check"])?;
        let status = fs::read_to_string(format!("/proc/{}/status", pid.trim()))?;
        for line in [
            "CapEff:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
            "Uid:\t65532",
        ] {
            if !status.contains(line) {
                bail!("the container has not `{line}`:\n{status}");
            }
        }
        self.podman(&["healthcheck", "run", "warpsmith-check"])
            .context("the container is not healthy")?;
        eprintln!("served, healthy, no capabilities, read-only, not root");
        Ok(())
    }
}

/// The run stage of the Containerfile, with the program from the folder beside it.
fn run_stage(real: &str) -> Result<String> {
    const BUILT: &str = "--from=build /source/target/small/warpsmith";
    let stages: Vec<&str> = real.split("\nFROM ").collect();
    let [_, build, run] = stages.as_slice() else {
        bail!(
            "`deploy/Containerfile` has {} stages, not 2",
            stages.len() - 1
        );
    };
    if !build.contains(" AS build") || !run.contains(BUILT) {
        bail!("`deploy/Containerfile` does not copy the program from its build stage");
    }
    let run = run.replace(BUILT, "warpsmith");
    Ok(format!("ARG RUN_IMAGE\nFROM {run}"))
}

/// A page of the exporter, once it answers; waits a few seconds for that.
fn ask(path: &str) -> Result<String> {
    let mut last = None;
    for _ in 0..50 {
        match page(path) {
            Ok(text) if text.contains(" 200 ") => return Ok(text),
            Ok(text) => last = Some(anyhow::anyhow!("it said:\n{text}")),
            Err(error) => last = Some(error.into()),
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err(last.unwrap_or_else(|| anyhow::anyhow!("it was not asked")))
}

fn page(path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(ADDRESS)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_stage_is_the_real_one_with_the_program_from_beside() {
        let real = fs::read_to_string(workspace::root().join("deploy/Containerfile")).unwrap();
        let stage = run_stage(&real).unwrap();
        assert!(stage.contains("COPY warpsmith /usr/bin/warpsmith"));
        assert!(stage.contains("USER 65532:65532") && !stage.contains("cargo"));
    }
}
