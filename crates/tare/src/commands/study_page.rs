//! `tare study-page`: the documentation page of a built-in study, from the stored document of a run of it. The pages are
//! stored in `docs/studies/`, those of questions with their figures in `docs/answers/`, pictures of other runs in
//! `docs/runs/`.

use crate::cli::{PagePicture, StudyPageArguments};
use crate::exit::{CommandExit, usage_error};
use anyhow::Context as _;
use tare_record::Document;

/// Prints the page.
pub(crate) fn run(arguments: &StudyPageArguments) -> anyhow::Result<CommandExit> {
    let path = arguments.result.display();
    let text = std::fs::read_to_string(&arguments.result)
        .with_context(|| format!("cannot read {path}"))
        .map_err(usage_error)?;
    let document: Document = serde_json::from_str(&text)
        .with_context(|| format!("{path} is no result of a run"))
        .map_err(usage_error)?;
    if let Some(picture) = arguments.picture {
        let picture = match picture {
            PagePicture::Figure => tare_report::answer_figure(&document)
                .ok_or_else(|| usage_error(anyhow::anyhow!("{path} has no figure to draw")))?,
            PagePicture::Terminal => tare_report::terminal_picture(&document),
        };
        crate::output::print(&format!("{picture}\n"))?;
        return Ok(CommandExit::Done);
    }
    if let Some(page) = tare_report::answer_page(&document) {
        crate::output::print(&page)?;
        return Ok(CommandExit::Done);
    }
    let study = tare_study::builtin_study(&document.study).transpose().map_err(usage_error)?;
    let page = study.and_then(|study| {
        let (summary, source) = (study.summary.unwrap_or_default(), study.source?);
        tare_report::study_page(&summary, &source, &document)
    });
    let page = page.ok_or_else(|| {
        usage_error(anyhow::anyhow!(
            "cannot make a page of {path}: expected a run of a built-in study with a published source"
        ))
    })?;
    crate::output::print(&page)?;
    Ok(CommandExit::Done)
}
