//! pyproject.toml: build requirements, dependencies, Python range.

use toml::Value;

use super::requirements::{Requirement, parse_requirement};

/// What a pyproject.toml says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pyproject {
    pub(crate) path: String,
    /// Absent where there is no `[build-system]`.
    pub(crate) build_requires: Option<Vec<String>>,
    pub(crate) dependencies: Vec<Requirement>,
    pub(crate) requires_python: Option<(String, u32)>,
    /// Whether a tool's settings build a package without isolation, as `[tool.uv]` can.
    pub(crate) no_isolation: bool,
    /// Why it could not be read.
    pub(crate) fault: Option<(u32, String)>,
}

impl Pyproject {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let line_of = |needle: &str| -> u32 {
            text.find(needle).map_or(1, |at| {
                u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(1)
            })
        };
        let table: toml::Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start.min(text.len()));
                let line = text
                    .get(..at)
                    .map_or(1, |before| before.matches('\n').count() + 1);
                return Self {
                    path: path.to_owned(),
                    fault: Some((u32::try_from(line).unwrap_or(1), error.message().to_owned())),
                    ..Self::default()
                };
            }
        };
        let strings = |value: Option<&Value>| -> Option<Vec<String>> {
            Some(
                value?
                    .as_array()?
                    .iter()
                    .filter_map(|v| v.as_str().map(str::to_owned))
                    .collect(),
            )
        };
        let project = table.get("project");
        let poetry = table.get("tool").and_then(|t| t.get("poetry"));
        let mut dependencies: Vec<Requirement> =
            strings(project.and_then(|p| p.get("dependencies")))
                .unwrap_or_default()
                .iter()
                .filter_map(|line| {
                    let mut requirement = parse_requirement(line)?;
                    requirement.line = line_of(line);
                    Some(requirement)
                })
                .collect();
        if let Some(Value::Table(table)) = poetry.and_then(|p| p.get("dependencies")) {
            for (name, value) in table {
                let version = value
                    .as_str()
                    .or_else(|| value.get("version")?.as_str())
                    .unwrap_or("");
                let version = if version.starts_with(|c: char| c.is_ascii_digit()) {
                    format!("=={version}")
                } else {
                    version.to_owned()
                };
                if let Some(mut requirement) =
                    parse_requirement(&format!("{name}{}", version.replace('*', "")))
                {
                    requirement.line = line_of(&format!("\n{name}")) + 1;
                    dependencies.push(requirement);
                }
            }
        }
        for requirement in &mut dependencies {
            requirement.file = path.to_owned();
        }
        Self {
            path: path.to_owned(),
            build_requires: table
                .get("build-system")
                .map(|b| strings(b.get("requires")).unwrap_or_default()),
            requires_python: project
                .and_then(|p| p.get("requires-python"))
                .and_then(Value::as_str)
                .map(|range| (range.to_owned(), line_of("requires-python"))),
            dependencies,
            no_isolation: table
                .get("tool")
                .and_then(|t| t.get("uv"))
                .is_some_and(|uv| {
                    uv.get("no-build-isolation-package").is_some()
                        || uv.get("no-build-isolation").and_then(Value::as_bool) == Some(true)
                }),
            fault: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requirements_are_read_with_their_lines() {
        let p = Pyproject::parse(
            "pyproject.toml",
            "[build-system]\nrequires = [\"setuptools\", \"torch\"]\n[project]\nrequires-python = \">=3.9\"\ndependencies = [\n  \"torch>=2.0,<2.2\",\n]\n",
        );
        assert_eq!(p.build_requires.unwrap(), ["setuptools", "torch"]);
        assert_eq!(
            (p.dependencies[0].name.as_str(), p.dependencies[0].line),
            ("torch", 6)
        );
        assert!(Pyproject::parse("p", "a = \n").fault.is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(\\[build-system\\]|\\[project\\]|requires = |\\[|\\]|\"|=|\n|[a-z]|\\PC){0,40}") {
            let _ = Pyproject::parse("p", &text);
        }
    }
}
