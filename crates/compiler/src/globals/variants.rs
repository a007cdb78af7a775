//! What the calls of a factory that nobody is seen to call may give its parameters.
//!
//! A parameter that is annotated `bool` or with an integer enumeration has few values: the factory is read once for
//! each, and once with and without an argument that is `None` where a call leaves it out. Others have the value that the
//! user binds them to, that they have where a call leaves them out, or that calls give them which stand in the source's
//! functions ([`super::written`]). Each
//! such reading makes kernels of its own, numbered and named as by the first call in a program.

use super::annotation::type_of;
use super::evaluate::{evaluate, path};
use super::nested::GIVEN;
use super::value::Tables;
use super::written::captured_parameters;
use super::{Global, Scope};
use crate::syntax::{ExprId, ExprKind, FunctionNode, Parameter};
use warpsmith_ir::Constant;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;

/// Most readings of one function, and of all functions of a source.
const MOST_OF_ONE: usize = 64;
const MOST_OF_ALL: u32 = 4096;

/// A value that the user gives a parameter, an attribute of one, or a name that only Python can work out.
#[derive(Debug)]
pub(crate) struct Bind {
    /// `parameter`, `parameter.attribute`, or one of these behind the function's name; `name` or `module.name`.
    pub(crate) path: Vec<Name>,
    pub(crate) value: ExprId,
    /// The value as it was written.
    pub(crate) text: String,
    /// Whether any function has such a parameter.
    pub(crate) is_used: bool,
}

/// The values that a parameter may have, each as Python writes it.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) name: Name,
    pub(super) values: Vec<(String, Global)>,
}

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Variant {
    /// The arguments as Python writes them.
    pub(super) label: String,
    pub(super) values: Vec<(Name, Global)>,
}

impl Scope {
    /// The ways to call a function that make different kernels; one without values where nothing is known of it.
    pub(super) fn variants(&mut self, tables: &mut Tables<'_>, function: u32) -> Vec<Variant> {
        let node = tables.tree.functions[function as usize];
        let mut choices = self.choices(tables, &node);
        let count = |choices: &[Choice]| {
            let counts = choices.iter().map(|choice| choice.values.len());
            counts.fold(1_usize, usize::saturating_mul)
        };
        let most = match self.readings < MOST_OF_ALL {
            true => MOST_OF_ONE,
            false => 1,
        };
        while count(&choices) > most {
            let widest = choices.iter().rposition(|choice| choice.values.len() > 1);
            choices.remove(widest.unwrap_or(0));
        }
        // What is left open and matters is looked up where the source calls the function.
        let mut open = captured_parameters(tables, &node);
        open.retain(|name| !choices.iter().any(|choice| choice.name == *name));
        let mut variants = Vec::new();
        if !open.is_empty() {
            let left = most / count(&choices).max(1);
            variants = self.written_calls(tables, function, &open, left);
        }
        if variants.is_empty() {
            variants.push(Variant {
                label: String::new(),
                values: Vec::new(),
            });
        }
        for choice in choices {
            let name = tables.names.get(choice.name);
            let mut longer = Vec::with_capacity(variants.len() * choice.values.len());
            for variant in variants {
                for (text, value) in &choice.values {
                    let comma = if variant.label.is_empty() { "" } else { ", " };
                    let mut values = variant.values.clone();
                    values.push((choice.name, *value));
                    longer.push(Variant {
                        label: format!("{}{comma}{name}={text}", variant.label),
                        values,
                    });
                }
            }
            variants = longer;
        }
        variants
    }

    fn choices(&mut self, tables: &mut Tables<'_>, node: &FunctionNode) -> Vec<Choice> {
        let list = node.parameters;
        let parameters: Vec<Parameter> =
            tables.tree.parameters[list.start as usize..][..list.len as usize].to_vec();
        let mut choices = Vec::new();
        for parameter in parameters {
            let bound = self.bound(tables, node.name, parameter.name);
            let values = bound
                .or_else(|| self.annotated(tables, parameter.annotation?))
                .or_else(|| {
                    let default = parameter.default?;
                    match evaluate(self, tables, default) {
                        // `...` stands for whatever is given.
                        Global::Nothing => Some(vec![
                            ("None".to_owned(), Global::Nothing),
                            ("...".to_owned(), GIVEN),
                        ]),
                        value @ Global::Value(_) => Some(vec![(text_of(tables, default), value)]),
                        _ => None,
                    }
                });
            choices.extend(values.map(|values| Choice {
                name: parameter.name,
                values,
            }));
        }
        choices
    }

