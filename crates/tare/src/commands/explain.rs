//! `tare explain`: errors at length, by the code at their end.

use crate::cli::ExplainArguments;
use crate::error_pages::{ERROR_PAGES, ErrorPage};
use crate::exit::CommandExit;
use crate::output;

/// Prints the page of a code, or the list of all.
pub(crate) fn run(arguments: &ExplainArguments) -> anyhow::Result<CommandExit> {
    let mut pages = ERROR_PAGES;
    pages.sort_by_key(|page| page.code);
    let text: String = match &arguments.code {
        Some(asked) => {
            let page = pages.iter().find(|page| page.code.eq_ignore_ascii_case(asked));
            page.map(ErrorPage::text).unwrap_or_default()
        }
        None => pages.iter().map(|page| format!("{}  {}\n", page.code, page.title())).collect(),
    };
    output::print(text.trim_end())?;
    Ok(CommandExit::Done)
}
