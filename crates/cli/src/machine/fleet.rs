//! `warpsmith fleet`: the exporters of many machines in one table, and who is not like the others.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_core::{Report, Severity};
use warpsmith_formats::{base64, write_output_durably};
use warpsmith_telemetry::Endpoint;
use warpsmith_telemetry::fleet::{
    FleetBody, Kind, Load, Reading, Typical, hosts, judge_fleet, prometheus_endpoint, read_fleet,
    read_prometheus,
};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::numbers;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Read many exporters and find who is not like the others.
///
/// Reads `warpsmith export` (or dcgm-exporter) on every host at once, and compares each GPU with
/// others of the same model under similar load: who is down, who throttles, whose PCIe link is
/// narrow, whose power, temperature or clock is far from its kind, who is set up differently, and,
/// with `--earlier`, who has changed. The exit code is 1 when there is somebody.
///
/// Hosts are names or addresses, with a port (9877 unless told otherwise) and a path (`/metrics`)
/// where they need one; `node[01-32]` is a range.
///
/// With `--prometheus` the same table comes from a Prometheus that scrapes them: its last values, by
/// `instance`, and shares of time over the last five minutes. What it cannot scrape is down.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith fleet node1 node2:9900\n  \
                        warpsmith fleet 'node[01-32]:9877'\n  \
                        warpsmith fleet --file hosts.txt --save monday.json\n  \
                        warpsmith fleet --file targets.json --earlier monday.json\n  \
                        warpsmith fleet 'https://node[1-8]' --ca ca.crt --user prometheus --password-file secret\n  \
                        warpsmith fleet 'gpu[1-4]:9400' --format json\n  \
                        warpsmith fleet --prometheus http://prometheus:9090 --over 10m")]
pub(crate) struct Fleet {
    /// Hosts to read; `node[01-32]` is a range.
    #[arg(value_name = "HOST", required_unless_present_any = ["file", "prometheus"])]
    hosts: Vec<String>,
    /// Hosts from a file: one or more per line, or Prometheus' JSON list of targets.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    file: Option<PathBuf>,
    /// Read a Prometheus that scrapes the exporters, instead of them.
    #[arg(long, value_name = "URL", value_parser = prometheus_endpoint, conflicts_with_all = ["hosts", "file"])]
    prometheus: Option<Endpoint>,
    /// How long a host may take for its whole answer.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = numbers::seconds)]
    timeout: f64,
    /// Time between two readings of a host, for shares of time; 0 reads once.
    ///
    /// Default: 500 ms; 5 minutes with `--prometheus`, which has to have scraped twice by then.
    #[arg(long, value_name = "TIME", value_parser = numbers::seconds_or_none)]
    over: Option<f64>,
    /// User of the exporters' web-config file, or of the Prometheus.
    #[arg(long, value_name = "NAME", requires = "password_file")]
    user: Option<String>,
    /// File with that user's password, on its first line.
    #[arg(long, value_name = "FILE", requires = "user", value_parser = inputs::file())]
    password_file: Option<PathBuf>,
    /// Authorities of the exporters' certificates, as PEM; for `https://` hosts.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    ca: Option<PathBuf>,
    /// Also write the report as JSON, which `--earlier` reads.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Find GPUs that changed since an earlier report of `--save`.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    earlier: Option<PathBuf>,
}

