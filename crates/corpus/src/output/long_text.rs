//! A column of whole texts: compressed page by page as rows come in, while the page is in the cache.
//!
//! Invariants: a page holds whole rows, is one zstd frame of PLAIN values, and is closed after the row
//! that takes it past [`PAGE_BYTES`]; so the bytes follow from the rows and from where [`LongText::seal`]
//! was called.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::compression::Compression as Choice;
use super::page_pool::PagePool;
use super::pages::Pages;
use super::row_group::Chunk;

/// What a page may hold before it is closed: a quarter of a second-level cache. Pages of 1 MB compress
/// 5 % better and take 30 % longer.
pub(super) const PAGE_BYTES: usize = 256 << 10;

/// zstd's level. Its time goes with the matches, some 1,500 a pair of 20 bytes each, two thirds into
/// finding and a third into coding them, so that little else changes it: on 100 MB of pages, best of five
/// in turns, steps as long as those of levels -1 and -2 save 3 and 5 % of the time for 11 and 19 % more
/// bytes, level 3 takes 11 % longer for 6 % fewer, and other hash tables and shortest matches gain nothing.
/// A finder of our own that looks lines up by their shape, digits left out, and has zstd code its matches
/// took longer than zstd's, for 16 % more bytes.
pub(super) const LEVEL: i32 = 1;

/// Closes pages: a zstd context, where they are compressed, and memory that is reused from page to page.
pub(crate) struct PageMaker {
    compressor: Option<zstd::bulk::Compressor<'static>>,
    frame: Vec<u8>,
    pool: Arc<PagePool>,
}

impl PageMaker {
    /// A new one.
    ///
    /// # Errors
    /// Where there is no memory for a zstd context.
    pub(crate) fn new(compression: Choice, pool: Arc<PagePool>) -> Result<Self> {
        Ok(Self {
            compressor: match compression {
                Choice::None => None,
                Choice::Zstd => Some(zstd::bulk::Compressor::new(LEVEL)?),
            },
            frame: Vec::new(),
            pool,
        })
    }

    /// Memory for a page.
    fn open(&self) -> Vec<u8> {
        self.pool.take()
    }

    /// What a page holds in the file: one frame, or the values themselves.
    fn contents(&mut self, page: Vec<u8>) -> Result<Bytes> {
        let Some(compressor) = &mut self.compressor else {
            return Ok(Bytes::from(page));
        };
        self.frame.clear();
        self.frame
            .reserve(zstd::zstd_safe::compress_bound(page.len()));
        compressor.compress_to_buffer(&page, &mut self.frame)?;
        self.pool.give(page);
        Ok(Bytes::copy_from_slice(&self.frame))
    }
}

/// Takes what is written for a page and keeps its header, so that the contents are not copied.
#[derive(Default)]
struct Header {
    first: Vec<u8>,
    written: usize,
}

impl Header {
    /// Longer than any header of a page without statistics.
    const LONGEST: usize = 256;

    /// The header, which stands before contents of that length.
    fn before(mut self, contents: usize) -> Result<Bytes> {
        let length = self.written.checked_sub(contents);
        match length.filter(|length| *length <= self.first.len()) {
            Some(length) => {
                self.first.truncate(length);
                Ok(Bytes::from(self.first))
            }
            None => Err(ParquetError::General("a page without a header".to_owned())),
        }
    }
}

impl Write for Header {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let kept = bytes.len().min(Self::LONGEST - self.first.len());
        self.first.extend_from_slice(&bytes[..kept]);
        self.written += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A closed page: where it begins, its length, its rows, and the length of its texts.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: usize,
    length: usize,
    rows: u32,
    text_bytes: usize,
}

/// Texts of consecutive rows.
#[derive(Debug, Default)]
pub(crate) struct LongText {
    /// The page that is being filled.
    open: Vec<u8>,
    open_rows: u32,
    /// Headers and contents of the closed pages.
    sealed: Pages,
    places: Vec<Place>,
    uncompressed: usize,
}

impl LongText {
    /// Adds a row.
    pub(super) fn push(&mut self, text: &str, maker: &mut PageMaker) -> Result<()> {
        let length = u32::try_from(text.len())
            .map_err(|_| ParquetError::General("a text of more than 4 GB".to_owned()))?;
        if self.open.capacity() == 0 {
            self.open = maker.open();
        }
        self.open.extend_from_slice(&length.to_le_bytes());
        self.open.extend_from_slice(text.as_bytes());
        self.open_rows += 1;
        match self.open.len() >= PAGE_BYTES {
            true => self.seal(maker),
            false => Ok(()),
        }
    }

    /// Closes the open page, if it holds anything.
    pub(super) fn seal(&mut self, maker: &mut PageMaker) -> Result<()> {
        if self.open_rows == 0 {
            return Ok(());
        }
        let uncompressed = self.open.len();
        let contents = maker.contents(std::mem::take(&mut self.open))?;
        let page = Page::DataPage {
            buf: contents.clone(),
            num_values: self.open_rows,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let offset = self.sealed.length();
        let mut sink = TrackedWrite::new(Header::default());
        let page = CompressedPage::new(page, uncompressed);
        let spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
        self.sealed.push(sink.into_inner()?.before(contents.len())?);
        self.sealed.push(contents);
        self.places.push(Place {
            offset,
            length: self.sealed.length() - offset,
            rows: self.open_rows,
            text_bytes: uncompressed - 4 * self.open_rows as usize,
        });
        self.uncompressed += spec.uncompressed_size;
        self.open_rows = 0;
        Ok(())
    }

    /// Puts the pages of `other` after these; both are sealed.
    pub(super) fn append(&mut self, other: Self) {
        let shift = self.sealed.length();
        self.sealed.append(other.sealed);
        let moved = other.places.into_iter().map(|mut place| {
            place.offset += shift;
            place
        });
        self.places.extend(moved);
        self.uncompressed += other.uncompressed;
    }

    /// The column chunk that the pages make.
    pub(super) fn into_chunk(
        self,
        column: ColumnDescPtr,
        compression: Compression,
    ) -> Result<Chunk> {
        let rows: u64 = self.places.iter().map(|place| u64::from(place.rows)).sum();
        let text_bytes: usize = self.places.iter().map(|place| place.text_bytes).sum();
        let signed = |n: usize| n as i64;
        let pages = PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: Encoding::PLAIN,
            count: self.places.len() as i32,
        };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(compression)
            .set_encodings_mask(EncodingMask::new_from_encodings(
                [Encoding::PLAIN, Encoding::RLE].iter(),
            ))
            .set_page_encoding_stats(vec![pages])
            .set_total_compressed_size(signed(self.sealed.length()))
            .set_total_uncompressed_size(signed(self.uncompressed))
            .set_num_values(rows.cast_signed())
            .set_data_page_offset(0)
            .set_unencoded_byte_array_data_bytes(Some(signed(text_bytes)))
            .build()?;
        let mut index = OffsetIndexBuilder::new();
        for place in &self.places {
            index.append_row_count(i64::from(place.rows));
            index.append_offset_and_size(signed(place.offset), place.length as i32);
            index.append_unencoded_byte_array_data_bytes(Some(signed(place.text_bytes)));
        }
        Ok(Chunk {
            close: ColumnCloseResult {
                bytes_written: self.sealed.length() as u64,
                rows_written: rows,
                metadata,
                bloom_filter: None,
                column_index: None,
                offset_index: Some(index.build()),
            },
            pages: self.sealed,
        })
    }
}
