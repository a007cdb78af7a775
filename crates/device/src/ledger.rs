//! Who holds how much memory: live and peak bytes, scopes, and, in debug mode, every allocation
//! site.
//!
//! Invariants: `live` is the sum of all allocations that have not been returned; `peak` is the
//! largest `live` since the last reset; a scope's `peak` is counted from the scope's own start.
//! Site tracking is on in debug builds and where `WARPSMITH_TRACK_ALLOCATIONS` is set; without it
//! an allocation costs two atomic operations here.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Memory accounting of one device.
#[derive(Debug)]
pub struct Ledger {
    live: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    sites: Option<Mutex<BTreeMap<Site, SiteTotals>>>,
}

type Site = (&'static str, u32, u32);

#[derive(Clone, Copy, Debug, Default)]
struct SiteTotals {
    live: u64,
    count: u64,
}

/// Totals at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerStats {
    /// Bytes allocated and not returned.
    pub live: u64,
    /// Largest `live` since the start or the last reset.
    pub peak: u64,
    /// Allocations ever made.
    pub allocations: u64,
}

/// Memory still held that was allocated at one place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationSite {
    /// `file:line:column`.
    pub place: String,
    /// Bytes still held.
    pub live: u64,
    /// Allocations still held.
    pub count: u64,
}

impl Ledger {
    /// An empty ledger; `track_sites` remembers where each allocation was made.
    pub fn new(track_sites: bool) -> Self {
        Self {
            live: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            sites: track_sites.then(Mutex::default),
        }
    }

    /// A ledger that tracks sites in debug builds and where the user asks for it.
    pub(crate) fn for_this_build() -> Self {
        Self::new(
            cfg!(debug_assertions) || std::env::var_os("WARPSMITH_TRACK_ALLOCATIONS").is_some(),
        )
    }

    /// Notes that `bytes` were allocated at `site`.
    pub fn add(&self, bytes: u64, site: &'static Location<'static>) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        self.allocations.fetch_add(1, Ordering::Relaxed);
        if let Some(sites) = &self.sites {
            let mut sites = sites.lock().unwrap_or_else(PoisonError::into_inner);
            let totals = sites.entry(key(site)).or_default();
            totals.live += bytes;
            totals.count += 1;
        }
    }

    /// Notes that `bytes` allocated at `site` were returned.
    pub fn remove(&self, bytes: u64, site: &'static Location<'static>) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(sites) = &self.sites {
            let mut sites = sites.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(totals) = sites.get_mut(&key(site)) {
                totals.live -= bytes;
                totals.count -= 1;
                if totals.count == 0 {
                    sites.remove(&key(site));
                }
            }
        }
    }

    /// Totals now.
    pub fn stats(&self) -> LedgerStats {
        LedgerStats {
            live: self.live.load(Ordering::Relaxed),
            peak: self.peak.load(Ordering::Relaxed),
            allocations: self.allocations.load(Ordering::Relaxed),
        }
    }

    /// Starts the peak again from what is held now.
    pub fn reset_peak(&self) {
        self.peak
            .store(self.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// What is still held, by allocation site, largest first; `None` where sites are not tracked.
    pub fn held(&self) -> Option<Vec<AllocationSite>> {
        let sites = self
            .sites
            .as_ref()?
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut held: Vec<_> = sites
            .iter()
            .map(|((file, line, column), totals)| AllocationSite {
                place: format!("{file}:{line}:{column}"),
                live: totals.live,
                count: totals.count,
            })
            .collect();
        held.sort_by_key(|site| std::cmp::Reverse(site.live));
        Some(held)
    }

    /// Follows memory from here to [`MemoryScope::stop`].
    pub fn scope(self: &Arc<Self>) -> MemoryScope {
        let start = self.stats();
        self.reset_peak();
        MemoryScope {
            ledger: Arc::clone(self),
            start,
        }
    }
}

fn key(site: &'static Location<'static>) -> Site {
    (site.file(), site.line(), site.column())
}

/// A stretch of code whose memory is followed. The device's own peak survives it.
#[derive(Debug)]
pub struct MemoryScope {
    ledger: Arc<Ledger>,
    start: LedgerStats,
}

/// What a scope did to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeStats {
    /// Bytes held at the end that were not held at the start; negative where more was returned.
    pub growth: i64,
    /// Most bytes held above the start at any time in the scope.
    pub peak: u64,
    /// Allocations made in the scope.
    pub allocations: u64,
}

impl MemoryScope {
    /// Ends the scope and says what it did.
    pub fn stop(self) -> ScopeStats {
        let end = self.ledger.stats();
        ScopeStats {
            growth: end.live.cast_signed() - self.start.live.cast_signed(),
            peak: end.peak.saturating_sub(self.start.live),
            allocations: end.allocations - self.start.allocations,
        }
    }
}

impl Drop for MemoryScope {
    fn drop(&mut self) {
        self.ledger
            .peak
            .fetch_max(self.start.peak, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn live_and_peak_follow_the_allocations() {
        let ledger = Ledger::new(false);
        let site = here();
        ledger.add(100, site);
        ledger.add(50, site);
        ledger.remove(100, site);
        assert_eq!(
            ledger.stats(),
            LedgerStats {
                live: 50,
                peak: 150,
                allocations: 2
            }
        );
        ledger.reset_peak();
        assert_eq!(ledger.stats().peak, 50);
        assert_eq!(ledger.held(), None);
    }

    #[test]
    fn a_leak_is_named_by_the_line_that_made_it() {
        let ledger = Ledger::new(true);
        let (kept, returned) = (here(), here());
        ledger.add(4096, kept);
        ledger.add(4096, kept);
        ledger.add(10, returned);
        ledger.remove(10, returned);
        let held = ledger.held().unwrap();
        assert_eq!(held.len(), 1);
        assert_eq!((held[0].live, held[0].count), (8192, 2));
        assert!(held[0].place.contains("ledger.rs:"), "{}", held[0].place);
    }

    #[test]
    fn a_scope_reports_its_own_peak_and_leaves_the_devices_peak_alone() {
        let ledger = Arc::new(Ledger::new(false));
        let site = here();
        ledger.add(1000, site);
        ledger.remove(900, site);
        let scope = ledger.scope();
        ledger.add(60, site);
        ledger.remove(40, site);
        assert_eq!(
            scope.stop(),
            ScopeStats {
                growth: 20,
                peak: 60,
                allocations: 1
            }
        );
        assert_eq!(ledger.stats().peak, 1000);
    }
}
