//! What is under `deploy/`, checked by the tools that will read it: promtool, a real Prometheus
//! scraping a real exporter on the fake driver, OpenTelemetry's own classes, Helm, schema checkers. What
//! is not installed, and Prometheus without `cargo xtask test --full`, counts as ignored.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// Where a tool is: on the path, or among the oracles that `cargo xtask test --full` installs.
fn tool(name: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/oracle");
    let oracles = ["kubernetes_validate", "opentelemetry"]
        .map(|environment| target.join(environment).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(oracles);
    folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
}

fn installed(name: &str) -> bool {
    match name {
        "opentelemetry" => opentelemetry().is_file(),
        "numpy" => Command::new("python3")
            .args(["-c", "import numpy"])
            .output()
            .is_ok_and(|output| output.status.success()),
        name => tool(name).is_some(),
    }
}

/// A command of a tool, which the trial's list of needs has named.
fn command(name: &str) -> Command {
    Command::new(tool(name).unwrap_or_else(|| name.into()))
}

/// The Python that has OpenTelemetry's classes.
fn opentelemetry() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target.join("oracle/opentelemetry/bin/python")
}

/// Runs a tool; its output is the failure.
fn check(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.success() {
        Ok(said)
    } else {
        Err(said.into())
    }
}

fn rules_hold() -> Result<(), Failed> {
    let folder = deploy().join("prometheus");
    for config in ["prometheus.yml", "compose.yml"] {
        check(
            Command::new("promtool")
                .args(["check", "config", config])
                .current_dir(&folder),
        )?;
    }
    check(
        Command::new("promtool")
            .args(["test", "rules", "alerts_test.yml"])
            .current_dir(&folder),
    )?;
    Ok(())
}

/// The files of a data set by name, its manifests and card left out.
fn data_files(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, Failed> {
    let mut files = Vec::new();
    for split in fs::read_dir(folder.join("data"))? {
        for file in fs::read_dir(split?.path())? {
            let path = file?.path();
            let bytes = fs::read(&path)?;
            files.push((path.strip_prefix(folder)?.to_owned(), bytes));
        }
    }
    files.sort();
    Ok(files)
}

/// The search path with the program's folder in front.
fn path_with(program: &Path) -> Result<String, Failed> {
    Ok(format!(
        "{}:{}",
        program.parent().ok_or("no folder")?.display(),
        std::env::var("PATH").unwrap_or_default()
    ))
}

/// What `deploy/corpus` starts on a cluster, started here without one: the shares that the Slurm array
/// and the Kubernetes job make are, byte for byte, the files of one run.
fn shares_are_the_whole() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = Path::new(env!("CARGO_BIN_EXE_warpsmith"));
    let path = path_with(program)?;
    let whole = folder.path().join("whole");
    check(
        Command::new(program)
            .args(["corpus", "generate", "--out"])
            .arg(&whole)
            .args(["--count", "40", "--seed", "1", "--shard-pairs", "12"])
            .args(["--verify", "executed"]),
    )?;
    let slurm = folder.path().join("slurm");
    for task in ["1", "0"] {
        check(
            Command::new("bash")
                .arg(deploy().join("corpus/slurm-array.sh"))
                .arg(&slurm)
                .env("PATH", &path)
                .env("COUNT", "40")
                .env("SHARD_PAIRS", "12")
                .env("SLURM_ARRAY_TASK_ID", task)
                .env("SLURM_ARRAY_TASK_COUNT", "2"),
        )?;
    }
    let job = fs::read_to_string(deploy().join("corpus/kubernetes-job.yaml"))?;
    let (_, script) = job.split_once("- >-\n").ok_or("no script")?;
    let (script, _) = script.split_once("resources:").ok_or("no end")?;
    let words: Vec<&str> = script.split_whitespace().collect();
    let kubernetes = folder.path().join("kubernetes");
    for pod in ["0", "1", "2"] {
        check(
            Command::new("sh")
                .args(["-c", &words.join(" ")])
                .env("PATH", &path)
                .env("COUNT", "40")
                .env("SHARD_PAIRS", "12")
                .env("SHARES", "3")
                .env("OUT", &kubernetes)
                .env("JOB_COMPLETION_INDEX", pod),
        )?;
    }
    let expected = data_files(&whole)?;
    for made in [&slurm, &kubernetes] {
        if data_files(made)? != expected {
            return Err(format!("`{}` has other files", made.display()).into());
        }
        check(Command::new(program).args(["corpus", "card"]).arg(made))?;
        check(Command::new(program).args(["corpus", "verify"]).arg(made))?;
    }
    Ok(())
}

