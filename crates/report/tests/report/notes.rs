//! Notes below the tables: the weightiest first, ten lines on a terminal.

use crate::fixture::{eventful, quick};
use proptest::prelude::*;
use std::path::Path;
use tare_record::finding::{
    FewSamples, LossByPlace, OtherWork, PinningFailure, ProgramStandIn, StolenTime,
    UserspaceForwarding, WarmUpInfluence,
};
use tare_record::{Document, Family, Finding, Metric, NetworkFailure, SkippedNetwork};
use tare_report::{NoteExtent, Style, table};

/// Returns the lines of notes below the tables.
fn notes(document: &Document, extent: NoteExtent<'_>) -> Vec<String> {
    let text = table(document, &Style { width: 400, colour: false }, extent);
    let (_, below) = text.rsplit_once("\n\n").expect("a block of notes");
    let has_notes = ["note: ", "skipped ", "failed "].iter().any(|word| below.starts_with(word));
    if has_notes { below.lines().map(str::to_owned).collect() } else { Vec::new() }
}

fn heaviest(document: &Document) -> Vec<String> {
    notes(document, NoteExtent::Heaviest { directory: Path::new("runs/today") })
}

/// Adds a finding to all cells of a network.
fn add(document: &mut Document, label: &str, finding: &Finding) {
    let cells = document.cells.iter_mut().filter(|cell| cell.label == label);
    cells.for_each(|cell| cell.findings.push(finding.clone()));
}

#[test]
fn what_changes_the_reading_stands_before_what_explains_a_network() {
    let mut document = quick();
    add(&mut document, "veth", &Finding::WarmUpInfluence(WarmUpInfluence { uncut: 2.0, cut: 1.0 }));
    add(
        &mut document,
        "veth",
        &Finding::UserspaceForwarding(UserspaceForwarding { program: "x".to_owned(), cores: 0.5 }),
    );
    add(&mut document, "veth", &Finding::OtherWork(OtherWork { share: 0.2 }));
    add(&mut document, "host", &Finding::OtherWork(OtherWork { share: 0.4 }));
    let told = notes(&document, NoteExtent::All);
    assert_eq!(
        &told[..3],
        [
            "note: tcp-stream, tcp-rr over host, veth: at worst, other programs took 40 % of the CPU",
            "note: tcp-stream over veth: packets pass through user space: x took 0.50 cores",
            "note: tcp-rr over veth: packets pass through user space: x took 0.50 cores",
        ]
    );
    assert!(told[3].contains("loopback path"), "{told:?}");
}

#[test]
fn a_finding_of_all_networks_names_none() {
    let mut document = quick();
    document
        .cells
        .iter_mut()
        .for_each(|cell| cell.findings.push(Finding::StolenTime(StolenTime { share: 0.1 })));
    let told = notes(&document, NoteExtent::All);
    let same = "note: tcp-stream, tcp-rr over all networks: the hypervisor took 10 % ";
    assert!(told[0].starts_with(same), "{told:?}");
    document.cells[0].findings = vec![Finding::StolenTime(StolenTime { share: 0.2 })];
    let told = notes(&document, NoteExtent::All);
    let worst = "note: tcp-stream, tcp-rr over all networks: at worst, the hypervisor took 20 % ";
    assert!(told[0].starts_with(worst), "{told:?}");
}

#[test]
fn few_notes_are_all_shown() {
    let document = eventful();
    assert_eq!(heaviest(&document), notes(&document, NoteExtent::All));
}

#[test]
fn of_many_notes_the_heaviest_are_shown_with_the_command_for_the_others() {
    let mut document = eventful();
    for program in 0..20 {
        let program = program.to_string();
        add(
            &mut document,
            "bridge",
            &Finding::UserspaceForwarding(UserspaceForwarding { program, cores: 0.5 }),
        );
    }
    let (told, all) = (heaviest(&document), notes(&document, NoteExtent::All));
    assert_eq!(told.len(), 10);
    assert_eq!(told[..9], all[..9]);
    assert_eq!(told[9], format!("{} more notes: tare report runs/today", all.len() - 9));
}

#[test]
fn many_networks_without_figures_are_named_in_one_line() {
    let mut document = quick();
    for network in ["ovs", "macvlan", "ipvlan", "vxlan"] {
        document.skipped.push(SkippedNetwork {
            network: network.to_owned(),
            label: None,
            reason: format!("this kernel has no {network}"),
            remedy: String::new(),
        });
        document.failed.push(NetworkFailure {
            network: format!("{network}-2"),
            reason: network.to_owned(),
            ..NetworkFailure::default()
        });
    }
    let told = heaviest(&document);
    assert_eq!(
        told,
        [
            "failed ovs-2, macvlan-2, ipvlan-2, vxlan-2",
            "skipped ovs, macvlan, ipvlan, vxlan",
            "note: host on one node is a loopback path: packets pass only the device lo, never a wire",
            "8 more notes: tare report runs/today",
        ]
    );
    assert!(notes(&document, NoteExtent::All)[0].starts_with("failed ovs-2: ovs"));
}

