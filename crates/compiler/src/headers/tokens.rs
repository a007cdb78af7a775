//! Words, numbers and signs of C.

/// What constants are written with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Int(i128),
    Float(f64),
    /// A sign of one letter; `«` and `»` are shifts.
    Sign(char),
    /// Something that is neither, or that a condition decides.
    Unknown,
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn is_word(&self, text: &str) -> bool {
        self.word() == Some(text)
    }
}

/// Stands for what a condition decides.
pub(super) const UNKNOWN: char = '\u{1}';

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut length = first.len_utf8();
        if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            length = number_length(rest);
            found.push(number(&rest[..length]));
        } else if is_part(first) {
            length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            found.push(Token::Word(rest[..length].to_owned()));
        } else if first == '"' || first == '\'' {
            length = quoted_length(rest);
            found.push(Token::Unknown);
        } else if rest.starts_with("<<") || rest.starts_with(">>") {
            length = 2;
            found.push(Token::Sign(if first == '<' { '«' } else { '»' }));
        } else if first.is_ascii_punctuation() {
            found.push(Token::Sign(first));
        } else if !first.is_whitespace() {
            found.push(Token::Unknown);
        }
        rest = &rest[length..];
    }
    found
}

/// How long a number is: digits, letters, points and the sign of an exponent.
fn number_length(text: &str) -> usize {
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let is_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E') && !is_hexadecimal;
        if !(letter.is_ascii_alphanumeric() || letter == '.' || letter == '_' || is_sign) {
            return at;
        }
        before = letter;
    }
    text.len()
}

fn number(text: &str) -> Token {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        return i128::from_str_radix(digits, 16).map_or(Token::Unknown, Token::Int);
    }
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain(digits) {
        let is_octal = digits.len() > 1 && digits.starts_with('0');
        let value = i128::from_str_radix(digits, if is_octal { 8 } else { 10 });
        return value.map_or(Token::Unknown, Token::Int);
    }
    // An `f` or `L` behind it makes it another type, whose value may differ.
    let is_float = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    match text.parse::<f64>() {
        Ok(value) if text.chars().all(is_float) && value.is_finite() => Token::Float(value),
        _ => Token::Unknown,
    }
}

/// How long a text or a character is that begins with its mark.
pub(super) fn quoted_length(text: &str) -> usize {
    let mut letters = text.char_indices();
    let Some((_, mark)) = letters.next() else {
        return 0;
    };
    let mut escaped = false;
    for (at, letter) in letters {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            letter if letter == mark => return at + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}
