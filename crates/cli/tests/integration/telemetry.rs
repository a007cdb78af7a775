//! The verbs of telemetry as a user types them, on the fake driver: exit codes, data on stdout,
//! errors that name the file and the fix.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use serde_json::Value;

fn warpsmith(scenario: Option<&Path>, arguments: &[&str]) -> Output {
    // Cards of the machine that runs the test are none of its business.
    on_cards(Path::new("/nonexistent"), scenario, arguments)
}

/// With the kernel's files below `sys_root`.
fn on_cards(sys_root: &Path, scenario: Option<&Path>, arguments: &[&str]) -> Output {
    let program = std::env::current_exe().expect("a test program has a path");
    let library = program.with_file_name("libwarpsmith_fake_nvml.so");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(arguments)
        .env("WARPSMITH_SYSFS", sys_root)
        .env_remove("FAKE_NVML_SCENARIO");
    match scenario {
        Some(path) => command
            .env("WARPSMITH_NVML_LIBRARY", library)
            .env("FAKE_NVML_SCENARIO", path),
        None => command.env("WARPSMITH_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1"),
    };
    command.output().expect("the program runs")
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn written(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).expect("written");
        self.path(name)
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ended by itself")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON document")
}

#[test]
fn a_baseline_is_judged_written_and_compared() {
    let files = Files::new();
    let idle = files.written("idle.json", "{}");
    let (a, b) = (files.path("a.json"), files.path("b.json"));
    let run = |scenario: &Path, path: &Path| {
        let path = path.to_str().expect("text");
        warpsmith(
            Some(scenario),
            &[
                "baseline",
                "--duration",
                "3s",
                "--json",
                path,
                "--format",
                "json",
            ],
        )
    };
    let first = run(&idle, &a);
    let report = json(&first);
    assert_eq!(report["verb"], "baseline");
    assert_eq!(report["body"]["gpus"][0]["fitness"], "fit", "{report}");
    assert_eq!(report["machine"]["gpus"][0], "NVIDIA H200");
    let busy = files.written(
        "busy.json",
        r#"{"gpus": [{"busy": 80, "power_w": 400, "memory_used_mb": 9000, "processes": [{"pid": 1, "memory_mb": 9000}]}]}"#,
    );
    let second = run(&busy, &b);
    assert_eq!(code(&second), 1, "a GPU in use is not fit for a baseline");
    let report = json(&second);
    let findings = report["findings"].as_array().expect("findings");
    assert!(
        findings.iter().any(|finding| finding["code"] == "B002"),
        "{report}"
    );
    let paths = [a.to_str().expect("text"), b.to_str().expect("text")];
    let same = warpsmith(None, &["compare", paths[0], paths[0]]);
    assert_eq!(code(&same), 0, "{}", stderr(&same));
    let changed = warpsmith(None, &["compare", paths[0], paths[1], "--format", "json"]);
    assert_eq!(code(&changed), 1);
    assert_eq!(json(&changed)["body"]["verdict"], "changed");
    // Every file that is requested is written.
    let outputs = ["c.csv", "c.html", "c.json", "c.md"].map(|name| files.path(name));
    let [csv, html, save, markdown] = outputs.each_ref().map(|path| path.to_str().expect("text"));
    let options = [
        "--csv",
        csv,
        "--html",
        html,
        "--save",
        save,
        "--markdown",
        markdown,
    ];
    let arguments: Vec<&str> = ["compare", paths[0], paths[1]]
        .into_iter()
        .chain(options)
        .collect();
    let written = warpsmith(None, &arguments);
    assert_eq!(code(&written), 1, "{}", stderr(&written));
    let [csv, html, save, markdown] =
        outputs.map(|path| std::fs::read_to_string(path).expect("written"));
    assert!(csv.contains("\nb,gpu0,power_w,"), "{csv:.200}");
    assert!(html.contains("<svg") && html.contains("changed"));
    assert_eq!(
        serde_json::from_str::<Value>(&save).expect("JSON")["verb"],
        "compare"
    );
    assert!(markdown.contains("| GPU 0 | busy_percent |"), "{markdown}");
}

