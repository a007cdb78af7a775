//! What the counters of Nsight Compute say about a kernel: which roof, what it waits for, what is wasted.
//!
//! Names and thresholds are those of Nsight Compute's own rules (2025.3) for GA100, GH100 and GB100.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpsmith_measure::profile::ncu::Metric;

/// The counters that ncu is told to read.
pub const COUNTERS: &[&str] = &[
    "gpu__time_duration.sum",
    "launch__waves_per_multiprocessor",
    "launch__grid_size",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_blocks",
    "launch__registers_per_thread",
    "smsp__issue_active.avg.per_cycle_active",
    "smsp__average_warp_latency_per_inst_issued.ratio",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__inst_executed_op_local_ld.sum",
];

/// Why warps wait, in words, and what to try first.
const STALLS: &[(&str, &str, &str)] = &[
    (
        "long_scoreboard",
        "global memory",
        "more loads in flight: unroll, wider loads, asynchronous copies",
    ),
    (
        "short_scoreboard",
        "shared memory or special functions",
        "fewer bank conflicts, fewer transcendental functions",
    ),
    (
        "barrier",
        "`__syncthreads`",
        "smaller blocks, or less difference between warps before it",
    ),
    (
        "math_pipe_throttle",
        "an arithmetic unit",
        "this is the roof if that unit is meant to be busy",
    ),
    (
        "mio_throttle",
        "the queue of shared memory",
        "wider accesses to shared memory",
    ),
    (
        "lg_throttle",
        "the queue of global memory",
        "wider accesses, and no spilled registers",
    ),
    (
        "wait",
        "the fixed latency of instructions",
        "more independent instructions per thread",
    ),
];

/// The counters of one launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Values in base units, by name.
    pub values: BTreeMap<String, f64>,
}

impl Counters {
    /// The counters of each launch, in the order of launching.
    pub fn of_launches(metrics: &[Metric]) -> Vec<Self> {
        let mut launches: Vec<(&str, Self)> = Vec::new();
        for metric in metrics {
            if launches
                .last()
                .is_none_or(|(last, _)| *last != metric.launch)
            {
                launches.push((&metric.launch, Self::default()));
            }
            if let (Some((_, counters)), Some(value)) = (launches.last_mut(), metric.value) {
                counters.values.insert(metric.name.clone(), value);
            }
        }
        launches.into_iter().map(|(_, counters)| counters).collect()
    }

