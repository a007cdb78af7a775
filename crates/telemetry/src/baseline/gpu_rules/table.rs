//! Every rule under its code.

use warpsmith_core::{Rule, Verdict};

use super::facts::GpuFacts;
use super::{faults, load, speed};

/// The rule that says that nothing was measured.
pub(in crate::baseline) const TOO_FEW_CODE: &str = "B021";
/// The rule whose missing facts leave the verdict open.
pub(in crate::baseline) const LOAD_CODE: &str = "B002";

/// The rules, in the order of their codes.
pub(in crate::baseline) fn gpu_rules<'baseline>() -> Vec<Rule<GpuFacts<'baseline>>> {
    type Check = fn(&GpuFacts<'_>) -> Verdict;
    let checks: [(&'static str, Check); 21] = [
        ("B001", load::idle),
        ("B002", load::unexpected_load),
        ("B003", load::ghost_memory),
        ("B004", speed::power_limited),
        ("B005", speed::thermally_limited),
        ("B006", speed::clocks_locked),
        ("B007", speed::pcie_degraded),
        ("B008", faults::uncorrectable_errors),
        ("B009", faults::corrected_errors),
        ("B010", faults::row_remapper),
        ("B011", speed::temperature),
        ("B012", faults::lost),
        ("B013", faults::stale),
        ("B014", faults::coverage),
        ("B015", speed::power_brake),
        ("B016", load::missing_load),
        ("B017", load::hidden_processes),
        ("B018", speed::lowered_limit),
        ("B019", load::unsteady),
        ("B020", faults::reported_errors),
        ("B021", faults::too_few_samples),
    ];
    checks
        .into_iter()
        .map(|(code, check)| Rule { code, check })
        .collect()
}
