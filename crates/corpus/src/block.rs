//! A block of pairs, from drafts to what is laid down in files: compiled, verified, counted, encoded.

use std::sync::Arc;

use warpsmith_compiler::ir::Module;

use crate::output::{Counter, PageMaker, PagePool, Part, Settings, Tally};
use crate::record::{Record, RecordBuilder};
use crate::run::RunError;
use crate::selection::Selected;
use crate::split::Split;
use crate::verify::{Executor, Verifier};

/// A finished block.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) tally: Tally,
    /// One for each split, in the order of [`Split::ALL`].
    pub(crate) parts: [Part; Split::ALL.len()],
}

/// Makes blocks, one after the other, on one core.
pub(crate) struct BlockBuilder<'a> {
    settings: &'a Settings,
    verifier: &'a Verifier,
    records: RecordBuilder,
    executor: Executor,
    pool: Arc<PagePool>,
    maker: Option<PageMaker>,
}

impl<'a> BlockBuilder<'a> {
    pub(crate) fn new(settings: &'a Settings, verifier: &'a Verifier, pool: Arc<PagePool>) -> Self {
        Self {
            settings,
            verifier,
            records: RecordBuilder::new(),
            executor: Executor::new(&settings.keep),
            pool,
            maker: None,
        }
    }

    /// Where the memory of pages goes that were written.
    pub(crate) fn pool(&self) -> &PagePool {
        &self.pool
    }

    /// Makes a block of what was selected; what the compiler refuses is left out.
    ///
    /// # Errors
    /// Where a level of verification cannot go on, or rows cannot be encoded.
    pub(crate) fn build(&mut self, selected: Vec<Selected>) -> Result<Built, RunError> {
        let mut counter = Counter::default();
        let mut parts: [Part; Split::ALL.len()] = std::array::from_fn(|_| Part::new(self.settings));
        let encoding = |error: parquet::errors::ParquetError| RunError::Encode(error.to_string());
        let mut maker = match self.maker.take() {
            Some(maker) => maker,
            None => {
                PageMaker::new(self.settings.compression, self.pool.clone()).map_err(encoding)?
            }
        };
        let mut selected = selected.into_iter();
        // As few at a time as can be, so that texts are in the cache from the compiler to the page.
        let together = self.verifier.together();
        loop {
            let mut batch: Vec<Record> = Vec::with_capacity(together);
            for one in selected.by_ref().take(together) {
                if let Ok((record, module)) = self.records.build(one, &self.settings.split) {
                    batch.push(self.execute(record, &module));
                    self.records.recycle(module);
                }
            }
            if batch.is_empty() && selected.len() == 0 {
                break;
            }
            self.verifier.check(&mut batch, &self.settings.keep)?;
            for record in batch {
                counter.count(&record);
                let part = &mut parts[record.split as usize];
                let texts = part.push(record, &mut maker).map_err(encoding)?;
                self.records.reuse(texts);
            }
        }
        for part in &mut parts {
            part.seal(&mut maker).map_err(encoding)?;
        }
        self.maker = Some(maker);
        Ok(Built {
            tally: counter.finish(),
            parts,
        })
    }

    fn execute(&mut self, mut record: Record, module: &Module) -> Record {
        if self.verifier.executes() {
            let differences = record.origin.index.is_multiple_of(8);
            let execution = self.executor.execute(module, record.origin, differences);
            record.verification.executed = execution.executed;
            record.verification.gradient = execution.gradient;
            record.extra = execution.extra;
        }
        record
    }
}
