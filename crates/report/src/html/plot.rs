//! Elements of all drawings: the plot area, grids with ticks, text, and labels at the ends of lines.

use super::element::{Element, Px};
use crate::scale::AxisScale;

/// Area in which data are drawn, px.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlotArea {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

/// Tick: its value and its label.
pub(crate) type AxisTick = (f64, String);

impl PlotArea {
    /// Returns the horizontal range, left to right, px.
    pub(crate) fn x_range(&self) -> [f64; 2] {
        [self.left, self.right]
    }

    /// Returns the vertical range, bottom to top, px.
    pub(crate) fn y_range(&self) -> [f64; 2] {
        [self.bottom, self.top]
    }

    /// Draws vertical lines at the ticks of the horizontal axis, with labels below.
    pub(crate) fn vertical_grid(&self, scale: &AxisScale, ticks: &[AxisTick]) -> Element {
        let mut group = Element::new("g").class("axis");
        let mut free = f64::NEG_INFINITY;
        for (value, words) in ticks {
            let x = scale.position(*value);
            group.add(line([x, self.top], [x, self.bottom]).class("grid"));
            // Labels that would overlap their neighbour are omitted. The line stays.
            let half = width_of(words) / 2.0;
            if x - half > free {
                group.add(text(x, self.bottom + 15.0, words).class("tick mid"));
                free = x + half + 4.0;
            }
        }
        group
    }

    /// Draws horizontal lines at the ticks of the vertical axis, with labels to the left.
    pub(crate) fn horizontal_grid(&self, scale: &AxisScale, ticks: &[AxisTick]) -> Element {
        let lines = ticks.iter().flat_map(|(value, words)| {
            let y = scale.position(*value);
            [
                line([self.left, y], [self.right, y]).class("grid"),
                text(self.left - 6.0, y + 4.0, words).class("tick end"),
            ]
        });
        Element::new("g").class("axis").extend(lines)
    }

    /// Draws the title of the vertical axis, above it.
    pub(crate) fn y_title(&self, words: &str) -> Element {
        text(self.left, self.top - 9.0, words).class("what")
    }

    /// Draws the title of the horizontal axis, below its ticks.
    pub(crate) fn x_title(&self, words: &str) -> Element {
        text(self.right, self.bottom + 32.0, words).class("what end")
    }
}

/// Draws text whose baseline begins at this point.
pub(crate) fn text(x: f64, y: f64, words: &str) -> Element {
    Element::new("text").with("x", Px(x)).with("y", Px(y)).push(words)
}

/// Draws a straight line.
pub(crate) fn line(from: [f64; 2], to: [f64; 2]) -> Element {
    Element::new("line")
        .with("x1", Px(from[0]))
        .with("y1", Px(from[1]))
        .with("x2", Px(to[0]))
        .with("y2", Px(to[1]))
}

/// Draws a rectangle between two opposite corners, in any order.
pub(crate) fn rect(one: [f64; 2], other: [f64; 2]) -> Element {
    Element::new("rect")
        .with("x", Px(one[0].min(other[0])))
        .with("y", Px(one[1].min(other[1])))
        .with("width", Px((one[0] - other[0]).abs()))
        .with("height", Px((one[1] - other[1]).abs()))
}

/// Draws a filled circle.
pub(crate) fn dot(x: f64, y: f64, radius: f64) -> Element {
    Element::new("circle").with("cx", Px(x)).with("cy", Px(y)).with("r", Px(radius))
}

/// Makes a tooltip for the element that it is added to.
pub(crate) fn tooltip(words: impl Into<String>) -> Element {
    Element::new("title").push(words.into())
}

/// Estimates the width of a text at the size of labels (12 px, sans serif), px: enough for any usual font.
pub(crate) fn width_of(words: &str) -> f64 {
    crate::text::width(words) as f64 * 6.7
}

/// Truncates a text to this width, px.
pub(crate) fn truncate(words: &str, width: f64) -> String {
    let most = (width / 6.7).floor().max(1.0) as usize;
    if words.chars().count() <= most {
        return words.to_owned();
    }
    let kept: String = words.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Places labels near these heights, px: in their order, at least `apart` from each other, and between top and bottom
/// as far as there is room.
pub(crate) fn spread_out(wanted: &[f64], apart: f64, [bottom, top]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = top;
    for &at in &order {
        places[at] = places[at].max(least);
        least = places[at] + apart;
    }
    let mut most = bottom;
    for &at in order.iter().rev() {
        places[at] = places[at].min(most);
        most = places[at] - apart;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_words_are_cut() {
        assert_eq!(truncate("bridge", 100.0), "bridge");
        assert_eq!(truncate("bridge+rate=100mbit", 67.0), "bridge+ra…");
    }

    proptest! {
        #[test]
        fn labels_do_not_stand_on_each_other(wanted in prop::collection::vec(0.0f64..200.0, 0..12)) {
            let mut sorted = spread_out(&wanted, 14.0, [200.0, 0.0]);
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 13.99));
            prop_assert!(sorted.iter().all(|place| (-0.01..=200.01).contains(place)));
        }
    }
}
