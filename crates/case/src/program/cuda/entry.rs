//! Which function of the code the case means, and whether it takes the case's arguments.

use warpsmith_device::kernel_parameters;
use warpsmith_measure::kernel_file::{
    PtxEntry, PtxParameter, Scalar, is_entry_of, pointees, written_name,
};

use crate::description::{ArgumentKind, Case};
use crate::document::Place;
use crate::program::KernelOf;
use crate::program::fault::Fault;

/// The kernels of machine code; `None` where it is none.
pub(super) fn entries_of_cubin(image: &[u8]) -> Option<Vec<PtxEntry>> {
    let kernels = kernel_parameters(image)?.into_iter();
    Some(
        kernels
            .map(|kernel| PtxEntry {
                name: kernel.name,
                parameters: kernel
                    .parameters
                    .iter()
                    .map(|place| PtxParameter {
                        bytes: place.bytes,
                        // Padding is less than an alignment, so that the one that follows from the offset leads
                        // to the same place.
                        alignment: match place.offset {
                            0 => 1,
                            offset => 1 << offset.trailing_zeros(),
                        },
                    })
                    .collect(),
            })
            .collect(),
    )
}

/// The entry that the case means: by its name, by a C++ name that the compiler has mangled, or the only
/// one.
pub(super) fn find_entry(
    kernel: &KernelOf<'_>,
    mut found: Vec<PtxEntry>,
) -> Result<PtxEntry, Fault> {
    let file = kernel.source.path().display();
    let place = Place {
        line: 1,
        key: "kernel".into(),
    };
    let refuse = |problem: String| Fault::Case(kernel.case.error(&place, problem));
    let names: Vec<String> = found
        .iter()
        .map(|entry| format!("`{}`", written_name(&entry.name)))
        .collect();
    let at = match kernel.kernel {
        None if found.len() == 1 => Some(0),
        None if found.is_empty() => {
            return Err(refuse(format!("`{file}` has no kernel")));
        }
        None => {
            let problem = format!(
                "missing: `{file}` has {} kernels: {}",
                found.len(),
                names.join(", ")
            );
            return Err(refuse(problem));
        }
        Some(name) => found
            .iter()
            .position(|entry| is_entry_of(name, &entry.name)),
    };
    match at {
        Some(at) => Ok(found.swap_remove(at)),
        None => {
            let name = kernel.kernel.unwrap_or_default();
            Err(refuse(match names.is_empty() {
                true => format!(
                    "`{file}` has no kernel `{name}` (hint: an instance of a template is named with its \
                     arguments, `{name}<float>`)"
                ),
                false => format!(
                    "`{file}` has no kernel `{name}`; it has {} (hint: what an `#if` leaves out is not there)",
                    names.join(", ")
                ),
            }))
        }
    }
}

/// Whether an array of `given` can be what a kernel takes as an array of `taken`: numbers of the same size, and not
/// floats of two kinds. Integers are taken as whatever the kernel makes of their bits.
fn fits(given: Scalar, taken: Scalar) -> bool {
    let is_float = |scalar| {
        matches!(
            scalar,
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64
        )
    };
    given.bytes() == taken.bytes() && (given == taken || !is_float(given) || !is_float(taken))
}

