//! What an author wrote by name: adjoints of functions, gradients, addresses of variables; and what of it only
//! the text knows.

use warpsmith_ir::names::Name;
use warpsmith_ir::{Alias, Callee, Function, Module, Op, Origin, Piece, VarId};

/// The functions that a pass lays out, the kernel first.
fn reached(module: &Module, backward: bool) -> Vec<&Function> {
    let mut functions = vec![&module.kernel];
    let mut at = 0;
    while let Some(function) = functions.get(at).copied() {
        at += 1;
        let called = function.ops.iter().filter_map(|op| match op {
            Op::Call(call) => match call.callee {
                Callee::Function(index) => module.functions.get(index as usize),
                _ => None,
            },
            _ => None,
        });
        let gradient = backward.then(|| gradient_of(module, function)).flatten();
        let replay = backward.then(|| replay_of(module, function)).flatten();
        let replay = replay.map(|index| &module.functions[index as usize]);
        for next in called.chain(gradient).chain(replay) {
            if !functions.iter().any(|known| std::ptr::eq(*known, next)) {
                functions.push(next);
            }
        }
    }
    functions
}

/// The function that its author wrote as the adjoint of another.
pub(super) fn gradient_of<'m>(module: &'m Module, function: &Function) -> Option<&'m Function> {
    if !function.custom().has_gradient {
        return None;
    }
    module.functions.iter().find(|other| {
        let is_gradient = matches!(other.custom().origin, Origin::Gradient { .. });
        is_gradient && other.native == function.native
    })
}

/// The function that is called in the place of another when a forward pass is repeated.
pub(super) fn replay_of(module: &Module, function: &Function) -> Option<u32> {
    if !function.is_replaced_in_replay() {
        return None;
    }
    let forward = module.names.get(function.native);
    let replays = |other: &Function| {
        let name = module.names.get(other.native);
        other.custom().origin == Origin::Replay && name.strip_prefix("replay_") == Some(forward)
    };
    let at = module.functions.iter().position(replays)?;
    u32::try_from(at).ok()
}

/// What only the text of a module knows.
pub(super) fn text_only(module: &Module, backward: bool) -> Option<String> {
    let functions = reached(module, backward);
    // The block of a CPU has one thread, which waits for nobody.
    let is_native = |function: &&&Function| match function.custom().origin {
        Origin::Native { forward, .. } => {
            let text = module.names.get(forward).trim();
            !matches!(
                text.trim_end_matches(';').trim_end(),
                "" | "WP_TILE_SYNC()" | "__syncthreads()"
            )
        }
        _ => false,
    };
    if let Some(function) = functions.iter().find(is_native) {
        let native = module.names.get(function.native);
        let name = native.rsplit_once('_').map_or(native, |(name, _)| name);
        return Some(format!(
            "`func_native` (`{name}`), which is C++ and runs on a GPU only"
        ));
    }
    let refers = |function: &&Function| {
        let mut parameters = function.parameters();
        parameters.any(|(_, variable)| module.types.is_reference(variable.ty))
    };
    if backward && functions.iter().any(refers) {
        return Some("`wp.ref`, which is compiled to text only".to_owned());
    }
    let unknown = |function: &&Function| !aliases_are_known(module, function);
    functions
        .iter()
        .any(unknown)
        .then(|| "addresses and gradients by name, which are compiled to text only".to_owned())
}

/// Whether every expression that stands where a variable does is the address of a variable that is given to
/// a function, or the gradient of a parameter in the adjoint that its author wrote.
fn aliases_are_known(module: &Module, function: &Function) -> bool {
    let named = |alias: &Alias| Named::of(module, alias);
    if matches!(function.custom().origin, Origin::Gradient { .. }) {
        let is_gradient = |alias| matches!(named(alias), Some(Named::Gradient(_)));
        return function.aliases.iter().all(is_gradient);
    }
    let is_plain = |var: &VarId| var.alias().is_none();
    let is_address = |var: &VarId| match var.alias() {
        None => true,
        Some(alias) => matches!(named(&function.aliases[alias]), Some(Named::Address(_))),
    };
    let slots_are_plain = function.slots.iter().all(|slot| is_plain(&slot.array));
    slots_are_plain
        && function.ops.iter().all(|op| match op {
            Op::Call(call) => {
                let mut args = call.operands.args(&function.pool).iter();
                match call.callee {
                    Callee::Function(_) => args.all(is_address),
                    _ => args.all(is_plain),
                }
            }
            _ => true,
        })
}