/// What a pod of the job for tasks does, without a GPU, which needs NumPy: it makes its share, judges it, and
/// makes it again; a pod that is started once more changes nothing.
fn tasks_are_made_and_judged() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = path_with(Path::new(env!("CARGO_BIN_EXE_warpsmith")))?;
    let job = fs::read_to_string(deploy().join("corpus/tasks-kubernetes-job.yaml"))?;
    let (_, script) = job.split_once("- |\n").ok_or("no script")?;
    let (script, _) = script.split_once("          resources:").ok_or("no end")?;
    let share = folder.path().join("share-1");
    let mut made = Vec::new();
    for _ in 0..2 {
        check(
            Command::new("sh")
                .args(["-c", script])
                .env("PATH", &path)
                .env("COUNT", "3")
                .env("DEVICE", "cpu")
                .env("OUT", folder.path())
                .env("JOB_COMPLETION_INDEX", "1"),
        )?;
        let names = ["tasks.jsonl", "README.md", "warp.verdicts.jsonl"];
        let texts = names.map(|name| fs::read_to_string(share.join(name)));
        made.push(texts.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    if made[0] != made[1] {
        return Err("a pod that is started again changes its share".into());
    }
    let correct = made[0][2].matches("\"verdict\":\"correct\"").count();
    if made[0][0].lines().count() != 3 || correct != 3 {
        return Err(made[0].join("\n").into());
    }
    Ok(())
}

/// Needs no tool: every alert has a case that fires and one that stays silent.
fn every_alert_is_tested_both_ways() -> Result<(), Failed> {
    let folder = deploy().join("prometheus");
    let rules = fs::read_to_string(folder.join("alerts.yml"))?;
    let tests = fs::read_to_string(folder.join("alerts_test.yml"))?;
    let alerts: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    if alerts.len() < 15 {
        return Err(format!("only {} alerts", alerts.len()).into());
    }
    for alert in alerts {
        let cases = tests
            .split("alertname: ")
            .skip(1)
            .filter(|case| case.lines().next().is_some_and(|name| name.trim() == alert));
        let expected: Vec<bool> = cases
            .map(|case| {
                !case
                    .lines()
                    .nth(1)
                    .unwrap_or_default()
                    .contains("exp_alerts: []")
            })
            .collect();
        if !expected.contains(&true) || !expected.contains(&false) {
            return Err(format!("{alert} has the cases {expected:?}").into());
        }
    }
    Ok(())
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that was free a moment ago.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn exporter(scenario: &Path, port: u16, more: &[&OsStr]) -> Result<Running, Failed> {
    let library = std::env::current_exe()?
        .parent()
        .map(|folder| folder.join("libwarpsmith_fake_nvml.so"))
        .ok_or("a test program is in a folder")?;
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["export", "--listen", &format!("127.0.0.1:{port}")])
        .args(more)
        .env("WARPSMITH_NVML_LIBRARY", library)
        .env("FAKE_NVML_SCENARIO", scenario)
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        BufReader::new(stderr).read_line(&mut said)?;
    }
    if !said.contains("serving") {
        return Err(said.into());
    }
    Ok(Running(child))
}

/// A Prometheus with the `prometheus.yml` of a folder.
fn prometheus(folder: &Path, port: u16) -> Result<Running, Failed> {
    let at = |name: &str| folder.join(name).display().to_string();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", at("prometheus.yml")))
        .arg(format!("--storage.tsdb.path={}", at("data")))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Running(child))
}

/// A page over HTTP/1.0, which ends with the connection.
fn get(port: u16, path: &str) -> Result<String, Failed> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
    if head.contains(" 200 ") || head.contains(" 400 ") {
        Ok(body.to_owned())
    } else {
        Err(head.into())
    }
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => (byte as char).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn query(port: u16, expression: &str) -> Result<Value, Failed> {
    let body = get(
        port,
        &format!("/api/v1/query?query={}", percent_encoded(expression)),
    )?;
    Ok(serde_json::from_str(&body)?)
}

