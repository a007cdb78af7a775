//! Reads how a kernel is compiled and launched.

use super::Reader;
use crate::description::{Launch, Source};
use crate::document::{CaseError, Item, Place, Value};
use crate::expression::Expression;

impl Reader<'_> {
    pub(super) fn launch(
        &self,
        item: Option<Item>,
        source: &Source,
        source_place: &Place,
    ) -> Result<Launch, CaseError> {
        let file = self.file;
        let place = Place {
            line: source_place.line,
            key: "launch".into(),
        };
        let Some(item) = item else {
            return match source {
                Source::Callable(_) => Ok(Launch::Itself),
                Source::Warp(_) => {
                    Err(place.error(file, "missing: `[launch]` with `dim`, the threads"))
                }
                _ => Err(place.error(file, "missing: `[launch]` with `grid` and `block`")),
            };
        };
        let (place, mut table) = item.table(file)?;
        let launch = match source {
            Source::Callable(_) => {
                return Err(place.error(
                    file,
                    "a Python function launches by itself: leave `[launch]` out",
                ));
            }
            Source::Warp(_) => {
                let Some(dim) = table.take("dim") else {
                    return Err(
                        place.error(file, "missing: `dim`, the threads of a Warp-style kernel")
                    );
                };
                let dims = dim.clone().list();
                if dims.is_empty() || dims.len() > 4 {
                    return Err(dim.error(file, "one to four dimensions"));
                }
                let dims = dims.iter().map(|item| item.expression(file));
                Launch::Threads(dims.collect::<Result<_, _>>()?)
            }
            _ => {
                let grid = self.three(&place, table.take("grid"), "grid")?;
                let block = self.three(&place, table.take("block"), "block")?;
                let shared = match table.take("shared") {
                    Some(item) => item.expression(file)?,
                    None => 0.into(),
                };
                Launch::Grid {
                    grid,
                    block,
                    shared,
                }
            }
        };
        table.finish(file, &["grid", "block", "shared", "dim"])?;
        Ok(launch)
    }

    pub(super) fn three(
        &self,
        place: &Place,
        item: Option<Item>,
        key: &str,
    ) -> Result<[Expression; 3], CaseError> {
        let Some(item) = item else {
            return Err(place.error(self.file, format!("missing: `{key}`")));
        };
        let place = item.place.clone();
        let items = item.list();
        if items.is_empty() || items.len() > 3 {
            return Err(place.error(self.file, "one to three dimensions"));
        }
        let mut three: [Expression; 3] = [1.into(), 1.into(), 1.into()];
        for (slot, item) in three.iter_mut().zip(&items) {
            *slot = item.expression(self.file)?;
        }
        Ok(three)
    }

    #[allow(clippy::type_complexity)] // Defines and flags, read once.
    pub(super) fn compile(
        &self,
        item: Option<Item>,
    ) -> Result<(Vec<(String, String)>, Vec<String>), CaseError> {
        let (mut defines, mut flags) = (Vec::new(), Vec::new());
        let Some(item) = item else {
            return Ok((defines, flags));
        };
        let (_, mut table) = item.table(self.file)?;
        if let Some(item) = table.take("defines") {
            let (_, mut table) = item.table(self.file)?;
            for (name, item) in table.take_all() {
                self.name(&item.place, &name)?;
                let value = match &item.value {
                    Value::Integer(value) => value.to_string(),
                    Value::Float(value) => format!("{value:?}"),
                    Value::Truth(value) => i64::from(*value).to_string(),
                    _ => item.text(self.file)?,
                };
                defines.push((name, value));
            }
        }
        if let Some(item) = table.take("flags") {
            flags = item.texts(self.file)?;
        }
        table.finish(self.file, &["defines", "flags"])?;
        Ok((defines, flags))
    }
}
