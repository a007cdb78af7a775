//! Arguments, results and gradients as JSON: names of parameters to numbers, elements of arrays in order,
//! the components of each one after the other.

use std::fmt::Write;

use warpsmith_compiler::ir::{Module, Number};
use warpsmith_interpreter::Argument;

use super::arguments::{Layout, read_float, read_integer};
use super::executed::{each_array, element_of, first_not_finite};
use super::level::Check;

/// The launch and every array that it changed, the first `kept` values of each; fails where one of them
/// is not finite.
pub(super) fn results_text(
    module: &Module,
    dim: &[usize],
    given: &[Argument],
    results: &[Argument],
    kept: usize,
) -> Result<String, Check> {
    let mut text = format!("{{\"dim\":{dim:?},\"changed\":{{");
    let mut before = given.iter().filter_map(|argument| match argument {
        Argument::Array(array) => Some(array),
        _ => None,
    });
    let mut first = true;
    each_array(module, results, &mut |name, layout, array| {
        if before.next().is_some_and(|old| old.data == array.data) {
            return Ok(());
        }
        if let Some(place) = first_not_finite(layout, &array.data) {
            return Err(Check::Failed(format!("`{name}` is not finite at {place}")));
        }
        begin(&mut text, &mut first, name);
        write_array(&mut text, layout, &array.data, kept);
        Ok(())
    })?;
    text.push_str("}}");
    Ok(text)
}

/// The launch and its arguments: arrays with their shapes.
pub(super) fn inputs_text(module: &Module, dim: &[usize], given: &[Argument]) -> String {
    let mut text = format!("{{\"dim\":{dim:?},\"arguments\":{{");
    let mut first = true;
    for ((_, variable), argument) in module.kernel.parameters().zip(given) {
        let name = variable.name.map_or("", |name| module.names.get(name));
        begin(&mut text, &mut first, name);
        match argument {
            Argument::Array(array) => {
                let layout =
                    element_of(module, variable.ty).and_then(|element| Layout::of(module, element));
                let _ = write!(text, "{{\"shape\":{:?},\"values\":", array.shape);
                write_array(
                    &mut text,
                    &layout.unwrap_or_default(),
                    &array.data,
                    usize::MAX,
                );
                text.push('}');
            }
            other => write_value(&mut text, other),
        }
    }
    text.push_str("}}");
    text
}

/// The gradients that the backward pass was given, and those that it left.
pub(super) fn gradients_text(module: &Module, given: &[Argument], left: &[Argument]) -> String {
    let mut text = String::from("{");
    for (section, arguments) in [("given", given), ("left", left)] {
        let _ = write!(
            text,
            "{}\"{section}\":{{",
            if section == "left" { "," } else { "" }
        );
        let mut first = true;
        let _ = each_array(module, arguments, &mut |name, layout, array| {
            if let Some(gradient) = &array.gradient {
                begin(&mut text, &mut first, name);
                write_array(&mut text, layout, gradient, usize::MAX);
            }
            Ok(())
        });
        text.push('}');
    }
    text.push('}');
    text
}

/// Begins a member of an object.
fn begin(text: &mut String, first: &mut bool, name: &str) {
    if !std::mem::take(first) {
        text.push(',');
    }
    let _ = write!(text, "\"{name}\":");
}

fn write_value(text: &mut String, argument: &Argument) {
    let list = |text: &mut String, count: usize, write: &dyn Fn(&mut String, usize)| {
        text.push('[');
        for n in 0..count {
            if n > 0 {
                text.push(',');
            }
            write(text, n);
        }
        text.push(']');
    };
    let number = |text: &mut String, number: &Number| {
        let _ = match number {
            Number::Float(value) => write!(text, "{value}"),
            Number::Int(value) => write!(text, "{value}"),
        };
    };
    match argument {
        Argument::Value(numbers) => match numbers.as_slice() {
            [one] => number(text, one),
            several => list(text, several.len(), &|text, n| number(text, &several[n])),
        },
        Argument::Struct(fields) => {
            list(text, fields.len(), &|text, n| write_value(text, &fields[n]));
        }
        Argument::Array(_) | Argument::Same(_) | Argument::Absent => text.push_str("null"),
    }
}

/// The first `most` scalars of an array.
fn write_array(text: &mut String, layout: &Layout, data: &[u8], most: usize) {
    let scalars = data
        .chunks_exact(layout.bytes.max(1))
        .flat_map(|element| {
            let scalars = layout.scalars.iter();
            scalars.map(move |(at, scalar)| (&element[*at..], *scalar))
        })
        .take(most);
    text.push('[');
    for (n, (bytes, scalar)) in scalars.enumerate() {
        if n > 0 {
            text.push(',');
        }
        if let Some(value) = read_float(bytes, scalar) {
            // What is not finite has no form in JSON.
            let _ = match value.is_finite() {
                true => write!(text, "{value}"),
                false => write!(text, "null"),
            };
        } else if let Some(value) = read_integer(bytes, scalar) {
            let _ = write!(text, "{value}");
        }
    }
    text.push(']');
}
