//! What no single key of a case shows: whether names that are used are defined, and once.

use crate::description::{ArgumentKind, Case, Launch, Reference, ReferenceKind};
use crate::document::{CaseError, Place};
use crate::expression::Expression;

impl Case {
    /// What no single key shows: names that are used and not defined, names that are there twice.
    pub(super) fn check(&self) -> Result<(), CaseError> {
        let top = Place {
            line: 1,
            key: "arguments".into(),
        };
        let mut known: Vec<&str> = self.sizes.names.iter().map(String::as_str).collect();
        for tunable in &self.tunables {
            if known.contains(&tunable.name.as_str()) {
                let place = self.sizes.place.as_ref().unwrap_or(&top);
                return Err(self.error(
                    place,
                    format!("`{}` is a dimension and a tunable", tunable.name),
                ));
            }
            known.push(&tunable.name);
        }
        let mut names: Vec<&str> = Vec::new();
        for argument in &self.arguments {
            if names.contains(&argument.name.as_str()) {
                let problem = format!("there are two arguments `{}`", argument.name);
                return Err(self.error(&argument.place, problem));
            }
            names.push(&argument.name);
            let shape: &[Expression] = match &argument.kind {
                ArgumentKind::Array { shape, .. } => shape,
                ArgumentKind::Whole(value) => std::slice::from_ref(value),
                ArgumentKind::Real(_) | ArgumentKind::Components(_) => &[],
            };
            for expression in shape {
                self.known(&known, &argument.place, expression)?;
            }
        }
        for (place, expression) in &self.constraints {
            self.known(&known, place, expression)?;
        }
        let place = Place {
            line: 1,
            key: "launch".into(),
        };
        match &self.launch {
            Launch::Grid {
                grid,
                block,
                shared,
            } => {
                for expression in block {
                    self.known(&known, &place, expression)?;
                }
                let mut with_block = known.clone();
                with_block.extend(["block_x", "block_y", "block_z"]);
                for expression in grid.iter().chain([shared]) {
                    self.known(&with_block, &place, expression)?;
                }
            }
            Launch::Threads(dims) => {
                for expression in dims {
                    self.known(&known, &place, expression)?;
                }
            }
            Launch::Itself => {}
        }
        if let Some(Reference {
            kind: ReferenceKind::Npy(files),
            place,
            ..
        }) = &self.reference
        {
            for (name, _) in files {
                if !self.outputs().any(|output| output.name == *name) {
                    return Err(self.error(place, format!("there is no output `{name}`")));
                }
            }
        }
        if let Some(Reference {
            kind: ReferenceKind::Workload(reference),
            place,
            ..
        }) = &self.reference
            && self.outputs().count() != 1
        {
            let problem = format!(
                "`{}` computes one array, the kernel has {} outputs",
                reference.id,
                self.outputs().count()
            );
            return Err(self.error(place, problem));
        }
        Ok(())
    }

    fn known(
        &self,
        known: &[&str],
        place: &Place,
        expression: &Expression,
    ) -> Result<(), CaseError> {
        for name in expression.names() {
            if !known.contains(&name) {
                let there = match known.is_empty() {
                    true => "`[sizes]` names none".to_owned(),
                    false => format!("there are {}", known.join(", ")),
                };
                return Err(self.error(
                    place,
                    format!("`{expression}`: there is no dimension or tunable `{name}`; {there}"),
                ));
            }
        }
        Ok(())
    }
}
