//! The calls of a factory that the source writes in functions, methods and the part for scripts.
//!
//! Nothing of that is run. What such a call gives the factory's parameters is looked up where it is written: constants,
//! items of lists and tables, variables of loops over them, what attributes and names are set to once, defaults of
//! parameters and of the command line. Each way that leads to known values is one way to call the factory; the names
//! of the kernels that it makes say which.

mod captured;
mod command_line;
mod host_value;
mod launch;
mod outline;
mod overloads;
mod python_call;

use std::rc::Rc;

use super::Scope;
use super::value::Tables;
use super::variants::Variant;
use host_value::{Choice, HostValue, Search, Stop};
use warpsmith_ir::names::Name;

pub(super) use captured::captured_parameters;
pub(super) use outline::Outline;

/// Most ways through loops and calls that are tried for one factory.
const MOST_WAYS: usize = 4096;

impl Scope {
    /// The statements of the source.
    fn outline(&mut self, tables: &mut Tables<'_>) -> Option<Rc<Outline>> {
        if self.outline.is_none() {
            let body = tables.modules.first()?.body;
            self.outline = Some(Rc::new(Outline::of(tables, body)));
        }
        self.outline.clone()
    }

    /// The ways in which the source calls a function, by what they give these parameters; none where nothing of it is
    /// known.
    pub(super) fn written_calls(
        &mut self,
        tables: &mut Tables<'_>,
        function: u32,
        wanted: &[Name],
        most: usize,
    ) -> Vec<Variant> {
        let Some(outline) = self.outline(tables) else {
            return Vec::new();
        };
        let mut found: Vec<Variant> = Vec::new();
        for site in outline.calls_of(tables, function) {
            let mut pending: Vec<Vec<(Choice, usize)>> = vec![Vec::new()];
            let mut ways = 0;
            while let Some(chosen) = pending.pop() {
                ways += 1;
                if ways > MOST_WAYS || found.len() >= most {
                    break;
                }
                let mut search = Search::new(self, tables, &outline, &chosen);
                let mut given = Vec::new();
                let mut fork = None;
                for name in wanted {
                    match search.argument(function, &site, *name) {
                        Ok(HostValue::Value(value, text)) => given.push((*name, value, text)),
                        Err(Stop::Choose(choice, count)) => {
                            fork = Some((choice, count));
                            break;
                        }
                        Ok(_) | Err(Stop::Unknown) => {}
                    }
                }
                if let Some((choice, count)) = fork {
                    // The last is taken first.
                    pending.extend((0..count).rev().map(|at| {
                        let mut longer = chosen.clone();
                        longer.push((choice, at));
                        longer
                    }));
                    continue;
                }
                let texts = given.iter().map(|(name, _, text)| {
                    let name = tables.names.get(*name);
                    format!("{name}={text}")
                });
                let variant = Variant {
                    label: texts.collect::<Vec<_>>().join(", "),
                    values: (given.iter().map(|(name, value, _)| (*name, *value))).collect(),
                };
                if !variant.values.is_empty()
                    && !found.iter().any(|known| known.values == variant.values)
                {
                    found.push(variant);
                }
            }
        }
        // Where one way gives all that is wanted, those that give less say nothing new.
        let complete = found.iter().map(|variant| variant.values.len()).max();
        found.retain(|variant| Some(variant.values.len()) == complete);
        found
    }
}
