//! `tare explain`: errors at length, by the code at their end.

use crate::cli::ExplainArguments;
use crate::error_pages::ERROR_PAGES;
use crate::exit::CommandExit;
use crate::output;

/// Prints the page of a code, or the list of all.
pub(crate) fn run(arguments: &ExplainArguments) -> anyhow::Result<CommandExit> {
    let asked =
        |code: &str| arguments.code.as_deref().is_none_or(|asked| code.eq_ignore_ascii_case(asked));
    let mut pages: Vec<_> = ERROR_PAGES.iter().filter(|page| asked(page.code)).collect();
    pages.sort_by_key(|page| page.code);
    let text = match (&arguments.code, &pages[..]) {
        (Some(_), [page]) => page.text(),
        _ => pages.iter().map(|page| format!("{}  {}\n", page.code, page.title())).collect(),
    };
    output::print(text.trim_end())?;
    Ok(CommandExit::Done)
}
