//! The Parquet schema and how each column is encoded.

use std::sync::{Arc, OnceLock};

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};

use super::column::{COLUMNS, Column};
use super::compression::Compression as Choice;
use super::long_text::LEVEL;

/// Columns in which no value comes twice; a dictionary of them would only cost time.
const DISTINCT: [&str; 7] = [
    "id",
    "index",
    "kernel_name",
    "hash_exact",
    "hash_modulo_names",
    "hash_shape",
    "minhash.list.element",
];

/// Columns that zstd makes smaller. The others are dictionary codes or hashes, whose pages would stay as
/// long and cost a context each.
const COMPRESSED: [&str; 5] = [
    "id",
    "index",
    "kernel_name",
    "builtins.list.element",
    "constructs.list.element",
];

/// What all files share.
pub(super) struct Shared {
    pub(super) schema: TypePtr,
    pub(super) descriptor: SchemaDescriptor,
    pub(super) properties: WriterPropertiesPtr,
    /// Of whole texts.
    pub(super) compression: Compression,
}

fn schema() -> Result<TypePtr> {
    let mut text = String::from("message pair {\n");
    for (name, column) in COLUMNS {
        text.push_str(&match column {
            Column::Long(..) | Column::Short(..) => format!("required binary {name} (STRING);\n"),
            Column::Number(..) => format!("required int32 {name} (INTEGER(32,false));\n"),
            Column::Wide(..) => format!("required int64 {name} (INTEGER(64,false));\n"),
            Column::Names(..) => format!(
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

fn make(choice: Choice) -> Result<Shared> {
    let compression = match choice {
        Choice::None => Compression::UNCOMPRESSED,
        Choice::Zstd => Compression::ZSTD(ZstdLevel::try_new(LEVEL)?),
    };
    let schema = schema()?;
    let path =
        |name: &str| ColumnPath::from(name.split('.').map(str::to_owned).collect::<Vec<_>>());
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(concat!("warpsmith ", env!("CARGO_PKG_VERSION")).to_owned());
    for name in DISTINCT {
        properties = properties.set_column_dictionary_enabled(path(name), false);
    }
    for name in COMPRESSED {
        properties = properties.set_column_compression(path(name), compression);
    }
    Ok(Shared {
        descriptor: SchemaDescriptor::new(schema.clone()),
        schema,
        properties: Arc::new(properties.build()),
        compression,
    })
}

/// What all files of a compression share, made once.
pub(super) fn shared(choice: Choice) -> Result<&'static Shared> {
    type Made = OnceLock<std::result::Result<Shared, String>>;
    static PLAIN: Made = OnceLock::new();
    static COMPRESSED: Made = OnceLock::new();
    let made = match choice {
        Choice::None => &PLAIN,
        Choice::Zstd => &COMPRESSED,
    };
    made.get_or_init(|| make(choice).map_err(|error| error.to_string()))
        .as_ref()
        .map_err(|error| ParquetError::General(error.clone()))
}
