//! Man pages, one to a command.

use anyhow::Result;
use clap::Command;
use clap_mangen::Man;

use super::page::Page;

/// `warpsmith.1`, `warpsmith-bench.1`, `warpsmith-corpus-generate.1`, …
pub(crate) fn man_pages(program: &Command) -> Result<Vec<Page>> {
    let mut command = program.clone().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    render(&command, "warpsmith", &mut pages)?;
    Ok(pages)
}

fn render(command: &Command, name: &str, pages: &mut Vec<Page>) -> Result<()> {
    let mut contents = Vec::new();
    Man::new(command.clone())
        .title(name)
        .source(concat!("warpsmith ", env!("CARGO_PKG_VERSION")))
        .render(&mut contents)?;
    pages.push(Page {
        name: format!("{name}.1"),
        contents,
    });
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        render(below, &format!("{name}-{}", below.get_name()), pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_command_has_a_page_with_its_name_and_usage() {
        let pages = man_pages(&Arguments::command()).unwrap();
        let text = |name: &str| {
            let page = pages.iter().find(|page| page.name == name);
            String::from_utf8(page.expect(name).contents.clone()).unwrap()
        };
        assert!(text("warpsmith.1").contains(".SH SUBCOMMANDS"));
        let generate = text("warpsmith-corpus-generate.1");
        assert!(generate.contains(".TH warpsmith-corpus-generate 1"));
        assert!(generate.contains("shard"));
        assert!(!pages.iter().any(|page| page.name.contains("manual")));
    }
}
