//! The story behind each finding of a baseline, for `warpsmith explain`.

use warpsmith_core::CodeDoc;

macro_rules! codes {
    ($($code:literal, $title:literal, $explanation:literal, $fix:literal;)*) => {
        &[$(CodeDoc { code: $code, title: $title, explanation: $explanation, fix: $fix }),*]
    };
}

/// Findings of `warpsmith baseline`.
pub const CODES: &[CodeDoc] = codes![
    "B001", "the GPU is idle",
    "The 95th percentile of utilisation (share of time with a kernel running) is below 5 % and no process has a compute context. This is the state that a baseline is taken in.",
    "nothing to do";
    "B002", "the GPU is in use, though no load was expected",
    "Utilisation is above 5 % at the 95th percentile, or a process has a compute context. The culprits are named with user, program, container and memory, the largest first. Utilisation says that some kernel ran, not how much of the GPU it used.",
    "stop the processes, or run with `--expect-load` when the load is what is being measured";
    "B003", "memory in use that no visible process holds",
    "Memory in use, less what the driver reserves and less what the listed processes hold, is above 500 MB in the median. Either the processes live in another pid namespace, or one died without its memory being freed.",
    "list processes with the host's pids; `fuser -v /dev/nvidia*` names holders; a reset frees the rest";
    "B004", "the GPU is at its power limit",
    "The software power cap held the clocks back for more than 1 % of the time, by the driver's nanosecond counter. Under load this is what a power limit is for, and no fault: an H200 under matrix multiplication runs at 1.5 of 1.98 GHz for this reason.",
    "nothing to do; compare only runs under the same limit";
    "B005", "the GPU slowed down for heat",
    "A thermal slowdown counter moved during the baseline. Whatever was measured meanwhile was measured on a slower GPU.",
    "airflow, fans, dust, room temperature; let it cool and measure again";
    "B006", "clocks are set by hand",
    "The clocks event reasons say for most of the time that an application or an administrator set the clocks.",
    "`nvidia-smi -rac` and `-rgc` give the clocks back to the driver; keep them if reproducibility is what they are for";
    "B007", "the PCIe link is below its best",
    "Fewer lanes than GPU and slot can do, or a lower generation while the GPU was busy. A lower generation on an idle GPU is power saving and not reported.",
    "reseat the card; look at risers, bifurcation and the slot in the firmware";
    "B008", "uncorrectable memory errors",
    "The driver has counted uncorrectable ECC errors since it was loaded. Results of the work that met them are wrong, or the work was killed.",
    "reset the GPU; when errors come back, have it replaced";
    "B009", "memory errors were corrected",
    "ECC corrected errors during the baseline. Results are right; a high rate announces worse.",
    "watch the rate";
    "B010", "the row remapper has work to do",
    "A memory row waits for a reset to be replaced (warning), or could not be replaced (error).",
    "`nvidia-smi -r` or a reboot for a pending row; replacement of the GPU for a failed one";
    "B011", "near or at the temperature limit",
    "By the smallest margin to slowdown (T.Limit): 5 degrees or less is hot, none is critical, and so is a thermal slowdown. On GPUs that give no margin, 85 and 95 °C.",
    "airflow, fans, room temperature";
    "B012", "the GPU was lost",
    "A driver call answered that the GPU fell off the bus.",
    "`dmesg` names the Xid; power, risers and the driver are the usual causes; a reboot brings it back";
    "B013", "a driver call hung",
    "A call did not come back within the watchdog's time. The other GPUs were sampled on.",
    "`dmesg` for Xid lines and hung tasks; a reset or reboot of the machine";
    "B014", "samples are missing",
    "Fewer than 80 % of the samples due were taken (below 50 % the baseline is refused). Percentiles of what is left may miss what happened in between.",
    "run again on a quiet host";
    "B015", "the GPU was slowed down by hardware",
    "The hardware slowdown bit was set or the power brake counter moved: a signal from outside of the GPU (power supply, board) cut its clocks.",
    "power supply, cables, the server's power policy";
    "B016", "load was expected and did not come",
    "`--expect-load` was given and the median utilisation is below 5 %.",
    "start the load first, and on this GPU";
    "B017", "processes are not visible",
    "The driver lists no processes here, or their names cannot be looked up, as in a container without the host's pids.",
    "run with the host's pid namespace, or as root";
    "B018", "the power limit was lowered",
    "The limit in force is below the factory's.",
    "`nvidia-smi -pl WATTS` sets it; compare only runs under the same limit";
    "B019", "the load was not steady",
    "Mean power of the first and the last third of the baseline differ by more than 10 %.",
    "start the baseline after the warm-up and end it before the load does";
    "B020", "the driver reported an Xid",
    "The driver reported a critical error (Xid) during the baseline. Some are an application's own fault (13, 31, 43, 45, 68, 69, 137: a bad address, an exception, a killed context) and are a warning; the others (48 uncorrectable memory, 63 and 64 row remapping, 74 NVLink, 79 off the bus, 94 and 95 contained and uncontained errors, 119 the GPU's own controller) concern the GPU, and make the baseline unfit.",
    "`dmesg | grep Xid` has the whole line; NVIDIA's Xid catalogue says what each number asks for";
    "B040", "the host's CPU is busy",
    "The median CPU use of the host is above 25 %. Beside GPUs this disturbs measurements (a warning); on a machine without GPUs it means that the baseline is not one of rest.",
    "stop what runs, or say `--expect-load`";
    "B041", "the host's memory is nearly full",
    "More than 95 % of the host's memory was in use.",
    "free memory: pinned buffers and page cache need it";
    "B042", "the host swaps",
    "Swap is in use. It may be old; when it grows, timings suffer.",
    "free memory";
    "B043", "no GPU was sampled",
    "There is no NVML library, it does not start, or it counts no GPU. The baseline is the host's alone.",
    "install the driver; in a container, give it the GPU (`--gpus all`, `NVIDIA_DRIVER_CAPABILITIES=utility`)";
    "B044", "a GPU does not open",
    "The driver counts a GPU and refuses to open it.",
    "`dmesg` for Xid lines; in a container, its device list";
];