/// Returns the finding that this many of a hundred datagrams were lost.
fn lost(lost: u64) -> Finding {
    Finding::LossByPlace(LossByPlace {
        lost,
        of: 100,
        parts: Vec::new(),
        unplaced: lost.cast_signed(),
    })
}

#[test]
fn a_line_about_loss_names_the_conditions_of_its_cell() {
    let mut document = quick();
    let mut cell = document.cells[0].clone();
    cell.workload = "udp-rate".to_owned();
    let mut add = |rate: &str, family, mtu, finding| {
        let mut cell = cell.clone();
        cell.parameters.insert("rate".to_owned(), rate.into());
        cell.parameters.insert("buffer".to_owned(), 4096.into());
        (cell.shape.family, cell.shape.mtu) = (family, mtu);
        cell.findings = vec![finding];
        document.cells.push(cell);
    };
    add("200mbit", Family::Ipv4, 1500, lost(3));
    add("768mbit", Family::Ipv4, 1500, lost(5));
    add("768mbit", Family::Ipv6, 9000, lost(5));
    add(
        "768mbit",
        Family::Ipv6,
        9000,
        Finding::UserspaceForwarding(UserspaceForwarding { program: "x".into(), cores: 0.5 }),
    );
    let label = cell.label.as_str();
    let told = notes(&document, NoteExtent::All);
    for line in [
        format!("note: udp-rate (200mbit, IPv4, MTU 1500) over {label}: 3.0 % lost: "),
        format!("note: udp-rate (768mbit, IPv4, MTU 1500) over {label}: 5.0 % lost: "),
        format!("note: udp-rate (768mbit, IPv6, MTU 9000) over {label}: 5.0 % lost: "),
        format!("note: udp-rate over {label}: packets pass through user space: "),
    ] {
        assert!(told.iter().any(|note| note.starts_with(&line)), "{line}: {told:#?}");
    }
}

#[test]
fn a_line_about_loss_names_what_else_tells_its_cell_from_others() {
    let mut document = quick();
    let mut cell = document.cells[0].clone();
    cell.workload = "udp-rate".to_owned();
    for (clients, size) in [(1, 64), (2, 64), (2, 1232)] {
        let mut cell = cell.clone();
        cell.shape.clients = clients;
        cell.parameters.insert("size".to_owned(), size.into());
        cell.findings = vec![lost(7)];
        document.cells.push(cell);
    }
    let told = notes(&document, NoteExtent::All);
    for words in ["1 client)", "2 clients, size 64)", "2 clients, size 1232)"] {
        let line = format!("udp-rate (IPv4, MTU 1500, {words} over ");
        assert!(told.iter().any(|note| note.contains(&line)), "{line}: {told:#?}");
    }
}

#[test]
fn a_stand_ins_row_carries_its_name() {
    let mut document = quick();
    let network = document.cells[0].network.clone();
    let label = document.cells[0].label.clone();
    let stand_in = Finding::ProgramStandIn(ProgramStandIn {
        used: "tare-sleeve".to_owned(),
        original: "weaver".to_owned(),
        reason: "no weaver".to_owned(),
    });
    add(&mut document, &label, &stand_in);
    let shown = |document: &Document| {
        let style = Style { width: 400, colour: false };
        table(document, &style, NoteExtent::All)
    };
    assert!(shown(&document).contains(&format!("\n{label} (by tare-sleeve) ")));
    for cell in document.cells.iter_mut().filter(|cell| cell.label == label) {
        cell.label = "fallback".to_owned();
    }
    let row = format!("\nfallback ({network} by tare-sleeve) ");
    assert!(shown(&document).contains(&row), "{}", shown(&document));
}

proptest! {
    #[test]
    fn never_more_than_ten_lines(findings in 0usize..40, failed in 0usize..9, skipped in 0usize..9) {
        let mut document = quick();
        for at in 0..findings {
            let finding = match at % 3 {
                0 => Finding::UserspaceForwarding(UserspaceForwarding { program: at.to_string(), cores: 0.5 }),
                1 => Finding::PinningFailure(PinningFailure { reason: at.to_string() }),
                _ => Finding::FewSamples(FewSamples { metric: Metric::ALL[at], beyond: 3, needed: 100 }),
            };
            document.cells[at % 7].findings.push(finding);
        }
        for at in 0..failed {
            let network = format!("failed-{at}");
            document.failed.push(NetworkFailure { reason: at.to_string(), network, ..NetworkFailure::default() });
        }
        for at in 0..skipped {
            let (network, reason) = (format!("skipped-{at}"), at.to_string());
            document.skipped.push(SkippedNetwork { network, label: None, reason, remedy: String::new() });
        }
        let (told, all) = (heaviest(&document), notes(&document, NoteExtent::All));
        prop_assert!(told.len() <= 10 && !told.is_empty());
        prop_assert!(told.len() <= all.len() + 1);
        for network in document.failed.iter().map(|one| &one.network) {
            prop_assert!(told.iter().any(|line| line.starts_with("failed") && line.contains(network.as_str())));
        }
        for network in document.skipped.iter().map(|one| &one.network) {
            prop_assert!(told.iter().any(|line| line.starts_with("skipped") && line.contains(network.as_str())));
        }
    }
}
