//! Parquet files: zstd, one column chunk per column and row group, encoded on all cores.
//!
//! The bytes follow from the rows alone: every chunk is encoded by itself, in memory, and chunks are
//! laid down in the order of the schema.

use std::fs::File;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};
use rayon::prelude::*;

use super::column::{COLUMNS, Column};
use super::row::Row;

/// Rows of a row group.
const ROW_GROUP: usize = 1000;

/// The columns that hold whole texts; a dictionary or statistics of them would only cost time.
const LONG_TEXTS: [&str; 7] = [
    "python",
    "cuda_forward",
    "cuda_backward",
    "cpu_forward",
    "cpu_backward",
    "expected",
    "id",
];

/// The schema.
fn schema() -> Result<TypePtr> {
    let mut text = String::from("message pair {\n");
    for (name, column) in COLUMNS {
        text.push_str(&match column {
            Column::Text(..) => format!("required binary {name} (STRING);\n"),
            Column::Number(..) => format!("required int32 {name} (INTEGER(32,false));\n"),
            Column::Wide(..) => format!("required int64 {name} (INTEGER(64,false));\n"),
            Column::Texts(..) => format!(
                "required group {name} (LIST) {{ repeated group list {{ required binary element (STRING); }} }}\n"
            ),
            Column::Numbers(..) => format!(
                "required group {name} (LIST) {{ repeated group list {{ required int32 element (INTEGER(32,false)); }} }}\n"
            ),
        });
    }
    text.push('}');
    Ok(Arc::new(parse_message_type(&text)?))
}

struct Shared {
    schema: TypePtr,
    descriptor: SchemaDescriptor,
    properties: WriterPropertiesPtr,
}

fn shared() -> Result<&'static Shared> {
    static SHARED: OnceLock<std::result::Result<Shared, String>> = OnceLock::new();
    let made = SHARED.get_or_init(|| {
        let make = || -> Result<Shared> {
            let schema = schema()?;
            let level = ZstdLevel::try_new(1)?;
            let mut properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(level))
                .set_statistics_enabled(EnabledStatistics::Chunk)
                .set_created_by(concat!("warpsmith ", env!("CARGO_PKG_VERSION")).to_owned());
            for name in LONG_TEXTS {
                let path = ColumnPath::from(name);
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_statistics_enabled(path, EnabledStatistics::None);
            }
            Ok(Shared {
                descriptor: SchemaDescriptor::new(schema.clone()),
                schema,
                properties: Arc::new(properties.build()),
            })
        };
        make().map_err(|error| error.to_string())
    });
    made.as_ref()
        .map_err(|error| ParquetError::General(error.clone()))
}

/// One encoded column chunk.
struct Chunk {
    bytes: Bytes,
    close: ColumnCloseResult,
}

/// Writes rows to a file.
pub(crate) fn write_parquet(file: &mut File, rows: &[Row]) -> Result<()> {
    let shared = shared()?;
    let groups: Vec<&[Row]> = rows.chunks(ROW_GROUP).collect();
    let jobs: Vec<(usize, usize)> = (0..groups.len())
        .flat_map(|group| (0..COLUMNS.len()).map(move |column| (group, column)))
        .collect();
    let chunks: Vec<Result<Chunk>> = jobs
        .par_iter()
        .with_max_len(4)
        .map(|(group, column)| encode(shared, *column, groups[*group]))
        .collect();
    let mut writer =
        SerializedFileWriter::new(file, shared.schema.clone(), shared.properties.clone())?;
    let mut chunks = chunks.into_iter();
    for _ in &groups {
        let mut group = writer.next_row_group()?;
        for chunk in chunks.by_ref().take(COLUMNS.len()) {
            let chunk = chunk?;
            group.append_column(&chunk.bytes, chunk.close)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn encode(shared: &Shared, position: usize, rows: &[Row]) -> Result<Chunk> {
    let mut sink = TrackedWrite::new(Vec::new());
    let descriptor = shared.descriptor.column(position);
    let pages = Box::new(SerializedPageWriter::new(&mut sink));
    let mut writer = get_column_writer(descriptor, shared.properties.clone(), pages);
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    match (&COLUMNS[position].1, &mut writer) {
        (Column::Text(get, _), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let values: Vec<ByteArray> = rows.iter().map(|row| text(get(row))).collect();
            writer.write_batch(&values, None, None)?;
        }
        (Column::Number(get, _), ColumnWriter::Int32ColumnWriter(writer)) => {
            let values: Vec<i32> = rows.iter().map(|row| get(row).cast_signed()).collect();
            writer.write_batch(&values, None, None)?;
        }
        (Column::Wide(get, _), ColumnWriter::Int64ColumnWriter(writer)) => {
            let values: Vec<i64> = rows.iter().map(|row| get(row).cast_signed()).collect();
            writer.write_batch(&values, None, None)?;
        }
        (Column::Texts(get, _), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            let levels = list_levels(rows.iter().map(|row| get(row).len()));
            let values: Vec<ByteArray> = rows
                .iter()
                .flat_map(|row| get(row).iter().map(|item| text(item)))
                .collect();
            writer.write_batch(&values, Some(&levels.0), Some(&levels.1))?;
        }
        (Column::Numbers(get, _), ColumnWriter::Int32ColumnWriter(writer)) => {
            let levels = list_levels(rows.iter().map(|row| get(row).len()));
            let values: Vec<i32> = rows
                .iter()
                .flat_map(|row| get(row).iter().map(|n| n.cast_signed()))
                .collect();
            writer.write_batch(&values, Some(&levels.0), Some(&levels.1))?;
        }
        _ => return Err(ParquetError::General("a column of another type".to_owned())),
    }
    let close = writer.close()?;
    let bytes = Bytes::from(sink.into_inner()?);
    Ok(Chunk { bytes, close })
}

/// Definition and repetition levels of lists with these lengths.
fn list_levels(lengths: impl Iterator<Item = usize>) -> (Vec<i16>, Vec<i16>) {
    let (mut definition, mut repetition) = (Vec::new(), Vec::new());
    for length in lengths {
        definition.push(i16::from(length > 0));
        repetition.push(0);
        for _ in 1..length {
            definition.push(1);
            repetition.push(1);
        }
    }
    (definition, repetition)
}
