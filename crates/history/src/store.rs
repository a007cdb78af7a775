//! The history file: results per benchmark, machine and commit in SQLite, each with its raw
//! samples.
//!
//! Invariants: a file that a newer version wrote is refused untouched; results of different
//! machines never share a series; a commit that was measured several times counts as the median of
//! its runs.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpsmith_core::MachineIdentity;

use crate::samples_blob::{pack, unpack};
use warpsmith_measure::device_state::DeviceState;
use warpsmith_measure::measurement::{Conditions, Measurement};
use warpsmith_measure::statistics::order::median_of;

/// Version of the file's layout.
const LAYOUT: i64 = 3;

/// Why a history could not be used.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// SQLite refused.
    #[error("history `{path}`: cannot {attempted}")]
    Sqlite {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        attempted: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Written by a newer Warpsmith.
    #[error(
        "history `{path}` has layout {found}, this version knows {LAYOUT}; use a newer warpsmith"
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its layout.
        found: i64,
    },
    /// The measurement has no figures.
    #[error("`{name}` has no samples to store")]
    NoSamples {
        /// Which measurement.
        name: String,
    },
}

/// One stored result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Identity of the last run in the file.
    pub id: i64,
    /// The commit that was measured.
    pub commit: String,
    /// Order of the commits: seconds since 1970 when each was made or stored.
    pub at: i64,
    /// Median seconds.
    pub median: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Samples, of all runs.
    pub count: i64,
    /// How often the commit was measured.
    pub runs: usize,
}

/// A change that somebody has seen and wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The finding that is accepted.
    pub code: String,
    /// The commit that it is about.
    pub commit: String,
    /// The benchmark; every one where there is none.
    pub benchmark: Option<String>,
    /// Why.
    pub reason: String,
    /// When, in seconds since 1970.
    pub at: i64,
}

/// A benchmark on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The benchmark.
    pub benchmark: String,
    /// The machine, as [`machine_key`] names it.
    pub machine: String,
}

/// What tells machines apart: another CPU, GPU, driver or core count is another series.
pub fn machine_key(machine: &MachineIdentity) -> String {
    format!(
        "{} | {} x{} | {} | {}",
        machine.system,
        machine.cpu,
        machine.cores,
        if machine.gpus.is_empty() {
            "no GPU".to_owned()
        } else {
            machine.gpus.join(", ")
        },
        machine.driver.as_deref().unwrap_or("no driver")
    )
}

/// An open history file.
pub struct History {
    connection: Connection,
    path: PathBuf,
}

