//! `packed!("cuda/saxpy.ptx")`: a file of the crate that says it, as compressed bytes of the program.
//!
//! PTX is repetitive and there is much of it: as text it would be a tenth of the program. The files
//! stay text in the repository, where changes can be read.

use std::path::Path;

use miniz_oxide::deflate::compress_to_vec_zlib;
use proc_macro::{Literal, TokenStream, TokenTree};

/// How hard to compress: the best, since a file is compressed once and only when it changes.
const LEVEL: u8 = 10;

/// The bytes of a file, zlib-compressed; its path is a string literal relative to the crate.
#[proc_macro]
pub fn packed(path: TokenStream) -> TokenStream {
    match pack(path) {
        Ok(tokens) => tokens,
        Err(error) => format!("compile_error!({error:?})")
            .parse()
            .unwrap_or_default(),
    }
}

fn pack(path: TokenStream) -> Result<TokenStream, String> {
    let token = path.into_iter().next();
    let Some(TokenTree::Literal(literal)) = token else {
        return Err("`packed!` takes a path as a string".to_owned());
    };
    let text = literal.to_string();
    let relative = text.trim_matches('"');
    let root = std::env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
    let path = Path::new(&root).join(relative);
    let bytes =
        std::fs::read(&path).map_err(|error| format!("cannot read `{relative}`: {error}"))?;
    let packed = Literal::byte_string(&compress_to_vec_zlib(&bytes, LEVEL));
    // The compiler does not see that a macro reads a file; that it is included says when to look again.
    format!("{{ const _: &[u8] = ::core::include_bytes!({path:?}); {packed} }}")
        .parse()
        .map_err(|error| format!("`{relative}`: {error}"))
}
