//! Verbs with a Vulkan form against the same on the CPU; ignored where there is no device.

use std::fs::{read, write};
use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

fn warpsmith(line: &str) -> Result<Output, Failed> {
    run_in(tempfile::tempdir()?.path(), line)
}

fn run_in(folder: &Path, line: &str) -> Result<Output, Failed> {
    Ok(Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("WARPSMITH_STATE_DIR", folder.join(".state"))
        .env("WARPSMITH_BACKGROUND", "off")
        .output()?)
}

/// The report of a command that ends well.
fn report(folder: &Path, line: &str) -> Result<Value, Failed> {
    let output = run_in(folder, &format!("{line} --format json"))?;
    if !output.status.success() {
        return Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn trials() -> Vec<Trial> {
    let there = warpsmith("bench machine/launch --device vulkan --samples 1 --no-check")
        .is_ok_and(|output| output.status.success());
    let trials = [
        Trial::test("reaction_diffusion_has_the_cpus_bits", reaction_diffusion),
        Trial::test("more_launches_than_a_recording_holds", many_launches),
        Trial::test("a_keyed_xor_writes_the_cpus_file", xor),
        Trial::test("walks_are_counted_as_on_the_cpu", walks),
        Trial::test("what_has_no_form_is_refused_by_name", refused),
        Trial::test("memory_is_followed_by_the_devices_ledger", memory),
        Trial::test("a_run_beyond_the_limit_is_given_up", limit),
        Trial::test("exec_compares_with_the_interpreter", exec_check),
        Trial::test("a_case_of_a_python_kernel_is_checked_and_timed", case),
        Trial::test("a_roofline_is_that_of_the_device", roofline),
        Trial::test(
            "auto_takes_vulkan_where_it_was_measured_to_be_faster",
            chosen,
        ),
        Trial::test("a_report_is_about_the_device", about_the_device),
    ];
    trials
        .map(|trial| trial.with_ignored_flag(!there))
        .into_iter()
        .collect()
}

fn about_the_device() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let body = &report(folder.path(), "report --device vulkan --output page")?["body"];
    let title = body["subject"]["title"].as_str().unwrap_or_default();
    assert!(title.ends_with(", by Vulkan"), "{title}");
    let sections = body["sections"].as_array().ok_or("no sections")?;
    let failed: Vec<&Value> = (sections.iter())
        .filter(|section| section["status"].get("failed").is_some())
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    let page = std::fs::read_to_string(folder.path().join("page/report.md"))?;
    // On a machine that is busy with something else the last sections find their time used up, and say so.
    let late = page.contains("GPU compared with CPU: the run's time was up");
    let compared = if late {
        "GPU compared with CPU"
    } else {
        "compared with the CPU"
    };
    for words in ["Launch and wait", compared, "its timestamps"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    Ok(())
}

fn reaction_diffusion() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (size, steps) in [("20x24x28", 17), ("37x5", 4), ("9", 0)] {
        let line = format!("lattice rd --size {size} --steps {steps} --slice");
        let [cpu, vulkan] = ["cpu", "vulkan"].map(|device| {
            let line = format!("{line} {device}.png --device {device}");
            report(folder.path(), &line)
        });
        assert_eq!(cpu?["body"]["digest"], vulkan?["body"]["digest"], "{line}");
        let [cpu, vulkan] =
            ["cpu.png", "vulkan.png"].map(|picture| read(folder.path().join(picture)));
        assert_eq!(cpu?, vulkan?, "{line}");
    }
    let speeds = report(
        folder.path(),
        "lattice speeds --size 16 --steps 3 --device vulkan",
    )?;
    assert_eq!(speeds["body"]["same_bits"], true);
    let rows = speeds["body"]["rows"].to_string();
    assert!(rows.contains("vulkan:0"), "{rows}");
    Ok(())
}

fn many_launches() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let line = "lattice rd --size 4x3 --steps 40001 --device";
    let [cpu, vulkan] =
        ["cpu", "vulkan"].map(|device| report(folder.path(), &format!("{line} {device}")));
    assert_eq!(cpu?["body"]["digest"], vulkan?["body"]["digest"]);
    Ok(())
}

