//! What the PATH leads to.

use crate::host::Host;

/// Prefixes of the `bin` folders on PATH that hold `program`, in their order.
pub(super) fn prefixes_with(host: &dyn Host, program: &str) -> impl Iterator<Item = String> {
    let path = host.session().env.get("PATH");
    path.map(String::as_str)
        .unwrap_or_default()
        .split(':')
        .filter_map(|directory| directory.trim_end_matches('/').strip_suffix("/bin"))
        .filter(move |prefix| host.exists(&format!("{prefix}/bin/{program}")))
        .map(str::to_owned)
}