/// Number and size of the case's arguments against the kernel's parameters, and what arrays hold where the
/// kernel's symbol says it.
pub(super) fn check_signature(case: &Case, entry: &PtxEntry) -> Result<(), Fault> {
    let top = Place {
        line: 1,
        key: "arguments".into(),
    };
    if case.arguments.len() != entry.parameters.len() {
        let problem = format!(
            "the case has {} arguments, the kernel `{}` takes {}",
            case.arguments.len(),
            written_name(&entry.name),
            entry.parameters.len()
        );
        let place = case
            .arguments
            .first()
            .map_or(&top, |argument| &argument.place);
        return Err(case.error(place, problem).into());
    }
    let mut pointees = pointees(&entry.name).into_iter();
    for (argument, parameter) in case.arguments.iter().zip(&entry.parameters) {
        let is_array = matches!(argument.kind, ArgumentKind::Array { .. });
        if let Some(Some(taken)) = pointees.next()
            && is_array
            && !fits(argument.scalar, taken)
        {
            let problem = format!(
                "`{}` holds {}; the kernel takes a pointer to {} there",
                argument.name,
                argument.scalar.name(),
                taken.name()
            );
            return Err(case.error(&argument.place, problem).into());
        }
        let (bytes, what) = match &argument.kind {
            ArgumentKind::Array { .. } => {
                (8, "an array, which is an address of 8 bytes".to_owned())
            }
            ArgumentKind::Components(values) => (
                values.len() * argument.scalar.bytes(),
                format!(
                    "{} numbers of type {}",
                    values.len(),
                    argument.scalar.name()
                ),
            ),
            ArgumentKind::Real(_) | ArgumentKind::Whole(_) => (
                argument.scalar.bytes(),
                format!(
                    "{} of {} bytes",
                    argument.scalar.name(),
                    argument.scalar.bytes()
                ),
            ),
        };
        if bytes != parameter.bytes {
            let problem = format!(
                "`{}` is {what}; the kernel's parameter there has {} bytes",
                argument.name, parameter.bytes
            );
            return Err(case.error(&argument.place, problem).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use warpsmith_measure::kernel_file::entries;

    use super::*;

    const PTX: &str = ".visible .entry _Z7softmaxPfPKfi(.param .u64 a, .param .u64 b, .param .u32 n)\n{ }\n\
        .visible .entry plain(.param .u64 a)\n{ }\n.visible .entry _Z4tileIfLi32EEvPT_(.param .u64 a)\n{ }";

    fn case(arguments: &str) -> Case {
        let text = format!("source = \"a.cu\"\n{arguments}[launch]\ngrid = 1\nblock = 32\n");
        Case::parse(Path::new("a.toml"), &text).unwrap()
    }

    fn found(name: Option<&str>) -> Result<String, String> {
        let case = case("");
        let kernel = KernelOf {
            kernel: name,
            ..KernelOf::case(&case)
        };
        find_entry(&kernel, entries(PTX))
            .map(|entry| entry.name)
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn kernels_are_found_by_their_written_names() {
        assert_eq!(found(Some("softmax")).unwrap(), "_Z7softmaxPfPKfi");
        assert_eq!(found(Some("plain")).unwrap(), "plain");
        assert_eq!(
            found(Some("tile<float, 32>")).unwrap(),
            "_Z4tileIfLi32EEvPT_"
        );
        assert!(
            found(Some("max"))
                .unwrap_err()
                .contains("a.toml:1: `kernel`")
        );
        let unknown = found(Some("tile")).unwrap_err();
        assert!(
            unknown.contains("`softmax`, `plain`, `tile<…>`"),
            "{unknown}"
        );
        assert!(found(None).unwrap_err().contains("3 kernels"));
    }

    #[test]
    fn a_case_that_contradicts_the_signature_names_the_argument() {
        let entry = entries(PTX).swap_remove(0);
        let few = case("[[arguments]]\nname = \"x\"\ntype = \"i32\"\nvalue = 1\n");
        let error = check_signature(&few, &entry).unwrap_err().to_string();
        assert!(
            error.contains("a.toml:2: `arguments[0]`: the case has 1 arguments"),
            "{error}"
        );
        let one =
            |name: &str| format!("[[arguments]]\nname = \"{name}\"\ntype = \"i64\"\nvalue = 1\n");
        let wrong = case(&(one("a") + &one("b") + &one("n")));
        let error = check_signature(&wrong, &entry).unwrap_err().to_string();
        assert!(
            error.contains(
                ":10: `arguments[2]`: `n` is i64 of 8 bytes; the kernel's parameter there has 4"
            ),
            "{error}"
        );
    }
    #[test]
    fn an_array_of_other_numbers_names_both() {
        let entry = |ptx: &str| entries(ptx).swap_remove(0);
        let case = case(
            "[sizes]\nn = [4]\n[[arguments]]\nname = \"x\"\ntype = \"f32\"\ndirection = \"in\"\nshape = [\"n\"]\n",
        );
        let halves = entry(".visible .entry _Z1kPK13__nv_bfloat16(.param .u64 x)\n{ }");
        let error = check_signature(&case, &halves).unwrap_err().to_string();
        assert!(
            error.contains("`x` holds f32; the kernel takes a pointer to bf16 there"),
            "{error}"
        );
        for symbol in ["_Z1kPKf", "_Z1kPi", "_Z1kPv", "_Z1kP6float4", "k"] {
            let entry = entry(&format!(".visible .entry {symbol}(.param .u64 x)\n{{ }}"));
            check_signature(&case, &entry).unwrap();
        }
    }
}
