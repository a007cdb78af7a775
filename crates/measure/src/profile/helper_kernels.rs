//! Kernels of our own that run around a user's: they are no part of any profile.

/// Whether a kernel of this name, with or without its parameters, is one of ours that measures or
/// prepares.
pub fn is_helper(name: &str) -> bool {
    const HELPERS: &[&str] = &["clock_stamp", "hold_stream", "warpsmith_dirt"];
    let plain = name.split('(').next().unwrap_or(name).trim();
    HELPERS.contains(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_known_by_their_names_alone() {
        assert!(is_helper("hold_stream") && is_helper("hold_stream(const unsigned int *, int)"));
        assert!(!is_helper("hold_streams") && !is_helper("softmax(float *)"));
    }
}
