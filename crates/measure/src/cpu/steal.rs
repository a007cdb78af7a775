//! Time that the hypervisor gave to other guests, from `/proc/stat`.

/// Clock ticks of all cores since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTicks {
    total: u64,
    stolen: u64,
}

impl CpuTicks {
    /// Reads the counters; `None` where the system has none.
    pub fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find(|line| line.starts_with("cpu "))?;
        // user nice system idle iowait irq softirq steal (guest times are inside user)
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .map_while(|field| field.parse().ok())
            .collect();
        Some(Self {
            total: ticks.iter().sum(),
            stolen: *ticks.get(7)?,
        })
    }

    /// The stolen share of the time since `earlier`; `None` where no tick has passed.
    pub fn stolen_share_since(&self, earlier: &Self) -> Option<f64> {
        let total = self.total.checked_sub(earlier.total)?;
        let stolen = self.stolen.checked_sub(earlier.stolen)?;
        (total > 0).then(|| stolen as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_between_two_readings() {
        let early = CpuTicks::parse("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 2\n").unwrap();
        let late = CpuTicks::parse("cpu  20 0 20 130 0 0 0 30 0 0\n").unwrap();
        assert_eq!(late.stolen_share_since(&early), Some(0.2));
        assert_eq!(early.stolen_share_since(&early), None);
        assert_eq!(CpuTicks::parse("intr 5"), None);
        assert_eq!(CpuTicks::parse("cpu  1 2 3"), None);
    }
}
