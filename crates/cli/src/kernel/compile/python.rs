//! `warpsmith compile FILE.py` and `warpsmith compile --batch`: Warp-style kernels to IR or C++ text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write, stderr, stdout};
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpsmith_compiler::{
    Compiler, Options, emit_cpu, emit_cuda, hip_text, ir, refused_text, runtime_header,
};
use warpsmith_core::Finding;
use warpsmith_formats::{OutputFile, write_output};
use warpsmith_interpreter::Interpreter;
use warpsmith_spirv::{Spirv, SpirvTarget, metal};

use super::cuda::{CudaOptions, CudaOutput};
use super::machine_code;
use super::texts::Texts;
use crate::kernel::python_file::{ProjectRoot, PythonFile};
use crate::kernel::warp_library::WarpLibrary;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};

/// How to compile a kernel written in Python.
#[derive(Args)]
pub(crate) struct PythonOptions {
    /// What to write for a `.py` file.
    #[arg(long, value_enum, default_value_t = Emit::Cuda)]
    emit: Emit,
    /// With `--emit spirv` or `msl`: the adjoint, which carries gradients from outputs to inputs.
    #[arg(long)]
    adjoint: bool,
    /// The kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Put the runtime header in front of CUDA text, so that it compiles as it is.
    #[arg(long)]
    self_contained: bool,
    /// What follows the names of kernels and structs.
    ///
    /// `placeholder` writes `_HASH`; `keep` writes eight
    /// digits that change with the emitted text and with nothing else (Warp's own digits depend on
    /// Python objects that are not evaluated here).
    #[arg(long, value_enum, default_value_t = HashStyle::Placeholder)]
    hash: HashStyle,
    #[command(flatten)]
    pub(super) library: WarpLibrary,
    #[command(flatten)]
    pub(super) root: ProjectRoot,
}

/// What follows a kernel's name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HashStyle {
    /// Digits of the text itself.
    Keep,
    /// The word `HASH`.
    Placeholder,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The typed intermediate representation.
    Ir,
    /// CUDA C++, forward and backward.
    Cuda,
    /// C++ for the CPU, forward and backward.
    Cpu,
    /// SPIR-V for Vulkan, forward, or backward with `--adjoint`: the module's bytes.
    Spirv,
    /// HIP C++ for AMD's GPUs, forward and backward, with its runtime. No compiler has verified it.
    Hip,
    /// Text for Metal, forward, or backward with `--adjoint`. No compiler has verified it.
    Msl,
    /// PTX, by whichever NVRTC is here.
    Ptx,
    /// Instructions, registers, stack and memory of the machine code, by whichever NVRTC is here.
    SassStats,
}

/// What `--format json` prints for one file.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether the text's own compiler has read such texts; absent where there is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Finding>,
}

/// Compiles one file; writes to `out`, or to standard output.
pub(crate) fn run(
    global: &Global,
    file: &Path,
    out: Option<&Path>,
    options: &PythonOptions,
    cuda: &CudaOptions,
) -> Result<Outcome> {
    options.check(global)?;
    let source = PythonFile::read(file, &options.root)?;
    let shown = file.display().to_string();
    let settings = Options {
        kernel: options.kernel.clone(),
        file: shown.clone(),
        library: options
            .library
            .text(options.root.folder_named().unwrap_or(file))?,
        bind: options.root.bindings(),
        ..Options::default()
    };
    let written = match options.module(&source, settings) {
        Ok(module) => options.text(&shown, &module, cuda)?,
        Err(findings) => Err(findings),
    };
    let (text, statistics, findings) = match written {
        Ok(Written { text, statistics }) => (Some(text), statistics, Vec::new()),
        Err(findings) => (None, None, findings),
    };
    let refused = !findings.is_empty();
    if global.format == Format::Json {
        let mut stdout = stdout().lock();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let report = Report {
            file: &shown,
            verified: (text.is_some() && options.is_unverified()).then_some(false),
            text: text.filter(|_| statistics.is_none()),
            statistics,
            findings,
        };
        serde_json::to_writer_pretty(&mut stdout, &report)?;
        writeln!(stdout)?;
    } else {
        for finding in &findings {
            write!(stderr(), "{}", source.render(finding))?;
        }
        match (text, out) {
            (Some(text), Some(path)) => write_output(path, &text)?,
            (Some(text), None) => stdout().lock().write_all(&text)?,
            (None, _) => {}
        }
    }
    Ok(Outcome::fine_if(!refused))
}

