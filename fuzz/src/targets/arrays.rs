//! NumPy's array files.

use warpsmith_formats::npy::NpyArray;

use super::Target;

pub(super) const NPY: Target = Target {
    name: "npy",
    run: |data| {
        let _ = NpyArray::parse(data);
    },
    dictionary: &[
        "\u{93}NUMPY",
        "{'descr': ",
        "'<f4'",
        "'>i8'",
        "'fortran_order': ",
        "True",
        "False",
        "'shape': (",
        "18446744073709551615",
        ",)",
        "}",
    ],
};
