//! Parquet files: row groups laid down one after the other.

use std::io::Write;

use parquet::errors::Result;
use parquet::file::writer::SerializedFileWriter;

use super::compression::Compression;
use super::page_pool::PagePool;
use super::row_group::RowGroup;
use super::schema::shared;

/// Writes row groups to a file; the bytes follow from them alone. The memory of uncompressed pages goes to
/// `pool`.
pub(crate) fn write_parquet(
    file: &mut (impl Write + Send),
    groups: Vec<RowGroup>,
    pool: &PagePool,
) -> Result<()> {
    // Chunks know how they are compressed; what remains of the properties is the same for all.
    let shared = shared(Compression::default())?;
    let mut writer =
        SerializedFileWriter::new(file, shared.schema.clone(), shared.properties.clone())?;
    for group in groups {
        let mut out = writer.next_row_group()?;
        for chunk in group.chunks {
            out.append_column(&chunk.pages, chunk.close)?;
            for piece in chunk.pages.into_pieces() {
                pool.give_bytes(piece);
            }
        }
        out.close()?;
    }
    writer.close()?;
    Ok(())
}