impl History {
    /// Opens a history, making it where there is none.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let doing = |attempted| {
            move |source| HistoryError::Sqlite {
                path: path.to_owned(),
                attempted,
                source,
            }
        };
        let connection = Connection::open(path).map_err(doing("open it"))?;
        let found: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(doing("read its layout"))?;
        if found > LAYOUT {
            return Err(HistoryError::Newer {
                path: path.to_owned(),
                found,
            });
        }
        // The first layout held one run of a commit.
        let older = if found == 1 {
            "ALTER TABLE results RENAME TO older;"
        } else {
            ""
        };
        let kept = if found == 1 {
            "INSERT INTO results SELECT * FROM older; DROP TABLE older;"
        } else {
            ""
        };
        connection
            .execute_batch(&format!(
                "BEGIN; {older}
                 CREATE TABLE IF NOT EXISTS results (
                     id INTEGER PRIMARY KEY,
                     benchmark TEXT NOT NULL,
                     machine TEXT NOT NULL,
                     commit_name TEXT NOT NULL,
                     at INTEGER NOT NULL,
                     median REAL NOT NULL,
                     low REAL NOT NULL,
                     high REAL NOT NULL,
                     count INTEGER NOT NULL,
                     conditions TEXT NOT NULL,
                     samples BLOB NOT NULL);
                 CREATE INDEX IF NOT EXISTS by_series ON results (benchmark, machine, at);
                 CREATE TABLE IF NOT EXISTS accepted (
                     code TEXT NOT NULL,
                     commit_name TEXT NOT NULL,
                     benchmark TEXT,
                     reason TEXT NOT NULL,
                     at INTEGER NOT NULL);
                 {kept}
                 PRAGMA user_version = {LAYOUT};
                 COMMIT;"
            ))
            .map_err(doing("lay it out"))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    fn doing<T>(
        &self,
        attempted: &'static str,
        result: rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        result.map_err(|source| HistoryError::Sqlite {
            path: self.path.clone(),
            attempted,
            source,
        })
    }

    /// Forgets what was measured of `commit` on this machine; returns how many runs that were.
    pub fn forget(
        &self,
        benchmark: &str,
        machine: &MachineIdentity,
        commit: &str,
    ) -> Result<usize, HistoryError> {
        let removed = self.connection.execute(
            "DELETE FROM results WHERE benchmark = ?1 AND machine = ?2 AND commit_name = ?3",
            params![benchmark, machine_key(machine), commit],
        );
        self.doing("forget a result", removed)
    }

    /// Stores a run of `commit`, which was made at `at` (seconds since 1970). Further runs join the
    /// first.
    pub fn add(
        &self,
        measurement: &Measurement,
        machine: &MachineIdentity,
        commit: &str,
        at: i64,
    ) -> Result<(), HistoryError> {
        let no_samples = || HistoryError::NoSamples {
            name: measurement.name.clone(),
        };
        let figures = measurement.figures().ok_or_else(no_samples)?;
        // SQLite has no infinity: an unbounded end is stored as far from the median as it gets.
        let bounded = |value: f64| value.clamp(f64::MIN, f64::MAX);
        let conditions = Stored {
            conditions: &measurement.conditions,
            device_state: measurement.device_state(),
        };
        let conditions = serde_json::to_string(&conditions).unwrap_or_default();
        let stored = self.connection.execute(
            "INSERT INTO results
                 (benchmark, machine, commit_name, at, median, low, high, count, conditions, samples)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                measurement.name,
                machine_key(machine),
                commit,
                at,
                figures.interval.median,
                bounded(figures.interval.low),
                bounded(figures.interval.high),
                measurement.seconds.len() as i64,
                conditions,
                pack(&measurement.seconds),
            ],
        );
        self.doing("store a result", stored).map(drop)
    }

    /// Notes that a change is wanted; said again, the newest reason counts.
    pub fn accept(&self, accepted: &Accepted) -> Result<(), HistoryError> {
        let write = || {
            self.connection.execute(
                "DELETE FROM accepted WHERE code = ?1 AND commit_name = ?2 AND benchmark IS ?3",
                params![accepted.code, accepted.commit, accepted.benchmark],
            )?;
            self.connection.execute(
                "INSERT INTO accepted VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    accepted.code,
                    accepted.commit,
                    accepted.benchmark,
                    accepted.reason,
                    accepted.at
                ],
            )
        };
        self.doing("accept a change", write()).map(drop)
    }

    /// Every change that was accepted, oldest first.
    pub fn accepted(&self) -> Result<Vec<Accepted>, HistoryError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT code, commit_name, benchmark, reason, at FROM accepted ORDER BY at, rowid",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(Accepted {
                    code: row.get(0)?,
                    commit: row.get(1)?,
                    benchmark: row.get(2)?,
                    reason: row.get(3)?,
                    at: row.get(4)?,
                })
            })?;
            rows.collect()
        };
        self.doing("list what was accepted", read())
    }

    /// Every benchmark on every machine, by name.
    pub fn keys(&self) -> Result<Vec<SeriesKey>, HistoryError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT DISTINCT benchmark, machine FROM results ORDER BY benchmark, machine",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(SeriesKey {
                    benchmark: row.get(0)?,
                    machine: row.get(1)?,
                })
            })?;
            rows.collect()
        };
        self.doing("list its benchmarks", read())
    }

    /// The results of one series, a point per commit, oldest first.
    pub fn series(&self, key: &SeriesKey) -> Result<Vec<Point>, HistoryError> {
        let read = || {
            let mut statement = self.connection.prepare(
                "SELECT id, commit_name, at, median, low, high, count FROM results
                 WHERE benchmark = ?1 AND machine = ?2 ORDER BY at, id",
            )?;
            let rows = statement.query_map(params![key.benchmark, key.machine], |row| {
                Ok(Point {
                    id: row.get(0)?,
                    commit: row.get(1)?,
                    at: row.get(2)?,
                    median: row.get(3)?,
                    low: row.get(4)?,
                    high: row.get(5)?,
                    count: row.get(6)?,
                    runs: 1,
                })
            })?;
            rows.collect()
        };
        Ok(by_commit(self.doing("read a series", read())?))
    }

    /// The raw samples of a result; `None` where there is no such result or its blob is damaged.
    pub fn samples(&self, id: i64) -> Result<Option<Vec<f64>>, HistoryError> {
        let blob: rusqlite::Result<Option<Vec<u8>>> = self
            .connection
            .query_row("SELECT samples FROM results WHERE id = ?1", [id], |row| {
                row.get(0)
            })
            .optional();
        Ok(self
            .doing("read samples", blob)?
            .and_then(|blob| unpack(&blob)))
    }
}

/// What is kept of the conditions of a result.
#[derive(Serialize)]
struct Stored<'a> {
    #[serde(flatten)]
    conditions: &'a Conditions,
    /// Power, energy of a call, and what held the clock back.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_state: Option<DeviceState>,
}

