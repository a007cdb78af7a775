//! Arrays whose elements are reached through indices or through Fabric's buckets.

/// How an index finds its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Mapping {
    /// Through a list of indices per dimension.
    Indexed,
    /// Through the buckets of Omniverse Fabric.
    Fabric,
    IndexedFabric,
}

impl Mapping {
    /// Every mapping.
    pub const ALL: [Self; 3] = [Self::Indexed, Self::Fabric, Self::IndexedFabric];

    /// The class in Python.
    pub fn class(self) -> &'static str {
        match self {
            Self::Indexed => "indexedarray",
            Self::Fabric => "fabricarray",
            Self::IndexedFabric => "indexedfabricarray",
        }
    }

    /// The C++ template.
    pub fn spelling(self) -> &'static str {
        match self {
            Self::Indexed => "wp::indexedarray_t<",
            Self::Fabric => "wp::fabricarray_t<",
            Self::IndexedFabric => "wp::indexedfabricarray_t<",
        }
    }

    /// How many lists of indices an array of this rank is reached through.
    pub fn index_lists(self, rank: u8) -> usize {
        match self {
            Self::Indexed => usize::from(rank),
            Self::Fabric => 0,
            Self::IndexedFabric => 1,
        }
    }

    /// What signatures have before the rank.
    pub fn code(self) -> &'static str {
        match self {
            Self::Indexed => "ia",
            Self::Fabric => "fa",
            Self::IndexedFabric => "ifa",
        }
    }

    /// The mapping of a class in Python.
    pub fn from_class(class: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|mapping| mapping.class() == class)
    }
}
