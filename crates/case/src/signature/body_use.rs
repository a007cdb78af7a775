//! What a kernel's body does with an array: from its text, as far as that tells.

use super::tokens::{Token, closing};

/// How an array is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyUse {
    /// An element is read.
    pub reads: bool,
    /// An element is written.
    pub writes: bool,
    /// Its address goes elsewhere: into another pointer, a function or a cast. Nobody sees what happens there.
    pub elsewhere: bool,
}

/// How the body uses an array of this name.
pub(super) fn use_of(body: &[Token<'_>], name: &str) -> BodyUse {
    let text = |at: usize| body.get(at).map_or("", |token| token.text);
    let mut found = BodyUse::default();
    for at in 0..body.len() {
        let member = at > 0
            && (text(at - 1) == "." || (text(at - 1) == ">" && at > 1 && text(at - 2) == "-"));
        if text(at) != name || member {
            continue;
        }
        if text(at + 1) != "[" {
            // `C += row * N` moves the pointer itself.
            let moved = matches!(text(at + 1), "+" | "-") && text(at + 2) == "=";
            let begins = at == 0 || matches!(text(at - 1), ";" | "{" | "}" | ")");
            found.elsewhere |= !(moved && begins);
            continue;
        }
        let Some(end) = closing(body, at + 1) else {
            found.elsewhere = true;
            continue;
        };
        // `&out[i]` is an address; `a & out[i]` is not.
        let address =
            at > 0 && text(at - 1) == "&" && at > 1 && matches!(text(at - 2), "(" | "," | "=");
        let after = (text(end + 1), text(end + 2));
        match after {
            _ if address => found.elsewhere = true,
            ("=", "=") => found.reads = true,
            ("=", _) => found.writes = true,
            ("+" | "-" | "*" | "/" | "|" | "&" | "^" | "%", "=") | ("+", "+") | ("-", "-") => {
                found.reads = true;
                found.writes = true;
            }
            // A member of a vector may be either.
            (".", _) => found.elsewhere = true,
            _ => found.reads = true,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tokens::lex;
    use super::*;

    #[test]
    fn reads_writes_and_what_nobody_sees() {
        let body = lex(
            "C += row * N; out[i] = in[k[i]] + 1; sum[j] += in[i] == 2 ? 1 : 0; \
             if (flag[i] == 1) C[i] = a * C[i]; float4* p = (float4*)view; f(&kept[i]); x.out = 3; open[i",
        );
        let of = |name: &str| {
            let BodyUse {
                reads,
                writes,
                elsewhere,
            } = use_of(&body, name);
            (reads, writes, elsewhere)
        };
        assert_eq!(of("out"), (false, true, false));
        assert_eq!(of("in"), (true, false, false));
        assert_eq!(of("k"), (true, false, false));
        assert_eq!(of("flag"), (true, false, false));
        assert_eq!(of("sum"), (true, true, false));
        assert_eq!(of("C"), (true, true, false));
        assert!(of("view").2 && of("kept").2 && of("open").2);
        assert_eq!(of("none"), (false, false, false));
    }
}
