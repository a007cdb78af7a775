//! Closed sets whose members are written and read by their names.

/// `Display` by a type's `name`.
macro_rules! display_by_name {
    ($set:ty) => {
        impl std::fmt::Display for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// `FromStr` by the names of `ALL`; the error is `$unknown` with the text.
macro_rules! parse_by_name {
    ($set:ty, $unknown:ident) => {
        impl std::str::FromStr for $set {
            type Err = $unknown;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|member| member.name() == text)
                    .ok_or_else(|| $unknown(text.to_owned()))
            }
        }
    };
}

pub(crate) use {display_by_name, parse_by_name};