/// One point for each commit, in the order of their first runs: medians of the runs' figures.
fn by_commit(runs: Vec<Point>) -> Vec<Point> {
    let mut commits: Vec<Vec<Point>> = Vec::new();
    for run in runs {
        match commits.iter_mut().find(|of| of[0].commit == run.commit) {
            Some(of) => of.push(run),
            None => commits.push(vec![run]),
        }
    }
    let joined = commits.into_iter().map(|runs| {
        let middle = |of: fn(&Point) -> f64| median_of(&runs.iter().map(of).collect::<Vec<f64>>());
        let (median, low, high) = (middle(|p| p.median), middle(|p| p.low), middle(|p| p.high));
        Point {
            id: runs.iter().map(|run| run.id).max().unwrap_or(0),
            at: runs[0].at,
            count: runs.iter().map(|run| run.count).sum(),
            runs: runs.len(),
            commit: runs[0].commit.clone(),
            median,
            low,
            high,
        }
    });
    joined.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpu: &str) -> MachineIdentity {
        MachineIdentity {
            cpu: cpu.to_owned(),
            ..MachineIdentity::default()
        }
    }

    #[test]
    fn results_come_back_in_order_with_their_samples_and_runs_join() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::open(&folder.path().join("h.sqlite")).unwrap();
        let result =
            |level: f64| Measurement::imported("b", vec![level, level * 1.01, level * 0.99]);
        history.add(&result(2.0), &machine("x"), "two", 20).unwrap();
        history.add(&result(1.0), &machine("x"), "one", 10).unwrap();
        history.add(&result(5.0), &machine("y"), "one", 10).unwrap();
        history.add(&result(9.0), &machine("x"), "two", 25).unwrap();
        history.add(&result(3.0), &machine("x"), "two", 30).unwrap();
        let keys = history.keys().unwrap();
        assert_eq!(keys.len(), 2);
        let points = history.series(&keys[0]).unwrap();
        let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
        assert_eq!(medians, [1.0, 3.0], "the median of three runs");
        assert_eq!((points[1].runs, points[1].at, points[1].count), (3, 20, 9));
        assert_eq!(
            history.samples(points[1].id).unwrap().unwrap(),
            [3.0, 3.0 * 1.01, 3.0 * 0.99]
        );
        assert_eq!(history.samples(-1).unwrap(), None);
        assert_eq!(history.forget("b", &machine("x"), "two").unwrap(), 3);
        assert_eq!(history.series(&keys[0]).unwrap().len(), 1);
    }

    #[test]
    fn what_was_accepted_stays_with_its_newest_reason() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::open(&folder.path().join("h.sqlite")).unwrap();
        let accepted = |benchmark: Option<&str>, reason: &str| Accepted {
            code: "M040".into(),
            commit: "abc".into(),
            benchmark: benchmark.map(str::to_owned),
            reason: reason.into(),
            at: 5,
        };
        history.accept(&accepted(None, "first")).unwrap();
        history.accept(&accepted(None, "checks bounds")).unwrap();
        history.accept(&accepted(Some("b"), "only b")).unwrap();
        let kept = history.accepted().unwrap();
        assert_eq!(
            kept,
            [
                accepted(None, "checks bounds"),
                accepted(Some("b"), "only b")
            ]
        );
    }

    #[test]
    fn a_history_of_the_first_layout_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        Connection::open(&path)
            .unwrap()
            .execute_batch(
                "CREATE TABLE results (id INTEGER PRIMARY KEY, benchmark TEXT NOT NULL,
                     machine TEXT NOT NULL, commit_name TEXT NOT NULL, at INTEGER NOT NULL,
                     median REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
                     count INTEGER NOT NULL, conditions TEXT NOT NULL, samples BLOB NOT NULL,
                     UNIQUE (benchmark, machine, commit_name));
                 INSERT INTO results VALUES (7, 'b', 'm', 'one', 10, 2.0, 1.9, 2.1, 3, '{}', x'');
                 PRAGMA user_version = 1;",
            )
            .unwrap();
        for _ in 0..2 {
            let history = History::open(&path).unwrap();
            let points = history.series(&history.keys().unwrap()[0]).unwrap();
            assert_eq!((points.len(), points[0].id, points[0].median), (1, 7, 2.0));
        }
    }

    #[test]
    fn a_newer_layout_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("h.sqlite");
        Connection::open(&path)
            .unwrap()
            .execute_batch("PRAGMA user_version = 99")
            .unwrap();
        assert!(matches!(
            History::open(&path),
            Err(HistoryError::Newer { found: 99, .. })
        ));
        std::fs::write(&path, "this is no database, and long enough to look at").unwrap();
        assert!(matches!(
            History::open(&path),
            Err(HistoryError::Sqlite { .. })
        ));
    }
}
