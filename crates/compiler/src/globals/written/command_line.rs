//! What a script's options are where the command line leaves them out.

use super::host_value::{Found, HostValue, Search, Stop};
use super::outline::{Frames, owner};
use crate::globals::Global;
use crate::globals::variants::text_of;
use crate::syntax::{ExprId, ExprKind, Keyword, List, StmtKind};
use warpsmith_ir::Constant;
use warpsmith_ir::names::Name;

impl Search<'_, '_> {
    /// The default of an option of the command line.
    pub(super) fn option(
        &mut self,
        parser: Name,
        frames: &Frames,
        result: Name,
        name: Name,
    ) -> Found {
        let tree = &*self.tables.tree;
        let of = owner(frames);
        let mut found = None;
        for (stmt, around) in &self.outline.statements {
            // The script may set it itself.
            if let StmtKind::Assign { targets, .. } = stmt.kind {
                for target in tree.exprs_in(targets) {
                    if let ExprKind::Attribute(base, own) = tree.expr(*target).kind
                        && own == name
                        && tree.expr(base).kind == ExprKind::Name(result)
                    {
                        return Err(Stop::Unknown);
                    }
                }
            }
            let StmtKind::Expr(call) = stmt.kind else {
                continue;
            };
            let ExprKind::Call {
                func,
                args,
                keywords,
            } = tree.expr(call).kind
            else {
                continue;
            };
            let ExprKind::Attribute(base, method) = tree.expr(func).kind else {
                continue;
            };
            let is_it = owner(around) == of
                && tree.expr(base).kind == ExprKind::Name(parser)
                && self.tables.names.get(method) == "add_argument";
            if is_it && self.is_option(args, keywords, name) {
                found = Some((keywords, around.clone()));
            }
        }
        let (keywords, frames) = found.ok_or(Stop::Unknown)?;
        let keywords = self.tables.tree.keywords_in(keywords).to_vec();
        let keyword = |search: &Self, wanted: &str| -> Option<ExprId> {
            let is_it = |keyword: &&Keyword| {
                keyword.name.map(|name| search.tables.names.get(name)) == Some(wanted)
            };
            keywords.iter().find(is_it).map(|keyword| keyword.value)
        };
        let action = keyword(self, "action").map(|action| text_of(self.tables, action));
        let converts = keyword(self, "type").map(|kind| text_of(self.tables, kind));
        let value = match (keyword(self, "default"), action.as_deref()) {
            (Some(default), _) => self.value(default, &frames)?,
            (None, Some("\"store_true\"" | "'store_true'")) => {
                self.written(Global::Value(Constant::Bool(false)), None)?
            }
            (None, Some("\"store_false\"" | "'store_false'")) => {
                self.written(Global::Value(Constant::Bool(true)), None)?
            }
            (None, None) => self.written(Global::Nothing, None)?,
            _ => return Err(Stop::Unknown),
        };
        // Texts are read as the type says.
        match (&value, converts.as_deref()) {
            (HostValue::Value(Global::Value(Constant::Str(_)), _), Some(other))
                if other != "str" =>
            {
                Err(Stop::Unknown)
            }
            _ => Ok(value),
        }
    }

    /// Whether an option of the command line has this name in the program.
    fn is_option(&self, args: List, keywords: List, name: Name) -> bool {
        let names = &*self.tables.names;
        let text = |expr: ExprId| match self.tables.tree.expr(expr).kind {
            ExprKind::Str(text) => Some(names.get(text)),
            _ => None,
        };
        let keywords = self.tables.tree.keywords_in(keywords).iter();
        let mut named = keywords
            .filter(|keyword| keyword.name.map(|name| names.get(name)) == Some("dest"))
            .map(|keyword| text(keyword.value));
        if let Some(dest) = named.next() {
            return dest == Some(names.get(name));
        }
        let flags = self.tables.tree.exprs_in(args).iter();
        let flags: Vec<&str> = flags.filter_map(|flag| text(*flag)).collect();
        // The first long one gives the name.
        let long = flags.iter().find(|flag| flag.starts_with("--"));
        let own = long.or(flags.first());
        own.is_some_and(|own| own.trim_start_matches('-').replace('-', "_") == names.get(name))
    }
}
