//! The types with which the source launches its generic kernels.

use std::rc::Rc;

use super::host_value::HostValue;
use super::outline::{Frames, Outline};
use super::{Search, launch};
use crate::globals::annotation::type_of;
use crate::globals::value::Tables;
use crate::globals::{Global, Scope};
use crate::syntax::{ExprId, ExprKind, StmtKind};
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Constant, Number};

/// Arrays that are made like another one.
const DEEPEST: u32 = 8;

impl Scope {
    /// Gives generic kernels of the source without an overload those with which it launches them.
    pub(in crate::globals) fn launched_overloads(&mut self, tables: &mut Tables<'_>) {
        for at in 0..self.kernels.len() {
            let kernel = &self.kernels[at];
            let def = &self.functions[kernel.function as usize];
            let (Ok(params), 0, true) = (&def.params, def.module, kernel.overloads.is_empty())
            else {
                continue;
            };
            let params: Vec<TypeId> = params.iter().map(|param| param.ty).collect();
            let name = def.key;
            if !params.iter().any(|ty| tables.types.is_generic(*ty)) {
                continue;
            }
            let Some(outline) = self.outline(tables) else {
                return;
            };
            // One name, one kernel.
            if tables.names.get(name).contains("__") || outline.binders(None, name).len() != 1 {
                continue;
            }
            for (given, frames) in launch::arguments(tables, &outline, name) {
                if let Some(types) = self.launched_types(tables, &outline, &params, &given, &frames)
                {
                    self.kernels[at].overloads.push(types);
                }
            }
        }
    }

    fn launched_types(
        &mut self,
        tables: &mut Tables<'_>,
        outline: &Rc<Outline>,
        params: &[TypeId],
        given: &[ExprId],
        frames: &Frames,
    ) -> Option<Vec<TypeId>> {
        if given.len() != params.len() {
            return None;
        }
        let pairs = params.iter().zip(given);
        let types = pairs.map(|(param, given)| match tables.types.get(*param) {
            _ if !tables.types.is_generic(*param) => Some(*param),
            Type::Array { element, rank }
                if tables.types.get(element) == Type::Scalar(Scalar::Any) =>
            {
                let element = self.element(tables, outline, *given, frames, DEEPEST)?;
                Some(tables.types.intern(Type::Array { element, rank }))
            }
            Type::Scalar(Scalar::Any) => {
                let mut search = Search::new(self, tables, outline, &[]);
                match search.value(*given, frames).ok()? {
                    HostValue::Value(Global::Value(Constant::Number(Number::Int(_))), _) => {
                        Some(TypeId::I32)
                    }
                    HostValue::Value(Global::Value(Constant::Number(Number::Float(_))), _) => {
                        Some(TypeId::F32)
                    }
                    HostValue::Value(Global::Value(Constant::Bool(_)), _) => Some(TypeId::BOOL),
                    _ => None,
                }
            }
            _ => None,
        });
        types.collect()
    }

    /// What an array's elements are, where the source says so as it makes the array.
    fn element(
        &mut self,
        tables: &mut Tables<'_>,
        outline: &Rc<Outline>,
        array: ExprId,
        frames: &Frames,
        depth: u32,
    ) -> Option<TypeId> {
        let depth = depth.checked_sub(1)?;
        let (func, args, keywords) = match tables.tree.expr(array).kind {
            ExprKind::Name(name) => {
                let owner = outline.owner_of(name, frames);
                let [(stmt, around)] = outline.binders(owner, name).try_into().ok()?;
                return match stmt.kind {
                    StmtKind::Assign { targets, value }
                        if *tables.tree.exprs_in(targets).first()? != array
                            && tables.tree.exprs_in(targets).len() == 1
                            && tables.tree.expr(tables.tree.exprs_in(targets)[0]).kind
                                == ExprKind::Name(name) =>
                    {
                        self.element(tables, outline, value, &around, depth)
                    }
                    _ => None,
                };
            }
            ExprKind::Call {
                func,
                args,
                keywords,
            } => (func, args, keywords),
            _ => return None,
        };
        let ExprKind::Attribute(base, made) = tables.tree.expr(func).kind else {
            return None;
        };
        let ExprKind::Name(base) = tables.tree.expr(base).kind else {
            return None;
        };
        if !matches!(tables.names.get(base), "wp" | "warp") {
            return None;
        }
        match tables.names.get(made) {
            "zeros" | "ones" | "empty" | "full" | "array" => {
                let keywords = tables.tree.keywords_in(keywords).to_vec();
                let dtype = tables.names.find("dtype")?;
                let written = keywords
                    .iter()
                    .find(|keyword| keyword.name == Some(dtype))?
                    .value;
                let mut pending = vec![written];
                while let Some(part) = pending.pop() {
                    if let ExprKind::Name(name) = tables.tree.expr(part).kind
                        && outline.owner_of(name, frames).is_some()
                    {
                        return None;
                    }
                    pending.extend(tables.tree.parts(part));
                }
                let ty = type_of(self, tables, written).ok()?;
                (!tables.types.is_generic(ty)).then_some(ty)
            }
            "zeros_like" | "ones_like" | "empty_like" | "full_like" | "clone" => {
                let first = *tables.tree.exprs_in(args).first()?;
                self.element(tables, outline, first, frames, depth)
            }
            _ => None,
        }
    }
}
