//! Whether threads of a kernel can meet at a place that one of them writes.
//!
//! Proven from the representation, not sampled: every plain store is at exactly the thread's own
//! coordinates, and whoever stores into an array reads it there alone. Atomic updates may be anywhere
//! as long as the array is not also read or stored plainly elsewhere. A kernel whose safety needs more
//! of an argument is not accepted.

use std::collections::BTreeMap;

use warpsmith_compiler::builtin;
use warpsmith_compiler::ir::{Call, Callee, Function, Module, Op, VarId};

/// How an array is used.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    stored: bool,
    updated: bool,
    read_elsewhere: bool,
    stored_elsewhere: bool,
    /// Updated at coordinates other than the thread's own.
    updated_elsewhere: bool,
    read: bool,
}

/// `Ok` where no two threads can race; else which array, and why.
pub fn race_free(module: &Module) -> Result<(), String> {
    let kernel = &module.kernel;
    let coordinates = thread_coordinates(kernel);
    let mut uses: BTreeMap<usize, Uses> = BTreeMap::new();
    for op in &kernel.ops {
        match op {
            Op::Call(call) => read_call(kernel, call, &coordinates, &mut uses),
            Op::SlotStore { slot, .. } => {
                let slot = &kernel.slots[*slot as usize];
                let own = slot.indices == coordinates;
                let entry = uses.entry(slot.array.index()).or_default();
                entry.stored = true;
                entry.stored_elsewhere |= !own;
            }
            Op::SlotAtomic { slot, .. } => {
                let slot = &kernel.slots[*slot as usize];
                let own = slot.indices == coordinates;
                let entry = uses.entry(slot.array.index()).or_default();
                entry.updated = true;
                entry.updated_elsewhere |= !own;
            }
            _ => {}
        }
    }
    for (array, uses) in uses {
        let name = kernel.vars[array]
            .name
            .map_or("an array", |name| module.names.get(name));
        let reason = if uses.stored_elsewhere {
            "a store is not at the thread's own coordinates"
        } else if uses.stored && uses.read_elsewhere {
            "other threads' elements are read and stored"
        } else if uses.updated_elsewhere && (uses.stored || uses.read) {
            "elements are updated atomically and accessed plainly"
        } else {
            continue;
        };
        return Err(format!("`{name}`: {reason}"));
    }
    Ok(())
}

/// The variables that hold the thread's coordinates.
fn thread_coordinates(kernel: &Function) -> Vec<VarId> {
    kernel
        .ops
        .iter()
        .find_map(|op| match op {
            Op::Call(call) if name_of(call) == "tid" => {
                Some(call.operands.outs(&kernel.pool).to_vec())
            }
            _ => None,
        })
        .unwrap_or_default()
}

fn name_of(call: &Call) -> &'static str {
    match call.callee {
        Callee::Builtin(index, _) => builtin(usize::from(index)).map_or("", |known| known.name),
        _ => "",
    }
}

fn read_call(
    kernel: &Function,
    call: &Call,
    coordinates: &[VarId],
    uses: &mut BTreeMap<usize, Uses>,
) {
    let args = call.operands.args(&kernel.pool);
    let Some(array) = args.first() else {
        return;
    };
    let name = name_of(call);
    // Values follow the indices: one for a store or an update, two for compare-and-swap.
    let values = match name {
        "address" | "index" => 0,
        "atomic_cas" => 2,
        "array_store" => 1,
        _ if name.starts_with("atomic_") => 1,
        _ => return,
    };
    let indices = &args[1..args.len().saturating_sub(values).max(1)];
    let own = indices == coordinates;
    let entry = uses.entry(array.index()).or_default();
    match name {
        "address" | "index" => {
            entry.read = true;
            entry.read_elsewhere |= !own;
        }
        "array_store" => {
            entry.stored = true;
            entry.stored_elsewhere |= !own;
        }
        _ => {
            entry.updated = true;
            entry.updated_elsewhere |= !own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str) -> Result<(), String> {
        let source = format!(
            "import warp as wp\n\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=float)):\n    i = wp.tid()\n{body}"
        );
        race_free(&warpsmith_compiler::compile(&source, &Default::default()).unwrap())
    }

    #[test]
    fn own_elements_and_atomic_sums_are_safe() {
        assert_eq!(check("    b[i] = a[i] + a[i + 1]\n"), Ok(()));
        assert_eq!(check("    b[i] = b[i] * 2.0\n"), Ok(()));
        assert_eq!(check("    wp.atomic_add(b, 0, a[i])\n"), Ok(()));
    }

    #[test]
    fn what_threads_share_is_not() {
        assert!(check("    b[0] = a[i]\n").is_err());
        assert!(check("    b[i] = b[i + 1]\n").is_err());
        assert!(check("    wp.atomic_add(b, 0, a[i])\n    a[i] = b[i]\n").is_err());
    }
}
