//! Agent as a program of its own, equivalent to `tare internal agent`, for this crate's tests.

fn main() -> Result<(), tare_traffic::Error> {
    let namespaces = std::env::args().skip_while(|word| word != "--namespaces").nth(1);
    let files = namespaces.iter().flat_map(|list| list.split(',')).map(Into::into);
    tare_agent::run_agent(
        &files.collect::<Vec<_>>(),
        &tare_traffic::workloads().into_iter().collect(),
    )
}
