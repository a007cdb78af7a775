//! Reads what a kernel is compared with, and how closely.

use warpsmith_core::Tolerance;

use super::Reader;
use crate::description::{Reference, ReferenceKind, Source, StatedTolerance, WorkloadReference};
use crate::document::{CaseError, Item, Value};
use crate::expression::Expression;
use crate::reference::find_workload;

impl Reader<'_> {
    pub(super) fn reference(&self, item: Item, source: &Source) -> Result<Reference, CaseError> {
        let file = self.file;
        if let Value::Text(text) = &item.value {
            let callable = self.callable(text).ok_or_else(|| {
                item.error(
                    file,
                    "write `reference = \"file.py:function\"`, or a table `[reference]`",
                )
            })?;
            return Ok(Reference {
                kind: ReferenceKind::Function(callable),
                seconds: 60.0,
                memory: 8 << 30,
                place: item.place,
            });
        }
        let (place, mut table) = item.table(file)?;
        let mut kinds = Vec::new();
        if let Some(item) = table.take("function") {
            let callable = self
                .callable(&item.text(file)?)
                .ok_or_else(|| item.error(file, "write `file.py:function`"))?;
            kinds.push(ReferenceKind::Function(callable));
        }
        if let Some(item) = table.take("kernel") {
            let text = item.text(file)?;
            let (path, kernel) = match text.rsplit_once(':') {
                Some((path, kernel)) => (path.to_owned(), Some(kernel.to_owned())),
                None => (text, None),
            };
            let other = Item {
                value: Value::Text(path),
                ..item
            };
            let other = self.source(&other)?;
            let launch = match table.take("launch") {
                Some(item) => Some(self.launch(Some(item), &other, &place)?),
                None => None,
            };
            kinds.push(ReferenceKind::Kernel {
                source: other,
                kernel,
                launch,
            });
        }
        if let Some(item) = table.take("npy") {
            let (_, mut files) = item.table(file)?;
            let files = files.take_all().into_iter().map(|(name, item)| {
                let path = self.beside(&item.text(file)?);
                Ok((name, path))
            });
            kinds.push(ReferenceKind::Npy(files.collect::<Result<_, CaseError>>()?));
        }
        if let Some(item) = table.take("interpreter")
            && item.truth(file)?
        {
            if !matches!(source, Source::Warp(_)) {
                return Err(item.error(file, "the interpreter runs Warp-style `.py` kernels alone"));
            }
            kinds.push(ReferenceKind::Interpreter);
        }
        if let Some(item) = table.take("workload") {
            let id = item.text(file)?;
            if let Err(problem) = find_workload(&id) {
                return Err(item.error(file, problem));
            }
            let parameters = match table.take("parameters") {
                None => Vec::new(),
                Some(item) => {
                    let (_, mut all) = item.table(file)?;
                    let pairs = all.take_all().into_iter().map(|(name, item)| {
                        let text = match &item.value {
                            Value::Text(text) => text.clone(),
                            _ => item.integer(file)?.to_string(),
                        };
                        let expression = Expression::parse(&text).ok();
                        Ok((name, (text, expression)))
                    });
                    pairs.collect::<Result<_, CaseError>>()?
                }
            };
            let inputs = match table.take("inputs") {
                None => Vec::new(),
                Some(item) => {
                    let names = item.list();
                    let names = names.iter().map(|item| item.text(file));
                    names.collect::<Result<_, CaseError>>()?
                }
            };
            kinds.push(ReferenceKind::Workload(WorkloadReference {
                id,
                parameters,
                inputs,
            }));
        }
        let seconds = match table.take("seconds") {
            Some(item) => match item.float(file)? {
                seconds if seconds > 0.0 && seconds <= 86_400.0 => seconds,
                seconds => return Err(item.error(file, format!("{seconds} is no time limit"))),
            },
            None => 60.0,
        };
        let memory = match table.take("memory") {
            Some(item) => u64::try_from(item.integer(file)?)
                .map_err(|_| item.error(file, "a number of bytes, e.g. \"4G\""))?,
            None => 8 << 30,
        };
        table.finish(
            file,
            &[
                "function",
                "kernel",
                "npy",
                "interpreter",
                "workload",
                "parameters",
                "inputs",
                "launch",
                "seconds",
                "memory",
            ],
        )?;
        match (kinds.pop(), kinds.is_empty()) {
            (Some(kind), true) => Ok(Reference {
                kind,
                seconds,
                memory,
                place,
            }),
            _ => Err(place.error(
                file,
                "one of `function`, `kernel`, `npy`, `interpreter` and `workload` expected",
            )),
        }
    }

    pub(super) fn tolerance(&self, item: Item) -> Result<StatedTolerance, CaseError> {
        let file = self.file;
        let (place, mut table) = item.table(file)?;
        let mut bounds = Tolerance::EXACT;
        for (key, bound) in [("abs", &mut bounds.abs), ("rel", &mut bounds.rel)] {
            if let Some(item) = table.take(key) {
                *bound = item.float(file)?;
                if !(0.0..=f64::MAX).contains(bound) {
                    return Err(item.error(file, format!("{bound} is no bound")));
                }
            }
        }
        if let Some(item) = table.take("ulp") {
            bounds.ulp = u64::try_from(item.integer(file)?)
                .map_err(|_| item.error(file, "a count of representable numbers, from 0"))?;
        }
        let because = match table.take("because") {
            Some(item) => item.text(file)?,
            None => {
                return Err(place.error(file, "missing: `because`, the reason for these bounds"));
            }
        };
        table.finish(file, &["abs", "rel", "ulp", "because"])?;
        Ok(StatedTolerance { bounds, because })
    }
}