/// Asks until the answer is as it should be, for as long as a loaded machine may need.
fn wait_for(what: &str, mut ask: impl FnMut() -> Result<bool, Failed>) -> Result<(), Failed> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Ok(true) = ask() {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("{what} did not happen").into());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The alert that the scenario raises and clears.
const ALERT: &str = "GpuThermalMarginLow";

/// The dashboard's expressions with its variables filled in. The scenario has every sensor, so an
/// empty answer is a wrong name.
fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().cloned().unwrap_or_default();
    panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().cloned().unwrap_or_default())
        .filter_map(|target| target["expr"].as_str().map(str::to_owned))
        .map(|expression| {
            expression
                .replace("$instance", ".*")
                .replace("$gpu", ".*")
                .replace("$__rate_interval", "30s")
        })
        .collect()
}

fn prometheus_scrapes_and_an_alert_fires_and_clears() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let scenario = folder.path().join("scenario.json");
    // The margin is gone from the start and comes back after twenty seconds.
    fs::write(
        &scenario,
        r#"{"gpus": [{"count": 8, "temperature_c": {"points": [[0, 86], [20, 86], [21, 40]]},
            "throttle": {"power_cap": 0.5}, "memory_used_mb": 9000,
            "processes": [{"pid": 1, "memory_mb": 9000}]}]}"#,
    )?;
    // The rules of the product, with their waiting times shortened.
    let rules = fs::read_to_string(deploy().join("prometheus/alerts.yml"))?;
    let rules: String = rules
        .lines()
        .map(|line| {
            if line.trim().starts_with("for: ") {
                "        for: 2s\n".into()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fs::write(folder.path().join("alerts.yml"), rules)?;
    let (port, web, alerts) = (free_port()?, free_port()?, free_port()?);
    let manager = folder.path().join("alertmanager.yml");
    fs::write(
        &manager,
        "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n",
    )?;
    let alertmanager = Command::new("prometheus-alertmanager")
        .arg(format!("--config.file={}", manager.display()))
        .arg(format!(
            "--storage.path={}",
            folder.path().join("alerts").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{alerts}"))
        .arg("--cluster.listen-address=")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let _alertmanager = Running(alertmanager);
    fs::write(
        folder.path().join("prometheus.yml"),
        format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [alerts.yml]\n\
             scrape_configs:\n  - job_name: warpsmith\n    static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n\
             alerting:\n  alertmanagers:\n    - static_configs: [{{targets: ['127.0.0.1:{alerts}']}}]\n"
        ),
    )?;
    let _prometheus = prometheus(folder.path(), web)?;
    // The scenario's clock starts with the exporter: everybody who should see it is there by then.
    wait_for(
        "Prometheus being ready",
        || Ok(get(web, "/-/ready").is_ok()),
    )?;
    wait_for("Alertmanager being ready", || {
        Ok(get(alerts, "/-/ready").is_ok())
    })?;
    let _exporter = exporter(&scenario, port, &[OsStr::new("--processes")])?;
    check(Command::new("promtool").args(["check", "metrics"]).stdin({
        let page = folder.path().join("metrics");
        fs::write(&page, get(port, "/metrics")?)?;
        fs::File::open(page)?
    }))?;
    let firing = |wanted: bool| {
        move || {
            let answer: Value = serde_json::from_str(&get(web, "/api/v1/alerts")?)?;
            let list = answer["data"]["alerts"]
                .as_array()
                .cloned()
                .ok_or("no alerts list")?;
            let fires = list
                .iter()
                .any(|alert| alert["labels"]["alertname"] == ALERT && alert["state"] == "firing");
            Ok(fires == wanted)
        }
    };
    let delivered = |wanted: bool| {
        move || {
            let answer: Value = serde_json::from_str(&get(alerts, "/api/v2/alerts")?)?;
            let list = answer.as_array().cloned().ok_or("no alerts list")?;
            Ok(list
                .iter()
                .any(|alert| alert["labels"]["alertname"] == ALERT)
                == wanted)
        }
    };
    wait_for("the alert firing", firing(true))?;
    wait_for("the alert reaching Alertmanager", delivered(true))?;
    wait_for("the alert clearing", firing(false))?;
    wait_for("the alert leaving Alertmanager", delivered(false))?;
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(
        deploy().join("grafana/dashboard.json"),
    )?)?;
    let expressions = expressions(&dashboard);
    if expressions.len() < 16 {
        return Err(format!("only {} expressions in the dashboard", expressions.len()).into());
    }
    for expression in expressions {
        wait_for(&format!("data for `{expression}`"), || {
            let answer = query(web, &expression)?;
            Ok(answer["status"] == "success"
                && answer["data"]["result"]
                    .as_array()
                    .is_some_and(|rows| !rows.is_empty()))
        })?;
    }
    let up = query(web, "up{job=\"warpsmith\"}")?;
    if up["data"]["result"][0]["value"][1] != "1" {
        return Err(format!("the exporter is not up: {up}").into());
    }
    Ok(())
}

/// `secret` at bcrypt's lowest cost.
const HASH: &str = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";

fn prometheus_and_curl_scrape_over_tls_with_a_password() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    check(
        Command::new("openssl")
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            ])
            .args([
                "-subj",
                "/CN=exporter",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ])
            .args(["-keyout", "server.key", "-out", "server.crt"])
            .current_dir(folder.path()),
    )?;
    fs::write(at("scenario.json"), "{}")?;
    fs::write(
        at("web.yml"),
        format!(
            "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n\
             basic_auth_users:\n  alice: {HASH}\n"
        ),
    )?;
    let (port, web) = (free_port()?, free_port()?);
    let config = at("web.yml");
    let more = [OsStr::new("--web-config"), config.as_os_str()];
    let _exporter = exporter(&at("scenario.json"), port, &more)?;
    let page = format!("https://127.0.0.1:{port}/metrics");
    let curl = |arguments: &[&str]| -> Result<String, Failed> {
        let done = Command::new("curl")
            .args(["--silent", "--show-error", "--output", "-"])
            .args(["--write-out", "\n%{http_code} %{ssl_verify_result}"])
            .args(arguments)
            .arg(&page)
            .current_dir(folder.path())
            .output()?;
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let trusted = curl(&["--cacert", "server.crt", "--user", "alice:secret"])?;
    if !trusted.ends_with("200 0") || !trusted.contains("warpsmith_gpu_power_watts") {
        return Err(format!("curl was not served: {trusted}").into());
    }
    for (arguments, code) in [
        (&["--cacert", "server.crt"][..], "401"),
        (
            &["--cacert", "server.crt", "--user", "alice:wrong"][..],
            "401",
        ),
        (
            &[
                "--cacert",
                "server.crt",
                "--user",
                "alice:secret",
                "--tls-max",
                "1.2",
            ][..],
            "200",
        ),
        (
            &[
                "--cacert",
                "server.crt",
                "--user",
                "alice:secret",
                "--tls-max",
                "1.1",
            ][..],
            "000",
        ),
        (&["--user", "alice:secret"][..], "000"),
    ] {
        let said = curl(arguments)?;
        let last = said.lines().last().unwrap_or_default();
        if !last.starts_with(code) {
            return Err(format!("curl {arguments:?}: {last}, not {code}").into());
        }
    }
    check(
        Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .args([
                "health",
                "--address",
                &format!("127.0.0.1:{port}"),
                "--web-config",
            ])
            .arg(&config),
    )?;
    fs::write(
        at("prometheus.yml"),
        format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: warpsmith\n    \
             scheme: https\n    tls_config: {{ca_file: server.crt}}\n    \
             basic_auth: {{username: alice, password: secret}}\n    \
             static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
        ),
    )?;
    let _prometheus = prometheus(folder.path(), web)?;
    wait_for("a scrape over TLS", || {
        let up = query(web, "up{job=\"warpsmith\"}")?;
        Ok(up["data"]["result"][0]["value"][1] == "1")
    })
}