/// What was made of a kernel.
struct Written {
    text: Vec<u8>,
    statistics: Option<serde_json::Value>,
}

impl PythonOptions {
    /// Refuses options that contradict each other.
    fn check(&self, global: &Global) -> Result<()> {
        match (self.emit, self.adjoint, global.format) {
            (Emit::Spirv, _, Format::Json) => {
                bail!(
                    "`--emit spirv` writes bytes, which JSON does not hold: leave `--format json` out"
                )
            }
            (Emit::Spirv | Emit::Msl, ..) | (_, false, _) => Ok(()),
            _ => bail!(
                "`--adjoint` is for `--emit spirv` and `msl`; the other texts hold both directions"
            ),
        }
    }

    /// What becomes of a CUDA file.
    pub(super) fn of_cuda_file(&self) -> Result<CudaOutput> {
        let emit = self.emit.to_possible_value();
        let emit = emit.as_ref().map_or("", |value| value.get_name());
        match self.emit {
            Emit::Cuda => Ok(CudaOutput::Code),
            Emit::Ptx => Ok(CudaOutput::Ptx),
            Emit::SassStats => Ok(CudaOutput::Statistics),
            _ => bail!(
                "`--emit {emit}` is for Python kernels: a CUDA file becomes `ptx`, `sass-stats`, or machine code with `--arch sm_NN`"
            ),
        }
    }

    /// Refuses what has no effect where many kernels become lines of CUDA and CPU text.
    pub(super) fn check_many(&self, input: &str) -> Result<()> {
        let emit = self.emit.to_possible_value();
        let emit = emit.as_ref().map_or("", |value| value.get_name());
        let ignored = [
            (self.emit != Emit::Cuda, format!("--emit {emit}")),
            (self.adjoint, "--adjoint".to_owned()),
            (self.kernel.is_some(), "--kernel".to_owned()),
            (self.self_contained, "--self-contained".to_owned()),
            (self.hash == HashStyle::Keep, "--hash keep".to_owned()),
        ];
        match ignored.into_iter().find(|(given, _)| *given) {
            Some((_, option)) => bail!(
                "{input} becomes lines with CUDA and CPU text, where `{option}` has no effect: \
                 compile one file at a time"
            ),
            None => Ok(()),
        }
    }

    /// Whether what is written was read by no compiler of its own.
    fn is_unverified(&self) -> bool {
        matches!(self.emit, Emit::Hip | Emit::Msl)
    }

    fn plan<'m>(&self, module: &'m ir::Module) -> Result<Interpreter<'m>, Vec<Finding>> {
        if self.adjoint {
            Interpreter::adjoint(module)
        } else {
            Interpreter::forward(module)
        }
    }

    /// Compiles, with the digits in the names that were requested.
    fn module(
        &self,
        source: &PythonFile,
        mut settings: Options,
    ) -> Result<ir::Module, Vec<Finding>> {
        let mut compiler = Compiler::new();
        let module = source.compile(&mut compiler, &settings)?;
        if self.hash == HashStyle::Placeholder {
            return Ok(module);
        }
        settings.suffix = format!("_{:08x}", fingerprint(&emit_cuda(&module)));
        compiler.recycle(module);
        source.compile(&mut compiler, &settings)
    }

    fn text(
        &self,
        file: &str,
        module: &ir::Module,
        cuda: &CudaOptions,
    ) -> Result<Result<Written, Vec<Finding>>> {
        let plain = |text: String| {
            Ok(Ok(Written {
                text: text.into_bytes(),
                statistics: None,
            }))
        };
        match self.emit {
            Emit::Ir => plain(ir::print(module)),
            Emit::Cpu => plain(emit_cpu(module)),
            // What the header has instead of MathDx takes any power of two.
            Emit::Cuda
                if !self.self_contained
                    && let Some(finding) = refused_text(module) =>
            {
                Ok(Err(vec![finding]))
            }
            Emit::Cuda => {
                let text = emit_cuda(module);
                plain(if self.self_contained {
                    runtime_header::prologue(&text) + &text
                } else {
                    text
                })
            }
            Emit::Spirv => {
                let made =
                    (self.plan(module)).and_then(|plan| Spirv::of(&plan, SpirvTarget::default()));
                Ok(made.map(|spirv| Written {
                    text: spirv.bytes(),
                    statistics: None,
                }))
            }
            Emit::Hip => plain(hip_text(&emit_cuda(module))),
            Emit::Msl => match self.plan(module).and_then(|plan| metal(&plan)) {
                Ok(text) => plain(text),
                Err(findings) => Ok(Err(findings)),
            },
            Emit::Ptx => match machine_code::ptx(file, &emit_cuda(module), cuda)? {
                Ok(text) => plain(text),
                Err(findings) => Ok(Err(findings)),
            },
            Emit::SassStats => {
                let made = machine_code::statistics(file, &emit_cuda(module), cuda)?;
                Ok(made.map(|(text, statistics)| Written {
                    text: text.into_bytes(),
                    statistics: Some(statistics),
                }))
            }
        }
    }
}

