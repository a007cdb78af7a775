//! The CPU's instruction sets as this crate's parameters, tables and files call them.

use serde::Serializer;
use warpsmith_lanes::InstructionSet;

/// The name in parameters, tables and reports.
pub(crate) fn name(set: InstructionSet) -> &'static str {
    match set {
        // One number at a time: the portable vectors of this crate have one lane.
        InstructionSet::Portable => "scalar",
        InstructionSet::Avx2(_) | InstructionSet::Avx512(_) => set.name(),
    }
}

/// The number in checkpoints.
pub(crate) fn code(set: InstructionSet) -> u64 {
    match set {
        InstructionSet::Portable => 0,
        InstructionSet::Avx2(_) => 1,
        InstructionSet::Avx512(_) => 2,
    }
}

/// The set of a checkpoint's number, or the widest narrower one where this machine lacks it.
pub(crate) fn of_code(code: u64) -> InstructionSet {
    match code {
        0 => InstructionSet::Portable,
        1 => InstructionSet::up_to_avx2(),
        _ => InstructionSet::widest(),
    }
}

/// For `serde`: the name.
pub(crate) fn serialize<S: Serializer>(
    set: &InstructionSet,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_s_number_is_its_set_again() {
        for set in InstructionSet::present() {
            assert_eq!(of_code(code(set)), set);
        }
        assert_eq!(name(InstructionSet::Portable), "scalar");
    }
}