    /// What the user says of a parameter.
    fn bound(
        &mut self,
        tables: &mut Tables<'_>,
        function: Name,
        parameter: Name,
    ) -> Option<Vec<(String, Global)>> {
        let mut attributes = Vec::new();
        let mut whole = None;
        for bind in &mut self.binds {
            let path = match bind.path.as_slice() {
                [first, rest @ ..] if *first == function && !rest.is_empty() => rest,
                path => path,
            };
            match *path {
                [name] if name == parameter => whole = Some((bind.text.clone(), bind.value)),
                [name, attribute] if name == parameter => {
                    attributes.push((attribute, bind.text.clone(), bind.value));
                }
                _ => continue,
            }
            bind.is_used = true;
        }
        if let Some((text, value)) = whole {
            return Some(vec![(text, evaluate(self, tables, value))]);
        }
        let mut texts = Vec::new();
        let class = format!(
            "bind:{}.{}",
            tables.names.get(function),
            tables.names.get(parameter)
        );
        for (attribute, text, value) in attributes {
            let value = evaluate(self, tables, value);
            let attribute = tables.names.get(attribute);
            texts.push(format!("{attribute}={text}"));
            let dotted = format!("{class}.{attribute}");
            let dotted = tables.names.intern(&dotted);
            self.set_attribute(dotted, value);
        }
        let class = tables.names.intern(&class);
        let text = format!("({})", texts.join(", "));
        (!texts.is_empty()).then(|| vec![(text, Global::Class(class))])
    }

    /// What the user says of a name whose value only Python can work out: the source's own, or a module's, behind the
    /// module's name.
    pub(super) fn bound_name(&mut self, tables: &mut Tables<'_>, name: Name) -> Option<Global> {
        let module = usize::from(self.module());
        let parts = tables.modules.get(module)?.name.split('.');
        let parts: Vec<&str> = parts.collect();
        let names = &*tables.names;
        let bind = self.binds.iter_mut().find(|bind| {
            let Some((last, around)) = bind.path.split_last() else {
                return false;
            };
            let around: Vec<&str> = around.iter().map(|part| names.get(*part)).collect();
            *last == name && parts.ends_with(&around) && (module == 0 || !around.is_empty())
        })?;
        bind.is_used = true;
        let value = bind.value;
        Some(evaluate(self, tables, value))
    }

    /// All values of a type that has few.
    fn annotated(
        &mut self,
        tables: &mut Tables<'_>,
        annotation: ExprId,
    ) -> Option<Vec<(String, Global)>> {
        if let Global::Class(class) = path(self, tables, annotation) {
            let members = self.enumeration(class)?;
            let text = text_of(tables, annotation);
            let mut values: Vec<(String, Global)> = Vec::new();
            for (name, value) in members {
                if !values.iter().any(|(_, known)| known == value) {
                    values.push((format!("{text}.{}", tables.names.get(*name)), *value));
                }
            }
            return Some(values);
        }
        let is_type = matches!(
            tables.tree.expr(annotation).kind,
            ExprKind::Name(_) | ExprKind::Attribute(..)
        );
        if !is_type || type_of(self, tables, annotation).ok()? != TypeId::BOOL {
            return None;
        }
        let truth = |value| Global::Value(Constant::Bool(value));
        Some(vec![
            ("False".to_owned(), truth(false)),
            ("True".to_owned(), truth(true)),
        ])
    }
}

pub(super) fn text_of(tables: &Tables<'_>, expr: ExprId) -> String {
    let node = tables.tree.expr(expr);
    let text = tables
        .text
        .get(node.start as usize..node.end as usize)
        .unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
