//! The launches of a kernel that the source writes.

use super::host_value::HostValue;
use super::outline::Frames;
use super::{Outline, Search};
use crate::globals::value::Tables;
use crate::globals::{Global, Scope};
use crate::syntax::{ExprId, ExprKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::{Constant, Number};

impl Scope {
    /// The threads in a block with which the source launches a kernel of this name, if all its launches say the same.
    pub(crate) fn launched_block(&mut self, tables: &mut Tables<'_>, kernel: Name) -> Option<i64> {
        let outline = self.outline(tables)?;
        let launches = ["launch", "launch_tiled"].map(|name| tables.names.intern(name));
        let mut found = None;
        for (call, frames) in launches.iter().flat_map(|name| outline.calls_named(*name)) {
            let ExprKind::Call { args, keywords, .. } = tables.tree.expr(*call).kind else {
                continue;
            };
            let keywords = tables.tree.keywords_in(keywords).to_vec();
            let named = |wanted: &str| -> Option<ExprId> {
                let mut keywords = keywords.iter();
                let is_it =
                    |name: Option<Name>| name.map(|name| tables.names.get(name)) == Some(wanted);
                keywords
                    .find(|keyword| is_it(keyword.name))
                    .map(|keyword| keyword.value)
            };
            let first = tables.tree.exprs_in(args).first().copied();
            let launched = first.or_else(|| named("kernel"))?;
            if tables.tree.expr(launched).kind != ExprKind::Name(kernel) {
                continue;
            }
            let block = named("block_dim")?;
            let mut search = Search::new(self, tables, &outline, &[]);
            let HostValue::Value(Global::Value(Constant::Number(Number::Int(block))), _) =
                search.value(block, frames).ok()?
            else {
                return None;
            };
            let block = i64::try_from(block).ok()?;
            if !(1..=1024).contains(&block) || found.is_some_and(|known| known != block) {
                return None;
            }
            found = Some(block);
        }
        found
    }
}

/// What each launch of a kernel of this name gives it, where that is written out: `inputs`, then `outputs`.
pub(super) fn arguments(
    tables: &mut Tables<'_>,
    outline: &Outline,
    kernel: Name,
) -> Vec<(Vec<ExprId>, Frames)> {
    let launches = ["launch", "launch_tiled"].map(|name| tables.names.intern(name));
    let mut found = Vec::new();
    for (call, frames) in launches.iter().flat_map(|name| outline.calls_named(*name)) {
        let ExprKind::Call { args, keywords, .. } = tables.tree.expr(*call).kind else {
            continue;
        };
        let keywords = tables.tree.keywords_in(keywords);
        let named = |wanted: &str| -> Option<ExprId> {
            let mut keywords = keywords.iter();
            let is_it =
                |name: Option<Name>| name.map(|name| tables.names.get(name)) == Some(wanted);
            let found = keywords.find(|keyword| is_it(keyword.name));
            found.map(|keyword| keyword.value)
        };
        let args = tables.tree.exprs_in(args);
        let launched = args.first().copied().or_else(|| named("kernel"));
        let is_it = |expr: ExprId| tables.tree.expr(expr).kind == ExprKind::Name(kernel);
        if !launched.is_some_and(is_it) || outline.owner_of(kernel, frames).is_some() {
            continue;
        }
        let parts = [
            args.get(2).copied().or_else(|| named("inputs")),
            args.get(3).copied().or_else(|| named("outputs")),
        ];
        let mut given = Vec::new();
        let mut is_written = true;
        for part in parts.into_iter().flatten() {
            match tables.tree.expr(part).kind {
                ExprKind::ListDisplay(list) | ExprKind::Tuple(list) => {
                    given.extend_from_slice(tables.tree.exprs_in(list));
                }
                _ => is_written = false,
            }
        }
        if is_written {
            found.push((given, frames.clone()));
        }
    }
    found
}
