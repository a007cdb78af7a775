//! Functions that are given functions: each set of these makes a function of its own, in which the parameters' names
//! stand for them. Its C++ signature has the other parameters only.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::body::Body;
use super::value::{Res, Value, fail};
use crate::globals::{FunctionDef, Global, ParamDef};
use warpsmith_ir::Origin;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;

/// Stands for the type of an argument that is a function; no value has it.
pub(super) const FUNCTION: TypeId = TypeId::SLICE;

/// Builtins that may be given: those that are a plain call of C++.
const PLAIN: [&str; 25] = [
    "abs", "acos", "add", "asin", "atan", "atan2", "ceil", "cos", "cosh", "exp", "floor", "log",
    "log10", "log2", "max", "min", "pow", "round", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
];

/// A function and what is left of its arguments.
pub(super) type Specialised = (u32, Vec<Value>, Vec<(Name, Value)>);

impl Body<'_, '_> {
    /// The function that a call means whose arguments are functions in part; nothing where none is wanted.
    pub(super) fn specialised(
        &mut self,
        index: u32,
        params: &[ParamDef],
        positional: &[Value],
        named: &[(Name, Value)],
    ) -> Res<Option<Specialised>> {
        if !params.iter().any(|param| param.takes_function) {
            return Ok(None);
        }
        let mut given: Vec<(Name, Global)> = Vec::new();
        let mut rest = Vec::new();
        let mut kept = Vec::new();
        for (at, param) in params.iter().enumerate() {
            let keyword = named.iter().find(|(name, _)| *name == param.name);
            if !param.takes_function {
                kept.push(param.clone());
                rest.extend(positional.get(at));
                continue;
            }
            let value = positional.get(at).or(keyword.map(|(_, value)| value));
            given.push((
                param.name,
                match (value, param.default) {
                    (Some(Value::Function(set)), _) => Global::Function(*set),
                    (Some(Value::Builtin(index)), _) => Global::Builtin(*index),
                    (None, Some(default @ (Global::Function(_) | Global::Builtin(_)))) => default,
                    _ => return fail("K016", "a `wp.Function` parameter takes a function"),
                },
            ));
        }
        let named = named
            .iter()
            .filter(|(name, _)| kept.iter().any(|param| param.name == *name));
        let named = named.copied().collect();
        let native = self.native_of(index, &given)?;
        let scope = &mut self.shared.scope;
        let template = &scope.functions[index as usize];
        if template.gradient.is_some()
            || template.replay.is_some()
            || template.origin != Origin::Compiled
        {
            return fail(
                "K021",
                "a function with a gradient of its own takes no functions",
            );
        }
        let types =
            |params: &[ParamDef]| -> Vec<TypeId> { params.iter().map(|param| param.ty).collect() };
        let mut known = scope.functions.iter();
        let same = known.position(|def| {
            def.native == native
                && def
                    .params
                    .as_ref()
                    .is_ok_and(|params| types(params) == types(&kept))
        });
        let index = match same {
            Some(same) => same as u32,
            None => {
                let mut closure = template.closure.clone();
                closure.retain(|(name, _)| !given.iter().any(|(known, _)| known == name));
                closure.extend(given);
                let def = FunctionDef {
                    key: template.key,
                    native,
                    params: Ok(kept),
                    returns: template.returns.clone(),
                    body: template.body,
                    decorator_line: template.decorator_line,
                    def_line: template.def_line,
                    span: template.span,
                    inline_hint: template.inline_hint,
                    numbered: false,
                    instance: true,
                    statics: Vec::new(),
                    library: template.library,
                    module: template.module,
                    closure,
                    origin: template.origin,
                    gradient: None,
                    replay: None,
                    reading: template.reading,
                    built: None,
                    building: false,
                };
                scope.functions.push(def);
                scope.functions.len() as u32 - 1
            }
        };
        Ok(Some((index, rest, named)))
    }

    /// The native name of a function that is given these: digits of their names are behind its own.
    fn native_of(&mut self, index: u32, given: &[(Name, Global)]) -> Res<Name> {
        let scope = &self.shared.scope;
        let names = &mut *self.shared.names;
        let own = names.get(scope.functions[index as usize].native).to_owned();
        let mut hash = Sha256::new();
        hash.update(&own);
        for (name, function) in given {
            let (key, native) = match *function {
                Global::Function(set) => {
                    let set = &scope.sets[set as usize];
                    let ([only], []) = (set.overloads.as_slice(), set.templates.as_slice()) else {
                        return fail(
                            "K021",
                            "a function with several overloads is not supported as an argument",
                        );
                    };
                    let def = &scope.functions[*only as usize];
                    (names.get(def.key), names.get(def.native))
                }
                Global::Builtin(index) => {
                    let builtin = BUILTINS[usize::from(index)].name;
                    if !PLAIN.contains(&builtin) {
                        let what = format!("`wp.{builtin}` is not supported as an argument");
                        return fail("K021", what);
                    }
                    (builtin, builtin)
                }
                _ => return fail("K016", "a `wp.Function` parameter takes a function"),
            };
            for part in [names.get(*name), key, native] {
                hash.update(part);
            }
        }
        let mut native = format!("{own}_callable_");
        for byte in &hash.finalize()[..6] {
            // Writing to a string cannot fail.
            let _ = write!(native, "{byte:02x}");
        }
        Ok(names.intern(&native))
    }
}