    /// The counters of the last launch of a kernel; `None` where it was not counted.
    pub fn of(metrics: &[Metric], is_kernel: impl Fn(&str) -> bool) -> Option<Self> {
        let own = || metrics.iter().filter(|metric| is_kernel(&metric.kernel));
        let launch = &own().next_back()?.launch;
        let pairs = own()
            .filter(|metric| metric.launch == *launch)
            .filter_map(|metric| Some((metric.name.clone(), metric.value?)));
        Some(Self {
            values: pairs.collect(),
        })
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    fn percent(&self, unit: &str) -> Option<f64> {
        self.get(&format!(
            "{unit}__throughput.avg.pct_of_peak_sustained_elapsed"
        ))
    }

    fn share(&self, part: &str, whole: &str) -> Option<f64> {
        let whole = self.get(whole).filter(|whole| *whole > 0.0)?;
        Some(self.get(part)? / whole)
    }

    /// What follows, with what it could gain in percent of the time, most first. `bytes` is what the
    /// case says that one launch must move.
    pub fn sentences(&self, bytes: u64) -> Vec<(f64, String)> {
        let mut said: Vec<(f64, String)> = Vec::new();
        self.waves(&mut said);
        self.roof(&mut said);
        self.wasted_bytes(&mut said, bytes);
        self.conflicts(&mut said);
        self.stalls(&mut said);
        self.lanes(&mut said);
        said.sort_by(|a, b| b.0.total_cmp(&a.0));
        said
    }

    fn waves(&self, said: &mut Vec<(f64, String)>) {
        let Some(waves) = self.get("launch__waves_per_multiprocessor") else {
            return;
        };
        if waves < 1.0 {
            let idle = 100.0 * (1.0 - waves);
            let grid = self.get("launch__grid_size").unwrap_or(0.0);
            said.push((
                idle,
                format!("the grid of {grid:.0} blocks is {waves:.2} of a full wave: {idle:.0} % of the GPU is idle; use more, smaller blocks"),
            ));
            return;
        }
        let part = waves.fract();
        let loss = 100.0 / (waves.floor() + 1.0);
        if part > 0.01 && loss > 20.0 {
            said.push((
                loss * (1.0 - part),
                format!(
                    "{waves:.2} waves: the last {:.0} % of a wave takes as long as a full one; a grid of a whole number of waves, or a loop over a fixed grid, removes the tail",
                    100.0 * part
                ),
            ));
        }
    }

    fn roof(&self, said: &mut Vec<(f64, String)>) {
        let roofs = [
            ("dram", "DRAM"),
            ("lts", "the L2 cache"),
            ("l1tex", "the L1 cache and shared memory"),
            ("sm", "the arithmetic units"),
        ];
        let mut roofs: Vec<(f64, &str)> = roofs
            .iter()
            .filter_map(|(unit, name)| Some((self.percent(unit)?, *name)))
            .collect();
        roofs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some((most, name)) = roofs.first().copied() else {
            return;
        };
        if most >= 80.0 {
            let remedy = match name {
                "DRAM" => "only fewer bytes help",
                "the arithmetic units" => "only fewer or cheaper operations help",
                _ => "fewer or wider accesses help",
            };
            said.push((
                100.0 - most,
                format!("{most:.0} % of the roof of {name}: {remedy}"),
            ));
        } else if most < 60.0 {
            let issue = self.get("smsp__issue_active.avg.per_cycle_active");
            let ready = issue.map_or(String::new(), |issue| {
                format!(
                    ", an instruction is issued in {:.0} % of cycles",
                    100.0 * issue
                )
            });
            said.push((
                60.0 - most,
                format!("no roof is near (highest: {name}, {most:.0} %){ready}: the kernel waits"),
            ));
        }
    }

    fn wasted_bytes(&self, said: &mut Vec<(f64, String)>, bytes: u64) {
        for (operation, word) in [("ld", "loads"), ("st", "stores")] {
            let name =
                format!("smsp__sass_average_data_bytes_per_sector_mem_global_op_{operation}.ratio");
            if let Some(used) = self.get(&name).filter(|used| *used > 0.0 && *used < 24.0) {
                said.push((
                    100.0 * (1.0 - used / 32.0),
                    format!("global {word} use {used:.0} of the 32 bytes of each sector: neighbouring threads should touch neighbouring elements"),
                ));
            }
        }
        if let Some(moved) = self.get("dram__bytes.sum")
            && bytes > 0
            && moved > 1.5 * bytes as f64
        {
            let times = moved / bytes as f64;
            let hits = self.get("lts__t_sector_hit_rate.pct");
            let hits = hits.map_or(String::new(), |hits| format!(", L2 hit rate {hits:.0} %"));
            said.push((
                100.0 * (1.0 - 1.0 / times),
                format!("DRAM moves {times:.1} times what the case needs{hits}: keep what is used again in registers, shared memory or L2"),
            ));
        }
    }

    fn conflicts(&self, said: &mut Vec<(f64, String)>) {
        for (operation, word) in [("ld", "loads"), ("st", "stores")] {
            let conflicts =
                format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{operation}.sum");
            let all = format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{operation}.sum");
            if let Some(share) = self.share(&conflicts, &all).filter(|share| *share > 0.1) {
                said.push((
                    // They count as far as shared memory is what the kernel waits for.
                    100.0 * share * self.percent("l1tex").unwrap_or(50.0) / 100.0,
                    format!("{:.0} % of the passes of shared {word} are bank conflicts: pad rows by one word, or swizzle", 100.0 * share),
                ));
            }
        }
    }

    fn stalls(&self, said: &mut Vec<(f64, String)>) {
        // Enough warps are ready: what the others wait for does not matter.
        if self
            .get("smsp__issue_active.avg.per_cycle_active")
            .is_none_or(|issue| issue >= 0.8)
        {
            return;
        }
        let latency = "smsp__average_warp_latency_per_inst_issued.ratio";
        for (reason, place, remedy) in STALLS {
            let name = format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio");
            if let Some(share) = self.share(&name, latency).filter(|share| *share > 0.3) {
                let percent = 100.0 * share;
                said.push((
                    percent * 0.5,
                    format!(
                        "{percent:.0} % of the time of a warp is waiting for {place}: {remedy}"
                    ),
                ));
            }
        }
        let theoretical = self.get("sm__maximum_warps_per_active_cycle_pct");
        let achieved = self.get("sm__warps_active.avg.pct_of_peak_sustained_active");
        if let (Some(theoretical), Some(achieved)) = (theoretical, achieved)
            && theoretical - achieved > 10.0
        {
            said.push((
                theoretical - achieved,
                format!("{achieved:.0} % of warps are active, {theoretical:.0} % could be: blocks end at different times"),
            ));
        }
    }

    fn lanes(&self, said: &mut Vec<(f64, String)>) {
        let lanes = self.get("smsp__thread_inst_executed_per_inst_executed.ratio");
        if let Some(lanes) = lanes.filter(|lanes| *lanes < 24.0) {
            said.push((
                100.0 * (1.0 - lanes / 32.0) * 0.5,
                format!("{lanes:.0} of 32 lanes work on average: threads of a warp take different branches"),
            ));
        }
        if let Some(spills) = self
            .get("smsp__inst_executed_op_local_ld.sum")
            .filter(|spills| *spills > 0.0)
        {
            said.push((
                5.0,
                format!("{spills:.0} loads of local memory: spilled registers or local arrays"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_measure::profile::ncu;

    use super::*;

    /// A launch of a row-wise sum that reads with a stride, as `ncu --csv --page=details` prints it, after
    /// one of ours.
    const CSV: &str = r#"==PROF== Connected to process 42
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","42","warpsmith","127.0.0.1","warpsmith_dirt","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","ns","9000"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","ns","412000"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","launch__waves_per_multiprocessor","","0.02"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","launch__grid_size","","16"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio","byte/sector","4"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","7.5"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","2.1"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","smsp__issue_active.avg.per_cycle_active","inst/cycle","0.03"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","smsp__average_warp_latency_per_inst_issued.ratio","cycle","60"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","inst","54"
"1","42","warpsmith","127.0.0.1","naive(float *, const float *, int, int)","1","7","(256, 1, 1)","(16, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes.sum","byte","201326592"
"#;

    #[test]
    fn each_launch_has_its_own_counters() {
        let launches = Counters::of_launches(&ncu::read(CSV).unwrap());
        let durations = launches.iter().map(|one| one.get("gpu__time_duration.sum"));
        assert_eq!(
            durations.collect::<Vec<_>>(),
            [Some(9000.0), Some(412_000.0)]
        );
    }

    #[test]
    fn sentences_come_in_the_order_of_gain_and_ours_is_not_among_them() {
        let metrics = ncu::read(CSV).unwrap();
        let counters = Counters::of(&metrics, |name| name.starts_with("naive")).unwrap();
        assert_eq!(counters.values["gpu__time_duration.sum"], 412_000.0);
        let said = counters.sentences(64 << 20);
        let words: Vec<&str> = said.iter().map(|(_, words)| words.as_str()).collect();
        assert!(words[0].contains("the grid of 16 blocks"), "{words:?}");
        assert!(words[1].contains("4 of the 32 bytes"), "{words:?}");
        assert!(words[2].contains("DRAM moves 3.0 times"), "{words:?}");
        assert!(
            words
                .iter()
                .any(|one| one.contains("waiting for global memory"))
        );
        assert!(said.is_sorted_by(|a, b| a.0 >= b.0));
        assert_eq!(Counters::of(&metrics, |name| name == "other"), None);
    }
}