#[test]
fn too_few_samples_are_not_measured() {
    let files = Files::new();
    let idle = files.written("idle.json", "{}");
    for scenario in [Some(idle.as_path()), None] {
        for duration in ["0s", "200ms"] {
            let run = warpsmith(scenario, &["baseline", "--duration", duration]);
            assert_eq!(code(&run), 2, "{}", stderr(&run));
            assert!(stderr(&run).contains("not measured: too few samples"));
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert!(!text.contains("fit for"), "{text}");
            assert!(!text.contains("NaN"), "{text}");
        }
    }
}

#[test]
fn without_a_gpu_the_host_is_measured_and_asking_for_one_is_exit_code_3() {
    let host = warpsmith(
        None,
        &[
            "baseline",
            "--duration",
            "2s",
            "--expect-load",
            "--format",
            "json",
        ],
    );
    assert_eq!(code(&host), 0, "{}", stderr(&host));
    let report = json(&host);
    assert!(
        report["body"]["host"]["metrics"]["cpu_busy_percent"]["summary"]["n"]
            .as_u64()
            .expect("a count")
            >= 2
    );
    assert!(
        report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .any(|finding| finding["code"] == "B043")
    );
    let asked = warpsmith(None, &["baseline", "--gpu", "0"]);
    assert_eq!(code(&asked), 3);
    assert!(
        stderr(&asked).contains("/nonexistent/libnvidia-ml.so.1"),
        "{}",
        stderr(&asked)
    );
    assert_eq!(code(&warpsmith(None, &["watch", "--once"])), 0);
}