fn container_file_is_clean() -> Result<(), Failed> {
    check(Command::new("hadolint").arg(deploy().join("Containerfile"))).map(drop)
}

fn manifests_follow_their_schema() -> Result<(), Failed> {
    for file in [
        "corpus/kubernetes-job.yaml",
        "corpus/tasks-kubernetes-job.yaml",
        "kubernetes/daemonset.yaml",
        "kubernetes/networkpolicy.yaml",
        "kubernetes/service.yaml",
    ] {
        check(command("kubernetes-validate").arg(deploy().join(file)))?;
    }
    Ok(())
}

fn alerts_have_a_receiver() -> Result<(), Failed> {
    let config = deploy().join("alertmanager/alertmanager.yml");
    check(Command::new("amtool").arg("check-config").arg(config)).map(drop)
}

/// The entries of a YAML file below `above`, which are indented by two more than it is; comments are
/// none. Enough for files that are written here.
fn entries<'a>(text: &'a str, above: &str) -> Vec<&'a str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut indent = 0;
    if !above.is_empty() {
        let found = lines.find(|line| line.trim() == format!("{above}:"));
        indent = found.map_or(0, |line| depth(line) + 2);
    }
    lines
        .take_while(|line| line.trim().is_empty() || depth(line) >= indent)
        .filter(|line| depth(line) == indent && !line.trim_start().starts_with('-'))
        .filter_map(|line| line.trim().split_once(':').map(|(key, _)| key))
        .collect()
}

