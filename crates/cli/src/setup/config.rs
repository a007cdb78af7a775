//! `warpsmith config show`: what is in force, and where it comes from.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use warpsmith_config::{Document, Entry, Origin, Owner, Setting};
use warpsmith_doctor::check_codes;

use crate::configuration;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Show the configuration in force, and where it comes from.
///
/// A project has `.warpsmith.toml` in its root, you have `config.toml` in
/// `$XDG_CONFIG_HOME/warpsmith` (`~/.config/warpsmith`). The command line wins over the environment,
/// that over the project, that over yours.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith config show\n  \
                             warpsmith config show --format json\n  \
                             warpsmith config show --device cpu   # what this call would use")]
pub(crate) struct Config {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show every key with its value and where it comes from.
    #[command(after_long_help = "Examples:\n  warpsmith config show\n  \
                                 warpsmith config show --format json")]
    Show,
}

#[derive(Serialize)]
struct Body {
    /// The user's file; absent where the environment names no home.
    user_file: Option<FileRow>,
    /// The file of the project around this folder, where there is one.
    project_file: Option<FileRow>,
    settings: Vec<Row>,
}

#[derive(Serialize)]
struct FileRow {
    path: PathBuf,
    exists: bool,
}

impl FileRow {
    fn of(path: PathBuf) -> Self {
        Self {
            exists: path.is_file(),
            path,
        }
    }
}

#[derive(Serialize)]
struct Row {
    key: String,
    value: String,
    #[serde(flatten)]
    origin: Origin,
}

impl Config {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let Verb::Show = self.verb;
        let (user, project) = configuration::files();
        let mut settings: Vec<Row> = global.in_force.iter().map(row).collect();
        if let Some(path) = &project {
            settings.extend(audit_rows(path)?);
        }
        let body = Body {
            user_file: user.map(FileRow::of),
            project_file: project.map(FileRow::of),
            settings,
        };
        output::print(global, &output::report("config show", body), describe)?;
        Ok(Outcome::Fine)
    }
}

fn row(setting: &Setting) -> Row {
    let unset = setting.origin == Origin::Default && setting.key.name == "cache";
    Row {
        key: setting.key.name.to_owned(),
        value: match unset {
            true => configuration::cache_folder().display().to_string(),
            false => setting.value.clone(),
        },
        origin: setting.origin.clone(),
    }
}

/// What a project says about its audit; its codes are checked.
fn audit_rows(path: &Path) -> Result<Vec<Row>> {
    let Some(document) = Document::read(path, Owner::Project)? else {
        return Ok(Vec::new());
    };
    check_codes(&document)?;
    let text = std::fs::read_to_string(path)?;
    let rows = |table: &'static str, entries: &[Entry]| {
        let entries = entries.iter().map(|entry| {
            let before = text.get(..entry.span.start).unwrap_or_default();
            Row {
                key: format!("audit.{table}"),
                value: match entry.value.is_empty() {
                    true => entry.name.clone(),
                    false => format!("{}: {}", entry.name, entry.value),
                },
                origin: Origin::ProjectFile {
                    path: path.to_owned(),
                    line: before.matches('\n').count() + 1,
                },
            }
        });
        entries.collect::<Vec<_>>()
    };
    let audit = &document.audit;
    let mut all = rows("allow", &audit.allow);
    all.extend(rows("exclude", &audit.exclude));
    all.extend(rows("pins", &audit.pins));
    Ok(all)
}

fn describe(body: &Body) -> String {
    let file = |row: &Option<FileRow>| match row {
        Some(row) if row.exists => row.path.display().to_string(),
        Some(row) => format!("{} (does not exist)", row.path.display()),
        None => "none".to_owned(),
    };
    let mut table = Table::new(&["key", "value", "from"]);
    for row in &body.settings {
        table.row([row.key.clone(), row.value.clone(), row.origin.to_string()]);
    }
    format!(
        "your file:     {}\nproject file:  {}\n\n{table}",
        file(&body.user_file),
        file(&body.project_file)
    )
}
