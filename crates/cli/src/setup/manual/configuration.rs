//! The page about the configuration files.

use std::fmt::Write;

use warpsmith_config::{KEYS, Owner};

use super::page::{Page, cell};

const BEFORE: &str = r#"# Configuration

Two files set defaults, both optional:

| file | for |
|---|---|
| `.warpsmith.toml` in the root of a project | everybody who works on the project; commit it |
| `~/.config/warpsmith/config.toml` (`$XDG_CONFIG_HOME/warpsmith/config.toml`) | you, in every project |

A key is the default of an option. The command line wins over the environment, the environment over the project's file, that over yours. `warpsmith config show` prints every key with its value and where it comes from:

```console yours
$ warpsmith config show
```

A project's file is found from the folder you are in up to the root of its git tree. Outside of one, only the folder itself counts.

```toml
# .warpsmith.toml
device = "cuda:0"

[measure]
budget = "30s"     # bench, run, compare, history, scale
margin = 2         # percent

[audit]
exclude = ["third_party/"]

[audit.allow]
DKR001 = "the base image is pinned by the registry"
```

A key that does not exist, broken TOML, or an unknown code is an error with its line:

```text
error: .warpsmith.toml:2:1: there is no key `measure.bugdet`; did you mean `measure.budget`?
2 | bugdet = "30s"
  | ^^^^^^
```

## Keys

"#;

const AFTER: &str = r#"
A path in quotes may begin with `~/`. A relative one begins at the folder of the file that names it.

## `[audit]`

Only in a project's file.

| key | value | meaning |
|---|---|---|
| `audit.allow` | a table: `CODE = "reason"` | findings that are accepted; the reason is required |
| `audit.exclude` | a list of patterns, as in `.gitignore` | paths that are not judged; `!PATTERN` names paths that are, although their folder is called `fixtures`, `examples` or `third_party` |
| `audit.pins` | a table: `"owner/action" = "commit"` | commits that `audit --fix` pins actions to |
"#;

pub(super) fn page() -> Page {
    let mut text = BEFORE.to_owned();
    text.push_str("| key | option | variable | value | default | file | meaning |\n|---|---|---|---|---|---|---|\n");
    for key in KEYS {
        let option = match (key.option, key.verb) {
            (Some(option), Some(verb)) => format!("`{verb} --{option}`"),
            (Some(option), None) => format!("`--{option}`"),
            (None, _) => String::new(),
        };
        let variable = key.variable.map(|name| format!("`{name}`"));
        let file = match key.only {
            Some(Owner::User) => "yours",
            Some(Owner::Project) => "project",
            None => "both",
        };
        let _ = writeln!(
            text,
            "| `{}` | {option} | {} | {} | {} | {file} | {} |",
            key.name,
            variable.unwrap_or_default(),
            cell(&key.kind.words()),
            cell(key.default),
            cell(key.help),
        );
    }
    text.push_str(AFTER);
    Page::generated("reference/configuration.md", &text)
}