/// Needs no tool: what the compose file promises is there, and reaches what it names.
fn compose_is_complete() -> Result<(), Failed> {
    let compose = fs::read_to_string(deploy().join("compose.yaml"))?;
    let services = entries(&compose, "services");
    if services != ["warpsmith", "prometheus", "alertmanager", "grafana"] {
        return Err(format!("the services are {services:?}").into());
    }
    for line in compose.lines().map(str::trim) {
        if let Some(ports) = line.strip_prefix("ports: ")
            && !ports.starts_with("[\"127.0.0.1:")
        {
            return Err(format!("published beyond loopback: {ports}").into());
        }
        if let Some(image) = line.strip_prefix("image: ")
            && (image.ends_with(":latest") || !image.contains(':'))
        {
            return Err(format!("an image without a version: {image}").into());
        }
        if let Some(mount) = line.strip_prefix("- ./") {
            let path = mount.split(':').next().unwrap_or_default();
            if !deploy().join(path).exists() {
                return Err(format!("`deploy/{path}` is mounted and missing").into());
            }
        }
    }
    let published = |port: &str| compose.contains(&format!("[\"127.0.0.1:{port}:{port}\"]"));
    let read = |path: &str| fs::read_to_string(deploy().join(path));
    for (file, address) in [
        ("prometheus/compose.yml", "warpsmith:9877"),
        ("prometheus/compose.yml", "alertmanager:9093"),
        (
            "grafana/provisioning/datasources/prometheus.yaml",
            "prometheus:9090",
        ),
    ] {
        let port = address.rsplit(':').next().unwrap_or_default();
        if !read(file)?.contains(address) || !published(port) {
            return Err(format!("`{file}` does not lead to {address}").into());
        }
    }
    let folder = "/var/lib/grafana/dashboards";
    let provided = read("grafana/provisioning/dashboards/warpsmith.yaml")?.contains(folder);
    let mounted = format!("./grafana/dashboard.json:{folder}/dashboard.json:ro");
    match provided && compose.contains(&mounted) && published("3000") {
        true => Ok(()),
        false => Err("the dashboard does not reach Grafana".into()),
    }
}

