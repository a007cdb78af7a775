//! `kernel!("voice/yin", yin(in f32, in u64, out f32, u32))`: a kernel's image in one declaration, with
//! its PTX embedded from `kernels/voice/yin.ptx`.
//!
//! PTX is repetitive and there is much of it: as text it would be a tenth of the program, so that it
//! is embedded compressed. The files stay text in the repository, where changes can be read.

use std::path::Path;

use miniz_oxide::deflate::compress_to_vec_zlib;
use proc_macro::{Delimiter, Literal, TokenStream, TokenTree};

/// How hard to compress: the best, since a file is compressed once and only when it changes.
const LEVEL: u8 = 10;

/// A `KernelImage` of a function in the PTX of `owner/stem`.
///
/// Parameters are `in T` and `out T` for buffers and `T` for values; a list that several kernels share
/// stands as `entry: LIST`. Several kernels of one file share its PTX, a constant by [`macro@ptx`] that
/// stands before the entry: `kernel!("voice/pyin_path", PTX, pyin_back(in u64, out u32))`.
///
/// What it expands to is unsafe: the promise of `KernelImage::trusted`.
#[proc_macro]
pub fn kernel(declaration: TokenStream) -> TokenStream {
    expand(declare(declaration))
}

/// The PTX of `owner/stem`, zlib-compressed.
#[proc_macro]
pub fn ptx(module: TokenStream) -> TokenStream {
    let module = module.into_iter().next();
    expand(module_name(module.as_ref()).and_then(|name| embedded(&name)))
}

fn expand(code: Result<String, String>) -> TokenStream {
    let code = code.unwrap_or_else(|error| format!("compile_error!({error:?})"));
    code.parse().unwrap_or_default()
}

fn declare(declaration: TokenStream) -> Result<String, String> {
    const SHAPE: &str = "a kernel is declared as `\"owner/stem\", entry(in f32, out f32, u32)`";
    let tokens: Vec<TokenTree> = declaration.into_iter().collect();
    let module = module_name(tokens.first())?;
    let (bytes, rest) = match &tokens[1..] {
        [comma, TokenTree::Ident(ptx), second, rest @ ..] if is(comma, ',') && is(second, ',') => {
            (ptx.to_string(), rest)
        }
        [comma, rest @ ..] if is(comma, ',') => (embedded(&module)?, rest),
        _ => return Err(SHAPE.to_owned()),
    };
    let (entry, parameters) = match rest {
        [TokenTree::Ident(entry), TokenTree::Group(list)]
            if list.delimiter() == Delimiter::Parenthesis =>
        {
            (entry, format!("&[{}]", parameters(list.stream())?))
        }
        [TokenTree::Ident(entry), colon, list @ ..] if is(colon, ':') => {
            (entry, list.iter().map(ToString::to_string).collect())
        }
        _ => return Err(SHAPE.to_owned()),
    };
    Ok(format!(
        "::warpsmith_core::KernelImage::trusted({module:?}, \"{entry}\", {parameters}, {bytes})"
    ))
}

/// `in f32, u32` as an array's elements.
fn parameters(list: TokenStream) -> Result<String, String> {
    let mut code = String::new();
    let mut words = Vec::new();
    for token in list.into_iter().map(Some).chain([None]) {
        match token {
            Some(TokenTree::Ident(word)) => words.push(word.to_string()),
            Some(comma) if !is(&comma, ',') => {
                return Err(format!("`{comma}` is no part of a parameter"));
            }
            _ if words.is_empty() => {}
            _ => {
                code.push_str(&parameter(&words)?);
                words.clear();
            }
        }
    }
    Ok(code)
}

fn parameter(words: &[String]) -> Result<String, String> {
    let (kind, element) = match words {
        [direction, element] if direction == "in" => ("In", element),
        [direction, element] if direction == "out" => ("Out", element),
        [element] => ("Value", element),
        _ => {
            let words = words.join(" ");
            return Err(format!("`{words}` is none of `in T`, `out T` and `T`"));
        }
    };
    let element = element.to_uppercase();
    Ok(format!(
        "::warpsmith_core::Parameter::{kind}(::warpsmith_core::Element::{element}), "
    ))
}

fn is(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn module_name(token: Option<&TokenTree>) -> Result<String, String> {
    let text = token.map(ToString::to_string).unwrap_or_default();
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .map(str::to_owned)
        .ok_or_else(|| "a kernel's module is a string, `\"owner/stem\"`".to_owned())
}

/// The PTX as code that gives its bytes.
fn embedded(module: &str) -> Result<String, String> {
    let file = format!("kernels/{module}.ptx");
    let crate_root = std::env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
    // Every crate with kernels lies in `crates/`.
    let path = Path::new(&crate_root).join("../..").join(&file);
    let bytes = std::fs::read(&path)
        .map_err(|error| format!("cannot read `{file}`: {error}; run `cargo xtask kernels`"))?;
    let compressed = Literal::byte_string(&compress_to_vec_zlib(&bytes, LEVEL));
    // The compiler does not see that a macro reads a file; that it is included says when to look again.
    Ok(format!(
        "{{ const _: &[u8] = ::core::include_bytes!({path:?}); {compressed} }}"
    ))
}
