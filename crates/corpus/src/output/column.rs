//! The columns of a data set, in order, and how a row's field becomes a column's value.

use super::row::Row;

/// How a column's values are reached.
pub(super) enum Column {
    Text(fn(&Row) -> &str, fn(&mut Row) -> &mut String),
    Number(fn(&Row) -> u32, fn(&mut Row) -> &mut u32),
    Wide(fn(&Row) -> u64, fn(&mut Row) -> &mut u64),
    Texts(fn(&Row) -> &[String], fn(&mut Row) -> &mut Vec<String>),
    Numbers(fn(&Row) -> &[u32], fn(&mut Row) -> &mut Vec<u32>),
}

macro_rules! columns {
    ($($name:ident: $kind:ident),* $(,)?) => {
        /// Every column: its name and its values.
        pub(super) const COLUMNS: &[(&str, Column)] = &[
            $((stringify!($name), columns!(@ $kind $name)),)*
        ];
    };
    (@ Text $name:ident) => { Column::Text(|row| &row.$name, |row| &mut row.$name) };
    (@ Number $name:ident) => { Column::Number(|row| row.$name, |row| &mut row.$name) };
    (@ Wide $name:ident) => { Column::Wide(|row| row.$name, |row| &mut row.$name) };
    (@ Texts $name:ident) => { Column::Texts(|row| &row.$name, |row| &mut row.$name) };
    (@ Numbers $name:ident) => { Column::Numbers(|row| &row.$name, |row| &mut row.$name) };
}

columns! {
    id: Text, seed: Wide, index: Wide, attempt: Number, split: Text, category: Text,
    difficulty: Number, featured: Text, kernel_name: Text, python: Text, cuda_forward: Text,
    cuda_backward: Text, cpu_forward: Text, cpu_backward: Text, builtins: Texts, constructs: Texts,
    variables: Number, operations: Number, adjoints: Number, branches: Number, loops: Number,
    nesting: Number, functions: Number, parameters: Number, launch_rank: Number,
    python_tokens: Number, cuda_tokens: Number, hash_exact: Wide, hash_modulo_names: Wide,
    hash_shape: Wide, minhash: Numbers, executed: Text, gradient: Text, compiled: Text, gpu: Text,
    warp: Text, expected: Text, generator_version: Text, compiler_version: Text, warp_version: Text,
}
