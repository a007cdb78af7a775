//! Calls of Python's own functions that make lists and numbers.

use super::host_value::{Found, HostValue, MOST_ITEMS, Search, Stop, global};
use super::outline::Frames;
use crate::globals::Global;
use crate::syntax::{ExprId, ExprKind, List};
use warpsmith_ir::{Constant, Number};

impl Search<'_, '_> {
    /// Calls of Python's own functions that make lists and numbers, and of parsers of the command line.
    pub(super) fn call(
        &mut self,
        expr: ExprId,
        (func, args, keywords): (ExprId, List, List),
        frames: &Frames,
    ) -> Found {
        let args = self.tables.tree.exprs_in(args).to_vec();
        let name = match self.tables.tree.expr(func).kind {
            ExprKind::Attribute(base, method) => {
                return match (
                    self.tables.names.get(method),
                    self.tables.tree.expr(base).kind,
                ) {
                    ("parse_args", ExprKind::Name(parser)) => {
                        Ok(HostValue::Arguments(parser, frames.clone()))
                    }
                    ("parse_known_args", ExprKind::Name(parser)) => {
                        let arguments = HostValue::Arguments(parser, frames.clone());
                        Ok(HostValue::List(vec![
                            arguments,
                            HostValue::List(Vec::new()),
                        ]))
                    }
                    ("product", _) if keywords.len == 0 => self.product(&args, frames),
                    ("keys", _) if args.is_empty() => match self.value(base, frames)? {
                        HostValue::Table(pairs) => Ok(HostValue::List(
                            pairs.into_iter().map(|pair| pair.0).collect(),
                        )),
                        _ => Err(Stop::Unknown),
                    },
                    _ => self.of_module(expr, frames),
                };
            }
            ExprKind::Name(name) => name,
            _ => return Err(Stop::Unknown),
        };
        let is_own = self
            .scope
            .get(name)
            .is_some_and(|value| !matches!(value, Global::Opaque(_)))
            || !self.outline.binders(None, name).is_empty();
        if keywords.len > 0 || is_own {
            return self.of_module(expr, frames);
        }
        match (self.tables.names.get(name), args.as_slice()) {
            ("list" | "tuple", [only]) => match self.value(*only, frames)? {
                list @ HostValue::List(_) => Ok(list),
                HostValue::Table(pairs) => Ok(HostValue::List(
                    pairs.into_iter().map(|pair| pair.0).collect(),
                )),
                _ => Err(Stop::Unknown),
            },
            ("range", _) => self.range(&args, frames),
            ("product", _) => self.product(&args, frames),
            ("len", [only]) => match self.value(*only, frames)? {
                HostValue::List(items) => {
                    let length = Number::Int(items.len() as i128);
                    self.written(Global::Value(Constant::Number(length)), None)
                }
                _ => Err(Stop::Unknown),
            },
            _ => self.of_module(expr, frames),
        }
    }

    fn range(&mut self, args: &[ExprId], frames: &Frames) -> Found {
        let mut bounds = Vec::new();
        for arg in args {
            match global(self.value(*arg, frames)?)? {
                Global::Value(value) => bounds.push(value.as_int().ok_or(Stop::Unknown)?),
                _ => return Err(Stop::Unknown),
            }
        }
        let (mut at, end, step) = match *bounds {
            [end] => (0, end, 1),
            [start, end] => (start, end, 1),
            [start, end, step] if step != 0 => (start, end, step),
            _ => return Err(Stop::Unknown),
        };
        let mut items = Vec::new();
        while if step > 0 { at < end } else { at > end } {
            if items.len() == MOST_ITEMS {
                return Err(Stop::Unknown);
            }
            let value = Global::Value(Constant::Number(Number::Int(at)));
            items.push(self.written(value, None)?);
            at = at.checked_add(step).ok_or(Stop::Unknown)?;
        }
        Ok(HostValue::List(items))
    }

    /// `itertools.product` of lists.
    fn product(&mut self, args: &[ExprId], frames: &Frames) -> Found {
        let mut rows = vec![Vec::new()];
        for arg in args {
            let HostValue::List(items) = self.value(*arg, frames)? else {
                return Err(Stop::Unknown);
            };
            if rows.len().saturating_mul(items.len()) > MOST_ITEMS {
                return Err(Stop::Unknown);
            }
            let longer = rows.iter().flat_map(|row: &Vec<HostValue>| {
                items.iter().map(|item| {
                    let mut row = row.clone();
                    row.push(item.clone());
                    row
                })
            });
            rows = longer.collect();
        }
        Ok(HostValue::List(
            rows.into_iter().map(HostValue::List).collect(),
        ))
    }
}