#[test]
fn a_recording_is_made_replayed_and_judged() {
    let files = Files::new();
    let scenario = files.written("s.json", "{}");
    let path = files.path("run.wsrec");
    let path = path.to_str().expect("text");
    let recorded = warpsmith(Some(&scenario), &["record", path, "--duration", "3s"]);
    assert_eq!(code(&recorded), 0, "{}", stderr(&recorded));
    assert!(stderr(&recorded).contains("B/s"));
    let shown = warpsmith(None, &["replay", path, "--at", "2s", "--once"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("NVIDIA H200"));
    let judged = warpsmith(None, &["baseline", "--from", path, "--format", "json"]);
    assert_eq!(json(&judged)["body"]["gpus"][0]["fitness"], "fit");
    // The fake driver itself can be driven by a recording.
    let again = files.written(
        "again.json",
        &format!(r#"{{"gpus": [{{"recording": "{path}"}}]}}"#),
    );
    let played = warpsmith(Some(&again), &["watch", "--once", "--format", "json"]);
    assert_eq!(
        json(&played)["body"]["gpus"][0]["state"]["temperature_c"],
        34
    );
}

#[test]
fn bad_input_is_exit_code_2_with_a_word_on_what_to_do() {
    let files = Files::new();
    let text = files.written("x.json", "not json");
    let other = files.written("y.json", r#"{"verb": "bench", "schema": 1}"#);
    let newer = files.written("z.json", r#"{"verb": "baseline", "schema": 99}"#);
    let broken = files.written("w.json", r#"{"verb": "baseline", "schema": 1}"#);
    let path = |file: &PathBuf| file.to_str().expect("text").to_owned();
    let cases: Vec<(Vec<String>, &str)> = vec![
        (
            vec!["compare".into(), path(&text), path(&text)],
            "cannot compare `",
        ),
        (
            vec!["compare".into(), "/nonexistent/a".into(), path(&text)],
            "there is no file `/nonexistent/a`",
        ),
        (
            vec!["compare".into(), path(&other), path(&other)],
            "cannot compare `",
        ),
        (
            vec!["compare".into(), path(&newer), path(&newer)],
            "schema 99",
        ),
        (
            vec!["compare".into(), path(&broken), path(&broken)],
            "is not a baseline that can be read",
        ),
        (
            vec!["replay".into(), path(&text), "--once".into()],
            "is not a recording",
        ),
        (
            vec!["baseline".into(), "--from".into(), path(&text)],
            "is not a recording",
        ),
        (
            vec!["baseline".into(), "--duration".into(), "5 days".into()],
            "is not a unit of time",
        ),
        (
            vec!["record".into(), "/nonexistent/x".into()],
            "cannot create `/nonexistent/x.partial`",
        ),
        (
            vec!["export".into(), "--web-config".into(), path(&text)],
            "line 1",
        ),
    ];
    for (arguments, word) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = warpsmith(None, &arguments);
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(word),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty(), "errors are not data");
    }
    let scenario = files.written("s.json", "{}");
    let output = warpsmith(Some(&scenario), &["baseline", "--gpu", "7"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("no GPU 7: this machine has 1"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_radeon_is_watched_judged_and_recorded_like_any_other_gpu() {
    let files = Files::new();
    let root = files.path("sys");
    let device = root.join("devices/pci0000:00/0000:00:01.0/0000:03:00.0");
    let put = |name: &str, text: &str| {
        let path = device.join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("folders");
        std::fs::write(path, text).expect("written");
    };
    put("vendor", "0x1002\n");
    put("device", "0x744c\n");
    put("product_name", "Radeon RX 7900 XTX\n");
    put("gpu_busy_percent", "97\n");
    put("mem_info_vram_total", "25753026560\n");
    put("mem_info_vram_used", "8589934592\n");
    put("hwmon/hwmon1/name", "amdgpu\n");
    put("hwmon/hwmon1/temp1_label", "edge\n");
    put("hwmon/hwmon1/temp1_input", "54000\n");
    put("hwmon/hwmon1/power1_average", "303000000\n");
    std::os::unix::fs::symlink("/sys/bus/pci/drivers/amdgpu", device.join("driver"))
        .expect("linked");
    let card = root.join("class/drm/card0");
    std::fs::create_dir_all(&card).expect("folders");
    std::os::unix::fs::symlink(&device, card.join("device")).expect("linked");

    let once = on_cards(&root, None, &["watch", "--once"]);
    assert_eq!(code(&once), 0, "{}", stderr(&once));
    let text = stdout(&once);
    assert!(text.contains("GPU 0  AMD Radeon RX 7900 XTX"), "{text}");
    assert!(text.contains("busy 97 %"), "{text}");
    let page = json(&on_cards(&root, None, &["watch", "--format", "json"]));
    let gpu = &page["body"]["gpus"][0];
    assert_eq!(gpu["state"]["power_mw"], 303_000);
    assert_eq!(gpu["state"]["memory_busy_percent"], Value::Null, "absent");

    let judged = ["baseline", "--duration", "2s", "--format", "json"];
    let judged = on_cards(&root, None, &judged);
    assert_eq!(code(&judged), 1, "it is in use: {}", stderr(&judged));
    assert_eq!(json(&judged)["body"]["gpus"][0]["gpu"]["vendor"], "amd");
    let file = files.path("radeon.wsrec");
    let file = file.to_str().expect("a path of letters");
    let recorded = on_cards(&root, None, &["record", file, "--duration", "2s"]);
    assert_eq!(code(&recorded), 0, "{}", stderr(&recorded));
    let from = [
        "baseline",
        "--from",
        file,
        "--expect-load",
        "--format",
        "json",
    ];
    let from = json(&on_cards(&root, None, &from));
    let power = &from["body"]["gpus"][0]["metrics"]["power_w"]["summary"]["mean"];
    assert_eq!(power["value"], 303.0, "{power}");
}

#[test]
fn an_exporter_that_is_not_there_is_not_healthy() {
    let output = warpsmith(
        None,
        &["health", "--address", "127.0.0.1:1", "--format", "json"],
    );
    assert_eq!(code(&output), 1);
    assert_eq!(json(&output)["healthy"], false);
}

#[test]
fn every_finding_of_a_baseline_can_be_explained() {
    for finding in ["B002", "b011", "B060"] {
        assert_eq!(
            code(&warpsmith(None, &["explain", finding])),
            0,
            "{finding}"
        );
    }
}

/// A driver whose call hangs for longer than any test.
fn hanging(files: &Files, call: &str) -> PathBuf {
    let fault = format!(r#"{{"gpu": 0, "call": "{call}", "hang_s": 36000}}"#);
    files.written(
        &format!("{call}.json"),
        &format!(r#"{{"gpus": [{{"count": 2}}], "faults": [{fault}]}}"#),
    )
}

#[test]
fn a_hung_driver_is_named_and_the_verbs_go_on() {
    let files = Files::new();
    // A GPU that hangs while it is sampled: the other one is shown.
    let sampling = hanging(&files, "nvmlDeviceGetUtilizationRates");
    let shown = warpsmith(Some(&sampling), &["watch", "--once", "--format", "json"]);
    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    let gpus = &json(&shown)["body"]["gpus"];
    assert_eq!(gpus[0]["presence"], "stale");
    assert_eq!(gpus[0]["hangs_in"], "nvmlDeviceGetUtilizationRates");
    assert_eq!(gpus[1]["presence"], "live");
    // A driver that does not start: said, and the host is judged without it.
    let starting = hanging(&files, "nvmlInit_v2");
    let judged = warpsmith(
        Some(&starting),
        &["baseline", "--duration", "1s", "--format", "json"],
    );
    assert_eq!(code(&judged), 1, "{}", stderr(&judged));
    let said = stderr(&judged);
    assert!(
        said.contains("waiting for the driver") && said.contains("nvmlInit_v2 does not return"),
        "{said}"
    );
    let findings = json(&judged)["findings"].to_string();
    assert!(findings.contains("B044"), "{findings}");
    let requested = warpsmith(Some(&starting), &["record", "x.wsrec", "--gpu", "0"]);
    assert_eq!(code(&requested), 2, "{}", stderr(&requested));
    assert!(stderr(&requested).contains("the driver hangs"));
}

/// An exporter of a made-up machine, its address, and the lines that it says after that.
fn exporter_of(scenario: &Path) -> (Child, String, impl Iterator<Item = String>) {
    let library = std::env::current_exe().expect("a test program has a path");
    let mut exporter = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["export", "--listen", "127.0.0.1:0"])
        .env(
            "WARPSMITH_NVML_LIBRARY",
            library.with_file_name("libwarpsmith_fake_nvml.so"),
        )
        .env("FAKE_NVML_SCENARIO", scenario)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let log = exporter.stderr.take().expect("a pipe");
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let serving = lines.next().expect("a line");
    let address = serving
        .strip_prefix("serving http://")
        .and_then(|rest| rest.strip_suffix("/metrics"))
        .expect("an address");
    let address = address.to_owned();
    (exporter, address, lines)
}

#[test]
fn an_exporter_listens_before_the_driver_answers() {
    let files = Files::new();
    let scenario = hanging(&files, "nvmlInit_v2");
    let (mut exporter, address, mut lines) = exporter_of(&scenario);
    let address = address.as_str();
    assert_eq!(code(&warpsmith(None, &["health", "--address", address])), 0);
    let ready = warpsmith(None, &["health", "--ready", "--address", address]);
    assert_eq!(code(&ready), 1);
    let down = lines.next().expect("a second line");
    assert_eq!(down, "not sampled: NVML: nvmlInit_v2 does not return");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("answered");
    assert!(
        page.contains("warpsmith_gpu_up{gpu=\"all\",uuid=\"\"} 0\n"),
        "{page}"
    );
    assert!(page.contains("reason=\"nvmlInit_v2 does not return\"} 1\n"));
    exporter.kill().expect("it ends");
    exporter.wait().expect("it ended");
}

#[test]
fn a_fleet_has_the_exit_codes_of_what_was_found() {
    let files = Files::new();
    let scenario = files.written("scenario.json", r#"{"gpus": [{"count": 8, "busy": 97}]}"#);
    let (mut exporter, address, _lines) = exporter_of(&scenario);
    let address = address.as_str();
    // The first page may come before the driver has answered.
    let mut fine = warpsmith(None, &["fleet", address]);
    for _ in 0..50 {
        if stdout(&fine).contains("8 GPUs") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        fine = warpsmith(None, &["fleet", address]);
    }
    assert_eq!(code(&fine), 0, "{}{}", stdout(&fine), stderr(&fine));
    assert!(stdout(&fine).starts_with("1 of 1 hosts answer"));
    let saved = files.path("fleet.json").display().to_string();
    let found = warpsmith(
        None,
        &[
            "fleet",
            address,
            "127.0.0.1:1",
            "--save",
            &saved,
            "--format",
            "json",
        ],
    );
    assert_eq!(code(&found), 1, "{}", stderr(&found));
    let report = json(&found);
    assert_eq!(
        (&report["verb"], &report["findings"][0]["code"]),
        (&"fleet".into(), &"F001".into())
    );
    let since = warpsmith(None, &["fleet", address, "--earlier", &saved]);
    assert_eq!(code(&since), 0, "{}{}", stdout(&since), stderr(&since));
    exporter.kill().expect("it runs");
    exporter.wait().expect("it ends");

    let wrong = files
        .written("other.json", r#"{"schema": 1}"#)
        .display()
        .to_string();
    for (arguments, said) in [
        (&["fleet", "node[3-1]"][..], "ends before it begins"),
        (
            &["fleet", "--earlier", &wrong, "a"],
            "was not written by `warpsmith fleet --save`",
        ),
        (&["fleet", "https://a"], "needs `--ca FILE`"),
        (&["fleet"], "needs `<HOST>...`"),
        (
            &["baseline", "--compare-fleet", &wrong],
            "was not written by",
        ),
    ] {
        let refused = warpsmith(None, arguments);
        assert_eq!(code(&refused), 2, "{arguments:?}");
        assert!(stderr(&refused).contains(said), "{}", stderr(&refused));
    }
}

/// What a verb writes on a terminal of `script` until it shows `awaited`, and is left with `q`.
fn on_a_terminal(scenario: &Path, arguments: &str, no_color: &str, awaited: &str) -> String {
    let program = std::env::current_exe().expect("a test program has a path");
    let library = program.with_file_name("libwarpsmith_fake_nvml.so");
    let line = format!(
        "stty rows 24 cols 80; timeout --foreground 60 '{}' {arguments}",
        env!("CARGO_BIN_EXE_warpsmith")
    );
    let mut child = Command::new("script")
        .args(["-qfec", &line, "/dev/null"])
        .env("WARPSMITH_NVML_LIBRARY", library)
        .env("FAKE_NVML_SCENARIO", scenario)
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", no_color)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("`script` gives a program a terminal");
    let mut screen = child.stdout.take().expect("a pipe");
    let (mut seen, mut part) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains(awaited) {
        let count = screen.read(&mut part).expect("read");
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&part[..count]);
    }
    let mut keys = child.stdin.take().expect("a pipe");
    keys.write_all(b"q").expect("typed");
    screen.read_to_end(&mut seen).expect("read");
    assert!(child.wait().expect("it ends").success());
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn the_live_view_runs_on_a_terminal_and_respects_no_color() {
    let files = Files::new();
    let scenario = files.written("busy.json", r#"{"gpus": [{"busy": 90, "power_w": 690}]}"#);
    // The limit may come after the first frame, where `690 W` stood; only cells that change are written, and the last
    // digit does not.
    let with_limit = "690/70";
    let plain = on_a_terminal(&scenario, "watch", "1", with_limit);
    assert!(!plain.contains("38;5;"), "{plain:?}");
    // Waited for, because the first frame may come before the first reading, and only readings have colours.
    on_a_terminal(&scenario, "watch", "", "38;5;");
    let path = files.path("run.wsrec");
    let path = path.to_str().expect("text");
    let recorded = warpsmith(Some(&scenario), &["record", path, "--duration", "2s"]);
    assert_eq!(code(&recorded), 0, "{}", stderr(&recorded));
    let played = on_a_terminal(&scenario, &format!("replay '{path}'"), "1", with_limit);
    assert!(played.contains("H200"), "{played}");
}
