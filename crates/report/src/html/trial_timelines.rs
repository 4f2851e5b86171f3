//! Time series of trials: the rate in each interval, with the removed warm-up shaded.

use super::data_table::{DataTable, TableValue};
use super::element::{Element, polyline};
use super::figure::{Drawing, Figure};
use super::networks::PageNetworks;
use super::plot::{PlotArea, rect, text, tooltip, truncate};
use super::subject::{Subject, group_thousands};
use crate::Error;
use crate::median::median_of_sorted;
use crate::scale::{AxisScale, ScaleKind, extremes, format_tick};
use tare_record::{Metric, TrialTimeline};

/// Largest number of trials drawn for a network, spread evenly over all blocks.
const MOST_TRIALS: usize = 8;
/// Largest number of points drawn for a trial. With more intervals, groups of them are averaged.
const MOST_POINTS: usize = 64;
/// Height of a panel with its name, px.
const PANEL: f64 = 108.0;
/// Gap between panels, px.
const GAP: f64 = 22.0;

/// Panel of a network, with its trials.
struct TimelinePanel<'a> {
    label: &'a str,
    /// Number of all trials, drawn or not.
    all: usize,
    drawn: Vec<&'a TrialTimeline>,
    /// Median length of the removed warm-ups, s.
    cut: f64,
}

/// Draws the time series of a subject's trials. Returns `None` if no interval was recorded.
///
/// # Errors
/// Fails if the data cannot be written as CSV.
pub(crate) fn trial_timelines(
    subject: &Subject<'_>,
    courses: &[TrialTimeline],
    networks: &PageNetworks<'_>,
) -> Result<Option<Figure>, Error> {
    let all: Vec<&TrialTimeline> =
        courses.iter().filter(|one| subject.matches(&one.workload, &one.shape)).collect();
    let Some(metric) = all.first().map(|one| one.metric) else { return Ok(None) };
    let panels: Vec<TimelinePanel<'_>> = networks
        .labels()
        .iter()
        .filter_map(|label| panel(label, all.iter().filter(|one| one.label == *label)))
        .collect();
    let some_left_out = panels.iter().any(|panel| panel.drawn.len() < panel.all);
    let caption = format!(
        "{} in each interval of each trial. The shaded beginning was cut off as the warm-up.{}",
        capitalised(metric.name()),
        if some_left_out { " Only some of the blocks are drawn, at most eight." } else { "" }
    );
    let described: Vec<String> = panels
        .iter()
        .map(|panel| {
            let unsettled = panel.drawn.iter().filter(|one| !one.settled).count();
            let never = if unsettled > 0 {
                format!(", {unsettled} of {} never reached a steady state", panel.drawn.len())
            } else {
                String::new()
            };
            format!("{}: {} trials, warm-up of {:.2} s{never}.", panel.label, panel.all, panel.cut)
        })
        .collect();
    let title = format!("{}: trials over time", subject.heading);
    let figure = Figure::new(format!("course-{}", subject.id), title, table(&panels))
        .with_text(caption, described.join(" "))
        .with_csv(csv(&panels, metric)?)
        .with_drawings(|width| draw(&panels, metric, networks, width));
    Ok(Some(figure))
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn panel<'a, 'b: 'a>(
    label: &'a str,
    trials: impl Iterator<Item = &'a &'b TrialTimeline>,
) -> Option<TimelinePanel<'a>> {
    let trials: Vec<&TrialTimeline> = trials.copied().collect();
    let every = trials.len().div_ceil(MOST_TRIALS).max(1);
    let mut cuts: Vec<f64> = trials.iter().map(|one| warm_up(one)).collect();
    cuts.sort_by(f64::total_cmp);
    Some(TimelinePanel {
        label,
        all: trials.len(),
        cut: median_of_sorted(&cuts)?,
        drawn: trials.into_iter().step_by(every).collect(),
    })
}

/// Returns the length of the warm-up, s.
fn warm_up(course: &TrialTimeline) -> f64 {
    course.points.get(course.cut).map_or(0.0, |(start, _)| start.as_secs_f64())
}

/// Returns the drawn points, each the mean of a group of intervals: time in s, rate in the metric's unit.
fn points(course: &TrialTimeline) -> Vec<(f64, f64)> {
    let together = course.points.len().div_ceil(MOST_POINTS).max(1);
    let mean = |group: &[(tare_record::Nanos, f64)]| {
        let sum: f64 = group.iter().map(|(_, rate)| rate).sum();
        (group[0].0.as_secs_f64(), sum / group.len() as f64)
    };
    course.points.chunks(together).map(mean).collect()
}

