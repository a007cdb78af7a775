//! Reads what `tune` may choose, and what a launch costs.

use super::{MOST_VALUES, Reader};
use crate::description::{CostExpressions, Tunable, TunableValue};
use crate::document::{CaseError, Item, Value};

impl Reader<'_> {
    pub(super) fn tunables(&self, item: Option<Item>) -> Result<Vec<Tunable>, CaseError> {
        let Some(item) = item else {
            return Ok(Vec::new());
        };
        let (_, mut table) = item.table(self.file)?;
        let mut tunables = Vec::new();
        for (name, item) in table.take_all() {
            if !name.starts_with('-') {
                self.name(&item.place, &name)?;
            }
            let place = item.place.clone();
            let values = item
                .list()
                .into_iter()
                .map(|item| match item.value {
                    Value::Integer(value) => Ok(TunableValue::Whole(value)),
                    Value::Truth(value) => Ok(TunableValue::Whole(i64::from(value))),
                    _ => Ok(TunableValue::Word(item.text(self.file)?)),
                })
                .collect::<Result<Vec<_>, CaseError>>()?;
            if values.is_empty() || values.len() > MOST_VALUES {
                return Err(place.error(self.file, "it lists no value, or too many"));
            }
            tunables.push(Tunable { name, values });
        }
        Ok(tunables)
    }

    pub(super) fn cost(&self, item: Option<Item>) -> Result<CostExpressions, CaseError> {
        let mut cost = CostExpressions::default();
        let Some(item) = item else {
            return Ok(cost);
        };
        let (_, mut table) = item.table(self.file)?;
        for (key, slot) in [("bytes", &mut cost.bytes), ("flops", &mut cost.flops)] {
            if let Some(item) = table.take(key) {
                *slot = Some(item.expression(self.file)?);
            }
        }
        table.finish(self.file, &["bytes", "flops"])?;
        Ok(cost)
    }
}