/// What an expression that stands where a variable does is.
#[derive(Clone, Copy)]
pub(super) enum Named {
    /// The address of a variable.
    Address(VarId),
    /// A variable's gradient.
    Gradient(VarId),
}

impl Named {
    pub(super) fn of(module: &Module, alias: &Alias) -> Option<Self> {
        let is = |name: &Name, text: &str| module.names.get(*name) == text;
        match alias.pieces.as_slice() {
            [Piece::Text(open), Piece::Var(var), Piece::Text(close)]
                if is(open, "&(") && is(close, ")") =>
            {
                Some(Self::Address(*var))
            }
            [Piece::Dual(var)] => Some(Self::Gradient(*var)),
            [Piece::Text(nothing), Piece::Dual(var)] if is(nothing, "") => {
                Some(Self::Gradient(*var))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Argument, ArrayArgument, Interpreter};
    use warpsmith_compiler::{Options, compile};

    fn run(source: &str, backward: bool, arguments: &mut [Argument]) {
        let source = format!("import warp as wp\n{source}");
        let module = compile(&source, &Options::default()).expect("the kernel compiles");
        let planned = match backward {
            true => Interpreter::adjoint(&module),
            false => Interpreter::forward(&module),
        };
        let interpreter = planned.expect("the kernel is planned");
        let outcome = interpreter.run(&[2], arguments).expect("it runs");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
    }

    fn with_gradient(values: [f32; 2], gradient: [f32; 2]) -> Argument {
        Argument::Array(ArrayArgument::from_f32(&values).with_gradient_f32(&gradient))
    }

    const GRADIENT: &str = "
@wp.func
def f(table: wp.array(dtype=float), x: float, i: int) -> float:
    return table[i] * x

@wp.func_grad(f)
def adj_f(table: wp.array(dtype=float), x: float, i: int, adj_ret: float):
    wp.adjoint[table][i] += 3.0 * adj_ret
    wp.adjoint[x] += 5.0 * adj_ret * x

@wp.kernel
def k(table: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = f(table, x[i], i)
";

    #[test]
    fn an_adjoint_of_the_authors_own_takes_the_place_of_ours() {
        let given = || {
            [
                with_gradient([7.0, 8.0], [0.0, 0.0]),
                with_gradient([1.0, 2.0], [0.0, 100.0]),
                with_gradient([0.0, 0.0], [1.0, 10.0]),
            ]
        };
        let gradients = |arguments: &[Argument]| -> Vec<Vec<f32>> {
            let arrays = arguments.iter().map(|argument| match argument {
                Argument::Array(array) => array.gradient_to_f32(),
                _ => Vec::new(),
            });
            arrays.collect()
        };
        let mut arguments = given();
        run(GRADIENT, true, &mut arguments);
        assert_eq!(
            gradients(&arguments)[..2],
            [vec![3.0, 30.0], vec![5.0, 200.0]]
        );
        let mut arguments = given();
        run(GRADIENT, false, &mut arguments);
        assert_eq!(arguments[2], with_gradient([7.0, 16.0], [1.0, 10.0]));
    }

    #[test]
    fn a_reference_changes_what_it_points_at() {
        let source = "
@wp.func
def bump(n: wp.ref[wp.float32], x: wp.ref[wp.float32]):
    n += wp.float32(1.0)
    x = x * n

@wp.kernel(enable_backward=False)
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    n = float(2.0)
    bump(n, x[i])
    bump(n, x[i])
";
        let array = |values: [f32; 2]| Argument::Array(ArrayArgument::from_f32(&values));
        let mut arguments = [array([1.0, 10.0])];
        run(source, false, &mut arguments);
        assert_eq!(arguments[0], array([12.0, 120.0]));
    }

    #[test]
    fn a_stack_gives_back_the_last_value_first() {
        let source = "
@wp.kernel
def k(y: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.tile_stack(capacity=2, dtype=float)
    wp.tile_stack_push(s, float(i), True)
    wp.tile_stack_push(s, 5.0, True)
    refused = wp.tile_stack_push(s, 6.0, True)
    a, first = wp.tile_stack_pop(s)
    b, second = wp.tile_stack_pop(s)
    c, third = wp.tile_stack_pop(s)
    y[i] = a * 100.0 + b * 10.0 + c + float(refused + first + second + third) * 1000.0
";
        let array = |values: [f32; 2]| Argument::Array(ArrayArgument::from_f32(&values));
        let mut arguments = [array([0.0, 0.0])];
        run(source, false, &mut arguments);
        // Slots: none, 1, 0, none.
        assert_eq!(arguments[0], array([-500.0, -490.0]));
    }
}