fn table(panels: &[TimelinePanel<'_>]) -> DataTable {
    let mut table = DataTable::new(["network", "trials", "warm-up, median (s)", "not steady"]);
    for panel in panels {
        let unsettled = panel.drawn.iter().filter(|one| !one.settled).count();
        table.add(vec![
            panel.label.into(),
            TableValue::number(panel.all as f64, panel.all.to_string()),
            TableValue::number(panel.cut, format!("{:.2}", panel.cut)),
            format!("{unsettled} of {} drawn", panel.drawn.len()).into(),
        ]);
    }
    table
}

/// Writes every drawn point as CSV.
fn csv(panels: &[TimelinePanel<'_>], metric: Metric) -> Result<String, Error> {
    let rate = format!("{metric} ({})", metric.unit());
    let mut table = DataTable::new(["network", "block", "start (s)", &rate, "warm-up"]);
    for course in panels.iter().flat_map(|panel| &panel.drawn) {
        let cut = warm_up(course);
        for (start, rate) in points(course) {
            table.add(vec![
                course.label.as_str().into(),
                course.block.to_string().into(),
                format!("{start:.3}").into(),
                crate::number::round_with_interval(rate, None).0.into(),
                if start < cut { "1" } else { "0" }.into(),
            ]);
        }
    }
    table.csv()
}

fn draw(
    panels: &[TimelinePanel<'_>],
    metric: Metric,
    networks: &PageNetworks<'_>,
    width: f64,
) -> Drawing {
    let across = if width > 600.0 { 3 } else { 1 };
    let left = 40.0;
    let each = (width - left - GAP * (across - 1) as f64) / across as f64;
    let rows = panels.len().div_ceil(across);
    let all = || panels.iter().flat_map(|panel| &panel.drawn);
    let rates = all().flat_map(|course| points(course).into_iter().map(|point| point.1));
    let last = all().filter_map(|course| course.points.last()).map(|point| point.0.as_secs_f64());
    let last = extremes(last).map_or(1.0, |(_, most)| most.max(1e-3));
    let high: Vec<f64> = rates.collect();
    let mut content = vec![text(0.0, 12.0, &axis_name(metric)).class("what")];
    for (at, panel) in panels.iter().enumerate() {
        let (column, row) = (at % across, at / across);
        let from = left + (each + GAP) * column as f64;
        let top = 38.0 + (PANEL + GAP) * row as f64;
        let area = PlotArea { left: from, top, right: from + each, bottom: top + PANEL - 24.0 };
        let y = AxisScale::new(ScaleKind::Linear, high.iter().copied(), area.y_range());
        let x = AxisScale::linear([0.0, last], area.x_range());
        let words = |value: f64| if column == 0 { format_tick(value) } else { String::new() };
        let level: Vec<_> = y.ticks(3).into_iter().map(|value| (value, words(value))).collect();
        let seconds: Vec<_> = x
            .ticks(4)
            .into_iter()
            .map(|value| (value, format!("{} s", format_tick(value))))
            .collect();
        let mut group = networks.group(panel.label);
        if panel.cut > 0.0 {
            group.add(
                rect([area.left, area.top], [x.position(panel.cut), area.bottom]).class("warm-up"),
            );
        }
        group.add(area.horizontal_grid(&y, &level));
        group.add(area.vertical_grid(&x, &seconds));
        group.add(text(area.left, top - 7.0, &truncate(panel.label, each)).class("strong"));
        for course in &panel.drawn {
            let line = points(course)
                .into_iter()
                .map(|(start, rate)| (x.position(start), y.position(rate)));
            group.add(Element::new("path").class("thin").with("d", polyline(line)));
        }
        let told = format!(
            "{}: {} trials, the first {} s cut off",
            panel.label,
            panel.all,
            group_thousands(&format!("{:.2}", panel.cut))
        );
        group.add(rect([area.left, area.top], [area.right, area.bottom]).class("catch"));
        content.push(group.push(tooltip(told)));
    }
    Drawing { width, height: 38.0 + (PANEL + GAP) * rows as f64, content }
}

fn axis_name(metric: Metric) -> String {
    format!("{metric}, {}", metric.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::{Nanos, Shape};

    /// Returns a trial of one-second intervals, of which `cut` are the warm-up.
    fn timeline(block: u32, cut: usize) -> TrialTimeline {
        TrialTimeline {
            label: "veth".to_owned(),
            workload: "tcp-stream".to_owned(),
            shape: Shape::default(),
            block,
            metric: Metric::Throughput,
            points: (0..10).map(|second| (Nanos(second * 1_000_000_000), 1.0)).collect(),
            cut,
            settled: true,
        }
    }

    fn median_warm_up(cuts: &[usize]) -> Option<f64> {
        let trials: Vec<TrialTimeline> =
            (0..).zip(cuts).map(|(block, &cut)| timeline(block, cut)).collect();
        let trials: Vec<&TrialTimeline> = trials.iter().collect();
        panel("veth", trials.iter()).map(|panel| panel.cut)
    }

    #[test]
    fn median_warm_up_of_an_even_number_of_trials_is_between_the_middle_two() {
        assert_eq!(median_warm_up(&[5, 0, 1, 2]), Some(1.5));
        assert_eq!(median_warm_up(&[5, 0, 1]), Some(1.0));
        assert_eq!(median_warm_up(&[]), None);
    }
}
