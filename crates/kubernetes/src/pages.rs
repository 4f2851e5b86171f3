//! Lists of objects, which the API server gives page by page.

use kube::api::ListParams;
use kube::core::ObjectList;

/// Largest number of objects of a page.
const PAGE_SIZE: u32 = 500;

/// Lists all objects that labels select. `list` asks for one page.
pub(crate) async fn list_pages<T: Clone, Page>(
    labels: &str,
    list: impl Fn(ListParams) -> Page,
) -> kube::Result<Vec<T>>
where
    Page: Future<Output = kube::Result<ObjectList<T>>>,
{
    let mut all = Vec::new();
    let mut parameters = ListParams::default().labels(labels).limit(PAGE_SIZE);
    loop {
        let page = list(parameters.clone()).await?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(all),
        }
    }
}