impl Fleet {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--save", self.save.as_deref())])?;
        let before = self.earlier.as_deref().map(read_report).transpose()?;
        let how = Reading {
            deadline: Duration::from_secs_f64(self.timeout),
            over: self.over()?,
            authorization: self.authorization()?,
            authorities: self.ca.clone(),
        };
        let read = match &self.prometheus {
            Some(server) => read_prometheus(server, &how)?,
            None => read_fleet(&hosts(&self.hosts, self.file.as_deref())?, &how)?,
        };
        let (body, findings) = judge_fleet(read, before.as_ref().map(|report| &report.body));
        let mut report = output::report("fleet", body);
        report.findings = findings;
        if let Some(path) = &self.save {
            write_output_durably(path, &serde_json::to_vec(&report)?)?;
        }
        output::print(global, &report, text)?;
        Ok(Outcome::fine_if(report.worst() < Some(Severity::Warning)))
    }

    fn over(&self) -> Result<Duration> {
        let usual = if self.prometheus.is_some() {
            300.0
        } else {
            0.5
        };
        let over = self.over.unwrap_or(usual);
        // Two values of one scrape would be a share of nothing.
        if self.prometheus.is_some() && over > 0.0 && over < 60.0 {
            bail!("`--over` must be at least 1m with `--prometheus`, or 0 for no shares of time");
        }
        Ok(Duration::from_secs_f64(over))
    }

    fn authorization(&self) -> Result<Option<String>> {
        let (Some(user), Some(path)) = (&self.user, &self.password_file) else {
            return Ok(None);
        };
        let password = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the password in `{}`", path.display()))?;
        let Some(password) = password.lines().next().filter(|line| !line.is_empty()) else {
            bail!("`{}` has no password on its first line", path.display());
        };
        let both = format!("{user}:{password}");
        Ok(Some(format!("Basic {}", base64::encode(both.as_bytes()))))
    }
}

/// A report that `--save` wrote.
pub(super) fn read_report(path: &Path) -> Result<Report<FleetBody>> {
    let text = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let report: Report<FleetBody> = serde_json::from_slice(&text).with_context(|| {
        format!(
            "`{}` was not written by `warpsmith fleet --save`",
            path.display()
        )
    })?;
    if report.verb != "fleet" {
        bail!(
            "`{}` is a report of `warpsmith {}`, not of `warpsmith fleet --save`",
            path.display(),
            report.verb
        );
    }
    Ok(report)
}

fn text(body: &FleetBody) -> String {
    let answer = body.hosts.iter().filter(|host| host.down.is_none());
    let gpus: usize = body.hosts.iter().map(|host| host.gpus.len()).sum();
    let mut text = format!(
        "{} of {} hosts answer, {gpus} GPUs",
        answer.count(),
        body.hosts.len(),
    );
    let seconds = body.hosts.iter().filter_map(|host| host.seconds);
    if let Some(slowest) = seconds.max_by(f64::total_cmp) {
        let _ = write!(text, ", slowest answer {:.0} ms", slowest * 1e3);
    }
    text.push('\n');
    if !body.kinds.is_empty() {
        let _ = write!(text, "\n{}", kinds(&body.kinds));
    }
    if !body.remarks.is_empty() {
        let mut table = Table::new(&["host", ">GPU", "code", "what"]);
        for remark in &body.remarks {
            table.row([
                remark.host.clone(),
                remark.gpu.clone().unwrap_or_default(),
                remark.code.clone(),
                remark.seen.clone(),
            ]);
        }
        let _ = write!(text, "\n{table}");
    }
    text
}

fn kinds(kinds: &[Kind]) -> Table {
    let mut table = Table::new(&[
        "model", "load", ">GPUs", ">power W", ">°C", ">SM MHz", "compared",
    ]);
    for kind in kinds {
        let typical = |name: &str| {
            let found = kind.typical.iter().find(|(known, _)| known == name);
            found.map_or_else(|| "–".to_owned(), |(_, typical)| range(typical))
        };
        table.row([
            kind.name.clone(),
            kind.load.name().to_owned(),
            kind.gpus.to_string(),
            typical("power"),
            typical("temperature"),
            typical("SM clock"),
            match (kind.compared, kind.load) {
                (true, _) => "yes",
                (false, Load::Unknown) => "no",
                (false, _) => "too few",
            }
            .to_owned(),
        ]);
    }
    table
}

/// The median, and the lowest and highest.
fn range(typical: &Typical) -> String {
    format!(
        "{:.0} [{:.0}, {:.0}]",
        typical.median, typical.lowest, typical.highest
    )
}