fn xor() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for bytes in [0, 1, 4099, 100_000] {
        let data: Vec<u8> = (0..bytes).map(|n: u32| (n * 31 + n / 7) as u8).collect();
        write(folder.path().join("data.bin"), data)?;
        for device in ["cpu", "vulkan"] {
            let line = format!(
                "lattice xor data.bin --key-hex 00ff17 --output {device}.bin --force --device {device}"
            );
            report(folder.path(), &line)?;
        }
        let [cpu, vulkan] = ["cpu.bin", "vulkan.bin"].map(|file| read(folder.path().join(file)));
        assert_eq!(cpu?, vulkan?, "{bytes} bytes");
    }
    Ok(())
}

fn walks() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for size in ["--size 9 --steps 4", "--size 5x40 --steps 7 --blocked 20"] {
        let line = format!("lattice catalytic {size} --device");
        let [cpu, vulkan] =
            ["cpu", "vulkan"].map(|device| report(folder.path(), &format!("{line} {device}")));
        let (cpu, vulkan) = (cpu?, vulkan?);
        assert_eq!(cpu["body"]["count"], vulkan["body"]["count"], "{line}");
        assert_ne!(cpu["body"]["count"], 0, "{line}");
        assert_eq!(vulkan["body"]["restored"], true, "{line}");
    }
    Ok(())
}

fn refused() -> Result<(), Failed> {
    for (line, what) in [
        ("lattice bfs --size 8", "`lattice bfs`"),
        ("tune saxpy.toml", "this verb"),
    ] {
        let output = warpsmith(&format!("{line} --device vulkan"))?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{words}");
        assert!(
            words.contains(&format!("{what} cannot run on Vulkan")),
            "{words}"
        );
    }
    Ok(())
}

fn memory() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let kinds = |memory: &Value| -> Vec<String> {
        let series = memory.as_array().into_iter().flatten();
        series.map(|one| one["kind"].to_string()).collect()
    };
    let line = "bench machine/saxpy --set n=1000 --steps 300 --device vulkan";
    let bench = report(folder.path(), line)?;
    assert_eq!(
        kinds(&bench["body"][0]["memory"]),
        ["\"process\"", "\"ledger\""]
    );
    // Whether the driver itself grows is not asked.
    let line = "leak machine/saxpy --set n=1000 --steps 300 --device vulkan --format json";
    let leak: Value = serde_json::from_slice(&run_in(folder.path(), line)?.stdout)?;
    let memory = &leak["body"]["memory"];
    assert_eq!(kinds(memory), ["\"process\"", "\"ledger\""]);
    let ledger = &memory[1];
    let bytes: Vec<f64> = serde_json::from_value(ledger["bytes"].clone())?;
    assert!(bytes[0] >= 12_000.0, "{bytes:?}");
    assert!(bytes.iter().all(|live| *live == bytes[0]), "{bytes:?}");
    Ok(())
}

/// A million steps take minutes on any device.
fn limit() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let line = "bench lattice/rd --set n=64 --set steps=1000000 --no-check --limit 500ms \
                --device vulkan --format json";
    let output = run_in(folder.path(), line)?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let findings = report["findings"].to_string();
    assert!(findings.contains("M051"), "{findings}");
    Ok(())
}

fn exec_check() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let kernel = "import warp as wp\n\n\n@wp.kernel\ndef waves(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    y[i] = wp.sin(x[i]) / (x[i] + 2.0)\n";
    write(folder.path().join("waves.py"), kernel)?;
    let line = "exec waves.py --dim 1000 --arg x=random:1000:f32 --arg y=zeros:1000:f32 \
                --device vulkan";
    let unchecked = report(folder.path(), line)?;
    assert_eq!(unchecked["body"]["checked"], false);
    let checked = report(folder.path(), &format!("{line} --check"))?;
    assert_eq!(checked["body"]["checked"], true);
    let adjoint = format!("{line} --check --adjoint --grad y=ones");
    assert_eq!(report(folder.path(), &adjoint)?["body"]["checked"], true);
    Ok(())
}

const KERNEL: &str = "import warp as wp


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    y[i] = wp.exp(x[i]) * 2.0 + float(n)
";

