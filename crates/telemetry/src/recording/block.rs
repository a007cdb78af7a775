//! A block: events as columns per GPU and kind, with the order in which they came.
//!
//! Columns carry their names, so a reader ignores those that it does not know and leaves absent
//! those that it misses: a new reading needs no new format version.

use serde::de::DeserializeOwned;

use super::column::{Cursor, Damage, put_column, put_varint, take_column};
use crate::Micros;
use crate::event::{Event, Happening, Presence, ProcessUse, Readings, RingSample};

/// Kinds of events, by the number that stands in files: never reused.
mod kind {
    pub(super) const STATE: u8 = 0;
    pub(super) const STEADY: u8 = 1;
    pub(super) const SLOW: u8 = 2;
    pub(super) const ENERGY: u8 = 3;
    pub(super) const POWER_RING: u8 = 4;
    pub(super) const BUSY_RING: u8 = 5;
    pub(super) const MEMORY_BUSY_RING: u8 = 6;
    pub(super) const PROCESSES: u8 = 7;
    pub(super) const PROCESS: u8 = 8;
    pub(super) const MIG: u8 = 9;
    pub(super) const PRESENCE: u8 = 10;
    pub(super) const HOST: u8 = 11;
    pub(super) const XID: u8 = 12;
}

/// Most values in a block. Absent ones take an eighth of a byte each and deflate to nearly
/// nothing, so bytes alone would not bound the memory that a made-up file asks for.
const CELL_LIMIT: usize = 1 << 23;

const RING_NAMES: &[&str] = &["at", "value"];
const PROCESS_NAMES: &[&str] = &[
    "pid",
    "memory_bytes",
    "compute",
    "busy_percent",
    "gpu_instance",
];
const PRESENCE_NAMES: &[&str] = &["presence"];

/// The rows of one kind on one GPU.
struct Table {
    kind: u8,
    gpu: u16,
    names: Vec<String>,
    columns: Vec<Vec<Option<i64>>>,
    /// Rows given out so far, when reading.
    taken: usize,
}

/// An event as numbers: kind, column names, rows; texts travel beside.
enum Coded {
    Rows(u8, &'static [&'static str], Vec<Vec<Option<i64>>>),
    Text(u8, String),
}

fn readings<R: Readings>(kind: u8, value: &R) -> Coded {
    Coded::Rows(kind, R::NAMES, vec![value.values()])
}

fn ring(kind: u8, samples: &[RingSample]) -> Coded {
    let rows = samples
        .iter()
        .map(|sample| vec![i64::try_from(sample.at.0).ok(), Some(sample.value)]);
    Coded::Rows(kind, RING_NAMES, rows.collect())
}

fn text<T: serde::Serialize>(kind: u8, value: &T) -> Coded {
    // Plain structs of numbers and strings: serialising them cannot fail.
    Coded::Text(kind, serde_json::to_string(value).unwrap_or_default())
}

fn code(what: &Happening) -> Coded {
    match what {
        Happening::State(value) => readings(kind::STATE, value),
        Happening::Steady(value) => readings(kind::STEADY, value),
        Happening::Slow(value) => readings(kind::SLOW, value),
        Happening::Energy(value) => readings(kind::ENERGY, value),
        Happening::Host(value) => readings(kind::HOST, value),
        Happening::Xid(value) => readings(kind::XID, value),
        Happening::PowerRing(samples) => ring(kind::POWER_RING, samples),
        Happening::BusyRing(samples) => ring(kind::BUSY_RING, samples),
        Happening::MemoryBusyRing(samples) => ring(kind::MEMORY_BUSY_RING, samples),
        Happening::Processes(uses) => {
            let rows = uses.iter().map(|process| {
                vec![
                    Some(process.pid.into()),
                    process.memory_bytes,
                    Some(process.compute.into()),
                    process.busy_percent,
                    process.gpu_instance.map(i64::from),
                ]
            });
            Coded::Rows(kind::PROCESSES, PROCESS_NAMES, rows.collect())
        }
        Happening::Process(identity) => text(kind::PROCESS, identity),
        Happening::Mig(instances) => text(kind::MIG, instances),
        Happening::Presence(presence) => {
            let number = match presence {
                Presence::Live => 0,
                Presence::Stale => 1,
                Presence::Lost => 2,
            };
            Coded::Rows(kind::PRESENCE, PRESENCE_NAMES, vec![vec![Some(number)]])
        }
    }
}

