//! Reads the named dimensions and the sizes that they take.

use super::{MOST_VALUES, Reader};
use crate::description::Sizes;
use crate::document::{CaseError, Item, Value};
use crate::expression::Scope;

/// More sizes than this are a mistake.
const MOST_SIZES: usize = 10_000;

impl Reader<'_> {
    pub(super) fn sizes(&self, item: Option<Item>) -> Result<Sizes, CaseError> {
        let mut sizes = Sizes {
            tails: true,
            ..Sizes::default()
        };
        let Some(item) = item else {
            sizes.listed.push(Scope::new());
            return Ok(sizes);
        };
        sizes.place = Some(item.place.clone());
        let place = item.place.clone();
        match item.value {
            Value::Table(mut table) => {
                let mut listed = vec![Scope::new()];
                for (name, item) in table.take_all() {
                    self.name(&item.place, &name)?;
                    let values = self.dimension(item)?;
                    if listed.len().saturating_mul(values.len()) > MOST_SIZES {
                        return Err(place.error(
                            self.file,
                            format!("more than {MOST_SIZES} combinations; list them as `sizes = [{{…}}, …]`"),
                        ));
                    }
                    listed = listed
                        .iter()
                        .flat_map(|scope| {
                            values.iter().map(|value| {
                                let mut scope = scope.clone();
                                scope.insert(name.clone(), *value);
                                scope
                            })
                        })
                        .collect();
                    sizes.names.push(name);
                }
                sizes.listed = listed;
            }
            Value::List(items) => {
                if items.len() > MOST_SIZES {
                    return Err(place.error(self.file, format!("more than {MOST_SIZES} sizes")));
                }
                for item in items {
                    let (place, mut table) = item.table(self.file)?;
                    let mut scope = Scope::new();
                    for (name, item) in table.take_all() {
                        self.name(&item.place, &name)?;
                        scope.insert(name, self.size(&item)?);
                    }
                    let names: Vec<String> = scope.keys().cloned().collect();
                    if sizes.names.is_empty() {
                        sizes.names = names;
                    } else if sizes.names != names {
                        return Err(place.error(
                            self.file,
                            format!(
                                "every size names the same dimensions: {}",
                                sizes.names.join(", ")
                            ),
                        ));
                    }
                    sizes.listed.push(scope);
                }
                if sizes.listed.is_empty() {
                    return Err(place.error(self.file, "it lists no size"));
                }
            }
            other => {
                return Err(place.error(
                    self.file,
                    format!("a table of dimensions expected, this is {}", other.kind()),
                ));
            }
        }
        Ok(sizes)
    }

    pub(super) fn size(&self, item: &Item) -> Result<i64, CaseError> {
        match item.integer(self.file)? {
            size @ 0.. => Ok(size),
            size => Err(item.error(self.file, format!("{size} is not a size"))),
        }
    }

    pub(super) fn dimension(&self, item: Item) -> Result<Vec<i64>, CaseError> {
        let place = item.place.clone();
        let values = item
            .list()
            .iter()
            .map(|item| self.size(item))
            .collect::<Result<Vec<_>, _>>()?;
        match values.len() {
            1..=MOST_VALUES => Ok(values),
            0 => Err(place.error(self.file, "it lists no size")),
            _ => Err(place.error(self.file, format!("more than {MOST_VALUES} sizes"))),
        }
    }
}
