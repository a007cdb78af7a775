//! Which function of the code the case means, and whether it takes the case's arguments.

use warpsmith_device::kernel_parameters;
use warpsmith_measure::kernel_file::{PtxEntry, PtxParameter};

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

/// A symbol as its kernel is written: `_ZN2ns7softmaxIfEvPT_` is `ns::softmax<…>`.
fn written_name(symbol: &str) -> String {
    let Some(mut rest) = symbol.strip_prefix("_Z") else {
        return symbol.to_owned();
    };
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut names = Vec::new();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().unwrap_or(0);
        // A file of machine code may hold any symbol.
        let split = rest[digits..].split_at_checked(length);
        let Some((name, behind)) = split.filter(|_| length > 0) else {
            break;
        };
        names.push(name);
        rest = behind;
    }
    match names.is_empty() {
        true => symbol.to_owned(),
        false => names.join("::") + if rest.starts_with('I') { "<…>" } else { "" },
    }
}

/// Whether a symbol is the kernel of this name: the same, or what a C++ compiler makes of it
/// (`_Z7softmax…`, `_ZN2ns7softmax…`; an instance of a template goes on with `I`).
pub(crate) fn is_entry_of(name: &str, symbol: &str) -> bool {
    if symbol == name {
        return true;
    }
    let plain = name.split('<').next().unwrap_or(name).trim();
    let parts = plain.split("::").filter(|part| !part.is_empty());
    let mangled: String = parts.map(|part| format!("{}{part}", part.len())).collect();
    let Some(at) = symbol.find(&mangled).filter(|_| symbol.starts_with("_Z")) else {
        return false;
    };
    let longer_number = symbol[..at].ends_with(|c: char| c.is_ascii_digit());
    let instance = symbol[at + mangled.len()..].starts_with('I');
    !longer_number && name.contains('<') == instance
}

/// Number and size of the case's arguments against the kernel's parameters.
pub(super) fn check_signature(case: &Case, entry: &PtxEntry) -> Result<(), Fault> {
    let top = Place {
        line: 1,
        key: "arguments".into(),
    };
    if case.arguments.len() != entry.parameters.len() {
        let problem = format!(
            "the case has {} arguments, the kernel `{}` takes {}",
            case.arguments.len(),
            entry.name,
            entry.parameters.len()
        );
        let place = case
            .arguments
            .first()
            .map_or(&top, |argument| &argument.place);
        return Err(case.error(place, problem).into());
    }
    for (argument, parameter) in case.arguments.iter().zip(&entry.parameters) {
        let (bytes, what) = match argument.kind {
            ArgumentKind::Array { .. } => {
                (8, "an array, which is an address of 8 bytes".to_owned())
            }
            _ => (
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
        assert_eq!(written_name("_ZN2ns7softmaxIfEEvPT_"), "ns::softmax<…>");
        assert_eq!(written_name("_Zé"), "_Zé");
        let endless = "_Z18446744073709551615k";
        assert_eq!(written_name(endless), endless);
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
}