/// A number that stands for a text: FNV-1a, folded to 32 bits.
fn fingerprint(text: &str) -> u32 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (state ^ (state >> 32)) as u32
}

/// A line of a batch.
#[derive(Deserialize)]
struct Job {
    id: serde_json::Value,
    source: String,
    /// The kernel, if the source has several.
    kernel: Option<String>,
}

/// What becomes of it.
#[derive(Serialize)]
struct Done {
    id: serde_json::Value,
    #[serde(flatten)]
    texts: Texts,
}

/// How many lines are read, compiled on all cores and written at a time: bounds the memory of a batch of
/// any length.
const CHUNK: usize = 1024;

/// Compiles every line of `input` on all cores; writes one line per line to `out`.
pub(crate) fn batch(
    global: &Global,
    input: &Path,
    out: Option<&Path>,
    options: &PythonOptions,
) -> Result<Outcome> {
    let Some(out) = out else {
        bail!("a batch needs `--output FILE.jsonl`");
    };
    options.check_many("a batch")?;
    let file = File::open(input).with_context(|| format!("cannot open `{}`", input.display()))?;
    let reader: Box<dyn Read> = if input.extension().is_some_and(|ending| ending == "gz") {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut lines = BufReader::with_capacity(1 << 20, reader).lines();
    let (mut accepted, mut refused, mut read) = (0_usize, 0_usize, 0_usize);
    let settings = Options {
        library: options.library.text(input)?,
        ..Options::default()
    };
    let mut file = OutputFile::create(out)?;
    loop {
        let chunk: Vec<String> = lines
            .by_ref()
            .take(CHUNK)
            .collect::<std::io::Result<_>>()
            .with_context(|| format!("cannot read `{}`", input.display()))?;
        if chunk.is_empty() {
            break;
        }
        let done: Vec<(Vec<u8>, bool)> = chunk
            .par_iter()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map_init(Compiler::new, |compiler, (at, line)| {
                compile_line(compiler, line, &settings).with_context(|| {
                    let number = read + at + 1;
                    format!(
                        "`{}` line {number} is not an object with `id` and `source`",
                        input.display()
                    )
                })
            })
            .collect::<Result<_>>()?;
        read += chunk.len();
        for (line, fine) in done {
            if fine {
                accepted += 1;
            } else {
                refused += 1;
            }
            file.write_all(&line)
                .with_context(|| format!("cannot write `{}`", out.display()))?;
        }
    }
    file.finish()?;
    if !global.quiet {
        writeln!(stderr(), "{accepted} compiled, {refused} refused")?;
    }
    Ok(Outcome::fine_if(refused == 0))
}

fn compile_line(
    compiler: &mut Compiler,
    line: &str,
    settings: &Options,
) -> serde_json::Result<(Vec<u8>, bool)> {
    let job: Job = serde_json::from_str(line)?;
    let mut own = None;
    if job.kernel.is_some() {
        own = Some(Options {
            kernel: job.kernel,
            ..settings.clone()
        });
    }
    let texts = match compiler.compile(&job.source, own.as_ref().unwrap_or(settings)) {
        Ok(module) => {
            let texts = Texts::of(Ok(&module));
            compiler.recycle(module);
            texts
        }
        Err(findings) => Texts::of(Err(findings)),
    };
    let fine = texts.findings.is_empty();
    let mut text = serde_json::to_vec(&Done { id: job.id, texts })?;
    text.push(b'\n');
    Ok((text, fine))
}
