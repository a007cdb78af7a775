//! Collectors: each reads one part of a machine and concludes nothing.

mod containers;
mod devices;
mod driver;
mod elf_scan;
mod ld_cache;
mod loader;
mod python;
mod search_path;
mod smi_xml;
mod system;
mod toolkits;

pub(crate) use ld_cache::parse_ld_cache;
pub(crate) use python::normalise;
pub(crate) use smi_xml::parse_smi_xml;

use super::facts::MachineFacts;
use crate::host::Host;

/// Reads everything that the rules of `check` need.
pub fn collect_machine(host: &dyn Host) -> MachineFacts {
    // The Python part reads the most files; it runs beside the rest.
    let (rest, environments) = rayon::join(
        || {
            let system = system::collect(host);
            let mut driver = driver::collect(host);
            let pci = devices::pci(host);
            let (gpus, health) = devices::gpus(host, &mut driver);
            let toolkits = toolkits::collect(host);
            MachineFacts {
                session: host.session().clone(),
                system,
                pci,
                other_gpus: devices::other_gpus(host),
                gpus,
                health,
                device_nodes: devices::nodes(host),
                compilers: toolkits::compilers(host, &toolkits),
                loader: loader::collect(host),
                profilers: toolkits::profilers(host, &toolkits),
                containers: containers::collect(host),
                environments: Vec::new(),
                driver,
                toolkits,
            }
        },
        || python::collect(host),
    );
    let mut facts = MachineFacts {
        environments,
        ..rest
    };
    loader::add_environment_libraries(host, &mut facts);
    facts
}