/// Findings of `warpsmith compare` over two baselines.
pub const COMPARISON_CODES: &[CodeDoc] = codes![
    "B060", "a quantity changed between two baselines",
    "The difference of the medians or of the 95th percentiles is larger than its threshold, and its block-bootstrap interval excludes zero.",
    "look at what changed on the machine; take a third baseline when in doubt";
    "B061", "the baselines cannot tell",
    "The interval of a difference reaches beyond the threshold and holds zero: the runs were too short or too restless.",
    "take longer baselines on a quiet machine";
    "B062", "the baselines are of different GPUs",
    "The GPUs have other identities than in the first baseline. Two of the same product still differ by a few percent.",
    "compare baselines of the same GPU";
    "B063", "the conditions differ",
    "Driver, power limit or expectation of load differ between the two baselines, so a difference may come from them.",
    "repeat one of them under the conditions of the other";
];

/// The entry for a code of [`CODES`].
///
/// Codes are literals in this crate: an unknown one is found by the test below, not by a user.
pub(super) fn doc(code: &str) -> CodeDoc {
    CODES
        .iter()
        .copied()
        .find(|doc| doc.code == code)
        .unwrap_or(CodeDoc {
            code: "B000",
            title: "",
            explanation: "",
            fix: "",
        })
}

#[cfg(test)]
mod tests {
    use super::super::gpu_rules::gpu_rules;
    use super::super::host_rules::host_rules;
    use super::*;

    #[test]
    fn every_rule_has_its_story_and_codes_are_unique() {
        let rules = gpu_rules().into_iter().map(|rule| rule.doc.code);
        let used: Vec<_> = rules
            .chain(host_rules().into_iter().map(|rule| rule.doc.code))
            .collect();
        let told: Vec<_> = CODES.iter().map(|doc| doc.code).collect();
        assert_eq!(used, told);
        assert!(told.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