const CASE: &str = r#"source = "scale.py"
reference = { interpreter = true }
[sizes]
n = [100, 5000]
[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = "n"
[[arguments]]
name = "y"
direction = "out"
type = "f32"
shape = "n"
[[arguments]]
name = "n"
type = "i32"
value = "n"
[launch]
dim = "n"
"#;

fn case() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path();
    write(path.join("scale.py"), KERNEL)?;
    write(path.join("a.toml"), CASE)?;
    write(path.join("b.toml"), CASE)?;
    let verified = report(path, "verify a.toml --device vulkan")?;
    let checks = verified["body"]["checks"].as_array().ok_or("no checks")?;
    assert!(checks.len() > 4, "{verified}");
    let right = |check: &Value| check["verdict"].to_string().contains("right");
    assert!(checks.iter().all(right), "{verified}");
    let bench = report(path, "bench a.toml --device vulkan --samples 3")?;
    for row in bench["body"].as_array().ok_or("no rows")? {
        assert_eq!(row["measurement"]["conditions"]["mode"], "gpu-hot", "{row}");
        assert!(row["parity"].to_string().contains("agrees"), "{row}");
    }
    let compared = "compare a.toml b.toml --device vulkan --budget 2s --format json";
    let compared = run_in(path, compared)?;
    // Same kernels: neither is slower, or nothing could be decided.
    assert_ne!(compared.status.code(), Some(2), "{:?}", compared.stderr);

    // The reference is this kernel, too: an index out of range ends it with its line.
    write(
        path.join("scale.py"),
        KERNEL.replace("y[i] =", "y[i + 1] ="),
    )?;
    let wrong = run_in(path, "verify a.toml --device vulkan --inputs 1")?;
    assert_eq!(wrong.status.code(), Some(2));
    let text = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        text.contains("K101") && text.contains("scale.py:7"),
        "{text}"
    );

    let other = CASE
        .replace("scale.py", "scale.cu")
        .replace("dim = \"n\"", "grid = 1\nblock = 32");
    write(
        path.join("other.toml"),
        other.replace("{ interpreter = true }", "\"r.py:f\""),
    )?;
    write(
        path.join("scale.cu"),
        "extern \"C\" __global__ void scale(const float* x, float* y, int n) {}",
    )?;
    write(path.join("r.py"), "def f(x, n):\n    return x\n")?;
    for verb in ["verify", "bench"] {
        let refused = run_in(path, &format!("{verb} other.toml --device vulkan"))?;
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(3), "{words}");
        assert!(
            words.contains("a case of CUDA C++ cannot run on Vulkan"),
            "{words}"
        );
    }
    Ok(())
}

/// Measured, and then with costs of our own: what is cheaper is taken.
fn chosen() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for device in ["cpu", "vulkan"] {
        let line = format!("wisdom calibrate --quick --only machine/saxpy --device {device}");
        report(folder.path(), &line)?;
    }
    report(folder.path(), "wisdom export measured.json")?;
    let measured: Value = serde_json::from_slice(&read(folder.path().join("measured.json"))?)?;
    let bench = "bench machine/saxpy --set n=100000 --samples 1 --no-check --device";
    let on = |device: &str| -> Result<String, Failed> {
        let report = report(folder.path(), &format!("{bench} {device}"))?;
        Ok(report["body"][0]["device"].to_string())
    };
    let (cpu, vulkan) = (on("cpu")?, on("vulkan")?);
    assert_ne!(cpu, vulkan);
    for (factor, expected) in [(1e-6, &vulkan), (1e6, &cpu)] {
        let mut wisdom = measured.clone();
        let operations = wisdom["operations"].as_array_mut().ok_or("no operations")?;
        let (mut ours, mut others) = (0, 0);
        for operation in operations {
            let is_vulkan = operation["backend"] == "vulkan:0";
            let factor = if is_vulkan { factor } else { 1.0 };
            ours += usize::from(is_vulkan);
            others += usize::from(operation["backend"] == "cpu");
            for point in operation["points"].as_array_mut().into_iter().flatten() {
                for cost in ["start", "pass"] {
                    point[cost] = (point[cost].as_f64().unwrap_or(1.0) * factor).into();
                }
            }
        }
        assert_eq!((ours, others), (1, 1));
        write(folder.path().join("costs.json"), wisdom.to_string())?;
        report(folder.path(), "wisdom import costs.json")?;
        assert_eq!(&on("auto")?, expected, "Vulkan's costs times {factor}");
    }
    Ok(())
}

fn roofline() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let line = "bench machine/saxpy --set n=4M --samples 3 --roofline --device vulkan";
    let bench = report(folder.path(), line)?;
    let roof = &bench["body"][0]["roofline"];
    let reached = roof["reached"].as_f64().ok_or("no roofline")?;
    assert!(reached > 0.0 && reached.is_finite(), "{roof}");
    Ok(())
}