/// The exporter pushes to a receiver that decodes with OpenTelemetry's own classes, and its page has the
/// same numbers; a `fleet` of the Prometheus that scrapes it has its GPUs.
fn pushes_are_understood() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let scenario = folder.path().join("scenario.json");
    fs::write(
        &scenario,
        r#"{"gpus": [{"count": 2, "busy": 73, "temperature_c": 55, "throttle": {"power_cap": 0.5},
            "ecc_corrected": 3, "processes": [{"pid": 1, "memory_mb": 9000}]}]}"#,
    )?;
    let (port, receiver) = (free_port()?, free_port()?);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trials/otlp_receiver.py");
    let mut child = Command::new(opentelemetry())
        .arg(script)
        .args([receiver.to_string(), port.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut ready = String::new();
    let mut said = BufReader::new(child.stdout.take().ok_or("no output")?);
    said.read_line(&mut ready)?;
    let mut receiving = Running(child);
    if ready.trim() != "ready" {
        return Err(format!("the receiver does not start: {ready}").into());
    }
    let otlp = format!("http://127.0.0.1:{receiver}");
    let options = [
        "--otlp",
        &otlp,
        "--otlp-interval",
        "500ms",
        "--otlp-attribute",
        "rack=r1",
        "--otlp-header",
        "x-scope=gpu",
        "--processes",
    ];
    let _exporter = exporter(&scenario, port, &options.map(OsStr::new))?;
    let mut verdict = String::new();
    said.read_to_string(&mut verdict)?;
    let ended = receiving.0.wait()?;
    match ended.success() {
        true => Ok(()),
        false => {
            let mut errors = String::new();
            if let Some(mut stderr) = receiving.0.stderr.take() {
                stderr.read_to_string(&mut errors)?;
            }
            Err(format!("{verdict}{errors}").into())
        }
    }
}

/// `fleet --prometheus` has what `fleet` reads from the exporters themselves.
fn a_fleet_is_read_from_prometheus() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let scenario = folder.path().join("scenario.json");
    fs::write(
        &scenario,
        r#"{"gpus": [{"count": 8, "busy": 98, "throttle": {"power_cap": 0.5}}]}"#,
    )?;
    let (first, second, gone, web) = (free_port()?, free_port()?, free_port()?, free_port()?);
    fs::write(
        folder.path().join("prometheus.yml"),
        format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: gpu\n    static_configs: \
             [{{targets: ['127.0.0.1:{first}', '127.0.0.1:{second}', '127.0.0.1:{gone}']}}]\n  \
             - job_name: other\n    static_configs: [{{targets: ['127.0.0.1:1']}}]\n"
        ),
    )?;
    let _prometheus = prometheus(folder.path(), web)?;
    let _exporters = [
        exporter(&scenario, first, &[])?,
        exporter(&scenario, second, &["--compat", "dcgm"].map(OsStr::new))?,
    ];
    wait_for("both being scraped", || {
        let known = query(
            web,
            "count(warpsmith_gpu_info) + count(DCGM_FI_DEV_GPU_UTIL)",
        )?;
        let down = query(web, "up == 0")?;
        let down = down["data"]["result"].as_array().map(Vec::len);
        Ok(known["data"]["result"][0]["value"][1] == "16" && down == Some(2))
    })?;
    let fleet = |arguments: &[&str]| -> Result<Value, Failed> {
        let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
            .arg("fleet")
            .args(arguments)
            .args(["--timeout", "20s", "--format", "json"])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).map_err(|_| said.into())
    };
    let address = format!("http://127.0.0.1:{web}");
    let report = fleet(&["--prometheus", &address])?;
    let hosts = [first, second, gone].map(|port| format!("127.0.0.1:{port}"));
    let itself = fleet(&hosts.each_ref().map(String::as_str))?;
    for host in &hosts {
        let of = |report: &Value| -> Option<Value> {
            let mut known = report["body"]["hosts"].as_array()?.iter();
            known.find(|one| one["host"] == **host).cloned()
        };
        let (there, here) = (of(&report), of(&itself));
        let (Some(there), Some(here)) = (there, here) else {
            return Err(format!("{host} is missing: {report}").into());
        };
        if there["down"].is_null() != here["down"].is_null() {
            return Err(format!("{there} is not {here}").into());
        }
        // Power has noise, and shares of time are over another time.
        for (one, other) in there["gpus"]
            .as_array()
            .into_iter()
            .flatten()
            .zip(here["gpus"].as_array().into_iter().flatten())
        {
            for key in [
                "gpu",
                "uuid",
                "name",
                "busy_ratio",
                "temperature_celsius",
                "sm_clock_mhz",
                "pcie_width",
                "ecc_uncorrected",
            ] {
                if one[key] != other[key] {
                    return Err(
                        format!("{key} of {host}: {} is not {}", one[key], other[key]).into(),
                    );
                }
            }
        }
        let gpus = |host: &Value| host["gpus"].as_array().map_or(0, Vec::len);
        if gpus(&there) != gpus(&here) {
            return Err(format!("{there} has other GPUs than {here}").into());
        }
    }
    let hosts = report["body"]["hosts"].as_array().map_or(0, Vec::len);
    if hosts != 3 {
        return Err(format!("{hosts} hosts: other jobs are not ours").into());
    }
    // Something else on that port is named.
    let other = format!("http://127.0.0.1:{first}");
    let error = fleet(&["--prometheus", &other])
        .err()
        .ok_or("not refused")?;
    match format!("{error:?}").contains("address of a Prometheus") {
        true => Ok(()),
        false => Err(error),
    }
}

