//! Nsight Systems' SQLite export: kernels and copies with their times.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use thiserror::Error;
use warpsmith_measure::profile::device_span::DeviceSpan;

/// Why an export could not be read.
#[derive(Debug, Error)]
#[error("cannot read `{path}` as an nsys export: {attempted}")]
pub struct NsysError {
    path: PathBuf,
    attempted: &'static str,
    source: rusqlite::Error,
}

/// Reads every kernel, copy and set, by start.
pub fn read(path: &Path) -> Result<Vec<DeviceSpan>, NsysError> {
    let doing = |attempted| {
        move |source| NsysError {
            path: path.to_owned(),
            attempted,
            source,
        }
    };
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(doing("open it"))?;
    let mut spans = Vec::new();
    for (table, query) in [
        (
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "SELECT s.value, k.deviceId, k.streamId, k.start, k.end, 0
             FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName",
        ),
        (
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            "SELECT CASE copyKind WHEN 1 THEN 'copy host to device' WHEN 2 THEN 'copy device to host'
                    WHEN 8 THEN 'copy device to device' ELSE 'copy' END,
                    deviceId, streamId, start, end, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY",
        ),
        (
            "CUPTI_ACTIVITY_KIND_MEMSET",
            "SELECT 'set', deviceId, streamId, start, end, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET",
        ),
    ] {
        // nsys leaves a table out where nothing of its kind happened.
        let there: i64 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1",
                [table],
                |row| row.get(0),
            )
            .map_err(doing("list its tables"))?;
        if there == 0 {
            continue;
        }
        let mut statement = connection.prepare(query).map_err(doing("ask for device activity"))?;
        let rows = statement
            .query_map([], |row| {
                Ok(DeviceSpan {
                    name: row.get(0)?,
                    device: row.get(1)?,
                    stream: row.get(2)?,
                    start_ns: row.get(3)?,
                    end_ns: row.get(4)?,
                    bytes: row.get(5)?,
                })
            })
            .map_err(doing("read device activity"))?;
        for row in rows {
            spans.push(row.map_err(doing("read device activity"))?);
        }
    }
    spans.sort_by_key(|span| (span.start_ns, span.end_ns));
    Ok(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_copies_are_read_to_exact_fields() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
                 INSERT INTO StringIds VALUES (7, 'saxpy');
                 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT,
                     shortName INT, demangledName INT);
                 INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 12500, 0, 7, 7, 7);
                 CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT,
                     bytes INT, copyKind INT);
                 INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (100, 600, 0, 7, 4096, 1);",
            )
            .unwrap();
        let spans = read(&path).unwrap();
        assert_eq!(spans.len(), 2);
        assert_eq!(
            (spans[0].name.as_str(), spans[0].bytes),
            ("copy host to device", 4096)
        );
        assert_eq!((spans[1].name.as_str(), spans[1].stream), ("saxpy", 7));
        assert!((spans[1].seconds() - 10.5e-6).abs() < 1e-15);
        assert!(read(Path::new("/no/such.sqlite")).is_err());
    }
}
