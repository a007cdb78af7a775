//! The namespaces around a place.

use super::Token;

/// Names of the namespaces that the tokens leave open, outermost first, joined by `::`. One without a name is seen
/// from outside.
pub(super) fn namespace_of(before: &[Token<'_>]) -> String {
    let mut open: Vec<Option<String>> = Vec::new();
    for (at, token) in before.iter().enumerate() {
        match token.text {
            "{" => open.push(named(&before[..at])),
            "}" => {
                open.pop();
            }
            _ => {}
        }
    }
    let names: Vec<String> = open.into_iter().flatten().collect();
    names.join("::")
}

/// The name of the namespace whose brace comes next; `None` where it is another brace, or has none.
fn named(before: &[Token<'_>]) -> Option<String> {
    let is_name =
        |text: &str| text == ":" || text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let names = before.iter().rev().take_while(|token| is_name(token.text));
    let mut words: Vec<&str> = names.map(|token| token.text).collect();
    words.reverse();
    let at = words.iter().rposition(|word| *word == "namespace")?;
    // Each colon is a token.
    let name = words[at + 1..].concat();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::lex;
    use super::*;

    #[test]
    fn open_namespaces_are_named() {
        let of = |text: &str| namespace_of(&lex(text));
        assert_eq!(of("namespace a { void f() { } namespace b::c {"), "a::b::c");
        assert_eq!(of("namespace a { } struct s { int x; };"), "");
        assert_eq!(of("namespace a { namespace {"), "a");
        assert_eq!(of("inline namespace v1 { template <int n>"), "v1");
        assert_eq!(of("using namespace std; extern \"C\" {"), "");
        assert_eq!(of("} } namespace x {"), "x");
    }
}