/// Needs no tool: templates use values and definitions that exist, every value is used and in the
/// schema, blocks end, and the options are the program's.
fn chart_has_what_it_needs() -> Result<(), Failed> {
    let chart = deploy().join("helm/warpsmith-exporter");
    let read = |path: &str| fs::read_to_string(chart.join(path));
    let values = read("values.yaml")?;
    let schema: Value = serde_json::from_str(&read("values.schema.json")?)?;
    let mut templates = String::new();
    for file in fs::read_dir(chart.join("templates"))? {
        let text = fs::read_to_string(file?.path())?;
        let count = |words: &[&str]| -> usize {
            let opens = text
                .split("{{")
                .skip(1)
                .map(|part| part.trim_start_matches('-').trim());
            opens
                .filter(|part| words.contains(&part.split(' ').next().unwrap_or_default()))
                .count()
        };
        if count(&["if", "with", "define", "range"]) != count(&["end"]) {
            return Err("a block does not end".into());
        }
        templates.push_str(&text);
    }
    let name = |text: &str| -> String {
        let fits = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
        text.chars().take_while(fits).collect()
    };
    let mut used: Vec<String> = templates.split(".Values.").skip(1).map(name).collect();
    used.sort_unstable();
    used.dedup();
    for path in &used {
        let mut above = "";
        let mut known = &schema;
        for key in path.split('.') {
            known = &known["properties"][key];
            if !entries(&values, above).contains(&key) || known.is_null() {
                return Err(format!("`{path}` is not in values.yaml and its schema").into());
            }
            above = key;
        }
    }
    for key in entries(&values, "") {
        if !used.iter().any(|path| path.split('.').next() == Some(key)) {
            return Err(format!("`{key}` of values.yaml is used nowhere").into());
        }
    }
    for part in templates.split("include \"").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        if !templates.contains(&format!("define \"{name}\"")) {
            return Err(format!("`{name}` is defined nowhere").into());
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    if !read("Chart.yaml")?.contains(&format!("appVersion: \"{version}\"")) {
        return Err(format!("the chart is not of version {version}").into());
    }
    let help = check(Command::new(env!("CARGO_BIN_EXE_warpsmith")).args(["export", "--help"]))?;
    for part in templates.split("- --").skip(1) {
        let fits = |c: &char| c.is_ascii_lowercase() || *c == '-';
        let option: String = part.chars().take_while(fits).collect();
        if !help.contains(&format!("--{option}")) {
            return Err(format!("`export` has no option `--{option}`").into());
        }
    }
    Ok(())
}

/// The chart as Helm renders it, with everything off and with everything on; values that its schema does
/// not have are refused.
fn chart_renders() -> Result<(), Failed> {
    let chart = deploy().join("helm/warpsmith-exporter");
    check(command("helm").arg("lint").arg(&chart))?;
    let folder = tempfile::tempdir()?;
    for (nth, set) in [
        "podResources.enabled=false,networkPolicy.enabled=false,runtimeClassName=",
        "serviceMonitor.enabled=true,compat=dcgm,processes.enabled=true,webConfigSecret=web",
        "processes.enabled=true,processes.hostPID=true,otlp.endpoint=http://collector:4318,\
         otlp.headersSecret=otlp,extraArgs={--otlp-interval=30s}",
    ]
    .iter()
    .enumerate()
    {
        let text = check(
            command("helm")
                .args(["template", "release", "--set", set])
                .arg(&chart),
        )?;
        for kind in ["DaemonSet", "Service"] {
            if !text.contains(&format!("kind: {kind}\n")) {
                return Err(format!("`{set}` renders no {kind}").into());
            }
        }
        let policy = text.contains("kind: NetworkPolicy");
        if policy == set.contains("networkPolicy.enabled=false")
            || text.contains("kind: ServiceMonitor") != set.contains("serviceMonitor.enabled=true")
        {
            return Err(format!("`{set}` is not followed: {text}").into());
        }
        options_are_the_programs(&text)?;
        // The operator's own kinds are not in Kubernetes' schema.
        let documents = text
            .split("\n---")
            .filter(|text| !text.contains("monitoring.coreos.com"));
        let file = folder.path().join(format!("{nth}.yaml"));
        fs::write(&file, documents.collect::<Vec<_>>().join("\n---"))?;
        check(command("kubernetes-validate").arg("--strict").arg(file))?;
    }
    for wrong in [
        "compat=smi",
        "otlp.endpoint=collector",
        "service.port=0",
        "typo=1",
    ] {
        let rendered = check(
            command("helm")
                .args(["template", "release", "--set", wrong])
                .arg(&chart),
        );
        if rendered.is_ok() {
            return Err(format!("`{wrong}` is not refused").into());
        }
    }
    Ok(())
}

/// The arguments of the rendered container are ones that `export` takes.
fn options_are_the_programs(manifest: &str) -> Result<(), Failed> {
    let arguments: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- --"))
        .collect();
    if arguments.is_empty() {
        return Err("the container has no arguments".into());
    }
    let help = check(Command::new(env!("CARGO_BIN_EXE_warpsmith")).args(["export", "--help"]))?;
    for argument in arguments {
        let option = argument.split('=').next().unwrap_or_default();
        if !help.contains(&format!("--{option} "))
            && !help.contains(&format!("--{option}\n"))
            && !help.contains(&format!("--{option}["))
        {
            return Err(format!("`export` has no option `--{option}`").into());
        }
    }
    Ok(())
}

fn compose_follows_its_schema() -> Result<(), Failed> {
    check(
        command("check-jsonschema")
            .args(["--builtin-schema", "vendor.compose-spec"])
            .arg(deploy().join("compose.yaml")),
    )
    .map(drop)
}

pub(crate) fn trials() -> Vec<Trial> {
    let full = std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1");
    let needs = |tools: &[&str], name: &str, run: fn() -> Result<(), Failed>| {
        if tools.contains(&"prometheus") && !full {
            return Trial::test(format!("{name} (with --full)"), run).with_ignored_flag(true);
        }
        let missing: Vec<&str> = tools
            .iter()
            .copied()
            .filter(|tool| !installed(tool))
            .collect();
        let name = if missing.is_empty() {
            name.to_owned()
        } else {
            format!("{name} (skipped: no {})", missing.join(", "))
        };
        Trial::test(name, run).with_ignored_flag(!missing.is_empty())
    };
    vec![
        needs(
            &["bash", "sh"],
            "shares of a data set are the whole",
            shares_are_the_whole,
        ),
        needs(
            &["sh", "numpy"],
            "tasks are made and judged",
            tasks_are_made_and_judged,
        ),
        needs(
            &[],
            "every alert is tested both ways",
            every_alert_is_tested_both_ways,
        ),
        needs(
            &["promtool"],
            "alert rules and their tests hold",
            rules_hold,
        ),
        needs(
            &["prometheus", "promtool", "prometheus-alertmanager"],
            "a real prometheus scrapes, alerts and answers the dashboard",
            prometheus_scrapes_and_an_alert_fires_and_clears,
        ),
        needs(
            &["prometheus", "curl", "openssl"],
            "prometheus and curl scrape over tls with a password",
            prometheus_and_curl_scrape_over_tls_with_a_password,
        ),
        needs(
            &["prometheus"],
            "a fleet is read from a real prometheus",
            a_fleet_is_read_from_prometheus,
        ),
        needs(
            &["opentelemetry"],
            "pushes are understood by opentelemetry's own classes",
            pushes_are_understood,
        ),
        needs(
            &["hadolint"],
            "the container file is clean",
            container_file_is_clean,
        ),
        needs(
            &["kubernetes-validate"],
            "manifests follow their schema",
            manifests_follow_their_schema,
        ),
        needs(&[], "the compose file is complete", compose_is_complete),
        needs(&[], "the chart has what it needs", chart_has_what_it_needs),
        needs(
            &["helm", "kubernetes-validate"],
            "the chart renders to valid manifests",
            chart_renders,
        ),
        needs(
            &["amtool"],
            "alerts have a receiver",
            alerts_have_a_receiver,
        ),
        needs(
            &["check-jsonschema"],
            "the compose file follows its schema",
            compose_follows_its_schema,
        ),
    ]
}