/// The plain bytes of a block.
pub(super) fn encode(events: &[Event]) -> Vec<u8> {
    let mut order: [Vec<Option<i64>>; 4] = Default::default();
    let mut tables: Vec<Table> = Vec::new();
    let mut texts = String::new();
    for event in events {
        let (number, size) = match code(&event.what) {
            Coded::Text(number, json) => {
                texts.push_str(&json);
                (number, json.len())
            }
            Coded::Rows(number, names, rows) => {
                let position = tables
                    .iter()
                    .position(|table| table.kind == number && table.gpu == event.gpu)
                    .unwrap_or_else(|| {
                        tables.push(Table {
                            kind: number,
                            gpu: event.gpu,
                            names: names.iter().map(|&name| name.to_owned()).collect(),
                            columns: vec![Vec::new(); names.len()],
                            taken: 0,
                        });
                        tables.len() - 1
                    });
                let size = rows.len();
                for row in rows {
                    for (column, value) in tables[position].columns.iter_mut().zip(row) {
                        column.push(value);
                    }
                }
                (number, size)
            }
        };
        let row = [
            i64::from(number),
            i64::from(event.gpu),
            i64::try_from(event.at.0).unwrap_or(i64::MAX),
            i64::try_from(size).unwrap_or(i64::MAX),
        ];
        for (column, value) in order.iter_mut().zip(row) {
            column.push(Some(value));
        }
    }
    let mut out = Vec::new();
    put_varint(&mut out, events.len() as u64);
    for column in &order {
        put_column(&mut out, column);
    }
    put_varint(&mut out, texts.len() as u64);
    out.extend_from_slice(texts.as_bytes());
    put_varint(&mut out, tables.len() as u64);
    for table in &tables {
        out.push(table.kind);
        put_varint(&mut out, table.gpu.into());
        put_varint(&mut out, table.columns.first().map_or(0, Vec::len) as u64);
        put_varint(&mut out, table.names.len() as u64);
        for (name, column) in table.names.iter().zip(&table.columns) {
            put_varint(&mut out, name.len() as u64);
            out.extend_from_slice(name.as_bytes());
            let mut bytes = Vec::new();
            put_column(&mut bytes, column);
            put_varint(&mut out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
    }
    out
}

/// The events in the plain bytes of a block.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Event>, Damage> {
    let mut cursor = Cursor::new(bytes);
    let count = cursor.count()?;
    let order = [(); 4].map(|()| take_column(&mut cursor, count));
    let [kinds, gpus, times, sizes] = order;
    let (kinds, gpus, times, sizes) = (kinds?, gpus?, times?, sizes?);
    let length = cursor.count()?;
    let mut texts = cursor.take(length)?;
    let mut tables = Vec::new();
    let mut cells_left = CELL_LIMIT;
    for _ in 0..cursor.count()? {
        tables.push(take_table(&mut cursor, &mut cells_left)?);
    }
    let mut events = Vec::with_capacity(count);
    for nth in 0..count {
        let number = |column: &[Option<i64>], what: &str| {
            column[nth].ok_or_else(|| format!("event {nth} has no {what}"))
        };
        let kind = u8::try_from(number(&kinds, "kind")?).map_err(|_| "a kind above 255")?;
        let gpu = u16::try_from(number(&gpus, "GPU")?).map_err(|_| "a GPU above 65535")?;
        let at = u64::try_from(number(&times, "time")?).map_err(|_| "a time before 1970")?;
        let size = usize::try_from(number(&sizes, "size")?).map_err(|_| "a negative size")?;
        let what = if kind == kind::PROCESS || kind == kind::MIG {
            if size > texts.len() {
                return Err(format!("{size} bytes of text wanted, {} left", texts.len()));
            }
            let (json, rest) = texts.split_at(size);
            texts = rest;
            Some(if kind == kind::PROCESS {
                Happening::Process(parse(json)?)
            } else {
                Happening::Mig(parse(json)?)
            })
        } else {
            take_rows(&mut tables, kind, gpu, size)?
        };
        // A kind that this program does not know is a reading of a later one: passed over.
        if let Some(what) = what {
            events.push(Event {
                at: Micros(at),
                gpu,
                what,
            });
        }
    }
    Ok(events)
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(json).map_err(|error| format!("text that cannot be read: {error}"))
}

fn take_table(cursor: &mut Cursor<'_>, cells_left: &mut usize) -> Result<Table, Damage> {
    let kind = cursor.byte()?;
    let gpu = u16::try_from(cursor.varint()?).map_err(|_| "a GPU above 65535")?;
    let rows = usize::try_from(cursor.varint()?).map_err(|_| "too many rows")?;
    let mut table = Table {
        kind,
        gpu,
        names: Vec::new(),
        columns: Vec::new(),
        taken: 0,
    };
    for _ in 0..cursor.count()? {
        let length = cursor.count()?;
        let name = std::str::from_utf8(cursor.take(length)?).map_err(|_| "a column name")?;
        table.names.push(name.to_owned());
        *cells_left = cells_left
            .checked_sub(rows)
            .ok_or("more values than a block can hold")?;
        let length = cursor.count()?;
        let mut column = Cursor::new(cursor.take(length)?);
        table.columns.push(take_column(&mut column, rows)?);
    }
    Ok(table)
}

/// The next `size` rows of the table for this kind and GPU, as what happened.
fn take_rows(
    tables: &mut [Table],
    kind: u8,
    gpu: u16,
    size: usize,
) -> Result<Option<Happening>, Damage> {
    let Some(table) = tables
        .iter_mut()
        .find(|table| table.kind == kind && table.gpu == gpu)
    else {
        // An empty list leaves no rows behind.
        return match (kind, size) {
            (kind::PROCESSES, 0) => Ok(Some(Happening::Processes(Vec::new()))),
            (kind::POWER_RING, 0) => Ok(Some(Happening::PowerRing(Vec::new()))),
            (kind::BUSY_RING, 0) => Ok(Some(Happening::BusyRing(Vec::new()))),
            (kind::MEMORY_BUSY_RING, 0) => Ok(Some(Happening::MemoryBusyRing(Vec::new()))),
            _ => Err(format!("no table for kind {kind} of GPU {gpu}")),
        };
    };
    let rows = table.columns.first().map_or(0, Vec::len);
    let end = table
        .taken
        .checked_add(size)
        .filter(|end| *end <= rows)
        .ok_or_else(|| format!("{size} rows of kind {kind} wanted, {rows} there"))?;
    let range = table.taken..end;
    table.taken = end;
    let table = &*table;
    Ok(Some(match kind {
        kind::STATE => Happening::State(assemble(table, range.start, size)?),
        kind::STEADY => Happening::Steady(assemble(table, range.start, size)?),
        kind::SLOW => Happening::Slow(assemble(table, range.start, size)?),
        kind::ENERGY => Happening::Energy(assemble(table, range.start, size)?),
        kind::HOST => Happening::Host(assemble(table, range.start, size)?),
        kind::XID => Happening::Xid(assemble(table, range.start, size)?),
        kind::POWER_RING => Happening::PowerRing(samples(table, range)?),
        kind::BUSY_RING => Happening::BusyRing(samples(table, range)?),
        kind::MEMORY_BUSY_RING => Happening::MemoryBusyRing(samples(table, range)?),
        kind::PROCESSES => {
            let value = |name: &str, row: usize| cell(table, name, row);
            Happening::Processes(
                range
                    .map(|row| {
                        Ok(ProcessUse {
                            pid: value("pid", row)
                                .and_then(|pid| u32::try_from(pid).ok())
                                .ok_or("a process without a pid")?,
                            memory_bytes: value("memory_bytes", row),
                            compute: value("compute", row) != Some(0),
                            busy_percent: value("busy_percent", row),
                            gpu_instance: value("gpu_instance", row)
                                .and_then(|instance| u32::try_from(instance).ok()),
                        })
                    })
                    .collect::<Result<_, Damage>>()?,
            )
        }
        kind::PRESENCE if size == 1 => {
            Happening::Presence(match cell(table, "presence", range.start) {
                Some(0) => Presence::Live,
                Some(1) => Presence::Stale,
                Some(2) => Presence::Lost,
                other => return Err(format!("presence {other:?}")),
            })
        }
        kind::PRESENCE => return Err("a presence of several rows".into()),
        _ => return Ok(None),
    }))
}

fn cell(table: &Table, name: &str, row: usize) -> Option<i64> {
    let position = table.names.iter().position(|known| known == name)?;
    table.columns[position].get(row).copied().flatten()
}

fn assemble<R: Readings>(table: &Table, row: usize, size: usize) -> Result<R, Damage> {
    if size != 1 {
        return Err(format!("a reading of {size} rows"));
    }
    let mut value = R::default();
    for (position, name) in R::NAMES.iter().enumerate() {
        value.set(position, cell(table, name, row));
    }
    Ok(value)
}

fn samples(table: &Table, range: std::ops::Range<usize>) -> Result<Vec<RingSample>, Damage> {
    range
        .map(|row| {
            let at = cell(table, "at", row).and_then(|at| u64::try_from(at).ok());
            Ok(RingSample {
                at: Micros(at.ok_or("a sample without a time")?),
                value: cell(table, "value", row).ok_or("a sample without a value")?,
            })
        })
        .collect()
}
