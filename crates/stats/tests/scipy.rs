//! The methods beside SciPy's: figures of `scipy.json`, which `fixtures.py` wrote, to a part in 10⁹.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use serde_json::Value;
use tare_stats::student::Student;
use tare_stats::{Contrast, PairedRatio, bootstrap, describe, kendall, size};

fn fixtures() -> Value {
    serde_json::from_str(include_str!("scipy.json")).expect("the fixtures are JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn pairs(value: &Value) -> Vec<(f64, f64)> {
    list(value).iter().map(numbers).map(|pair| (pair[0], pair[1])).collect()
}

/// To a part in 10⁹ of the figure, or of 1 where it is smaller.
fn same(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().expect("a number");
    let off = (found - expected).abs() / expected.abs().max(1.0);
    assert!(off <= 1e-9, "{what}: {found} is not {expected}");
}

fn same_interval(found: [f64; 2], expected: &Value, what: &str) {
    same(found[0], &expected[0], what);
    same(found[1], &expected[1], what);
}

#[test]
fn paired_ratios() {
    for case in list(&fixtures()["paired"]) {
        let ratio = PairedRatio::of(&pairs(&case["pairs"])).unwrap();
        same(ratio.value, &case["value"], "value");
        same(ratio.p, &case["p"], "p");
        same_interval(ratio.ci90, &case["ci90"], "ci90");
        same_interval(ratio.ci95, &case["ci95"], "ci95");
        // The 90 % interval lies within the margin exactly where both one-sided tests reject at 5 %.
        let rejected = numbers(&case["tost"]).iter().all(|p| *p < 0.05);
        let within = 1.0 / 1.05 < ratio.ci90[0] && ratio.ci90[1] < 1.05;
        assert_eq!(rejected, within, "{case}");
    }
}

#[test]
fn contrasts() {
    for case in list(&fixtures()["welch"]) {
        let found = Contrast::of(&numbers(&case["base"]), &numbers(&case["new"])).unwrap();
        same(found.p(), &case["p"], "p");
        same(found.degrees, &case["degrees"], "degrees");
        same_interval(found.interval(0.90), &case["ci90"], "ci90");
        same_interval(found.interval(0.95), &case["ci95"], "ci95");
        same(found.lower(0.99), &case["lower99"], "lower bound");
    }
}

#[test]
fn descriptions() {
    for case in list(&fixtures()["samples"]) {
        let values = numbers(&case["values"]);
        same(describe::mean(&values).unwrap(), &case["mean"], "mean");
        same(describe::sd(&values).unwrap(), &case["sd"], "sd");
        same(describe::median(&values).unwrap(), &case["median"], "median");
        same_interval(describe::mean_interval(&values, 0.95).unwrap(), &case["ci95"], "ci95");
        for row in list(&case["quantiles"]) {
            let share = row[0].as_f64().unwrap();
            same(describe::quantile(&values, share).unwrap(), &row[1], "quantile");
        }
    }
}

#[test]
fn quantiles_of_student_and_of_spreads() {
    for row in list(&fixtures()["student"]) {
        let (degrees, share) = (row[0].as_f64().unwrap(), row[1].as_f64().unwrap());
        let student = Student::new(degrees).unwrap();
        same(student.quantile(share), &row[2], &format!("t {degrees} {share}"));
    }
    for row in list(&fixtures()["upper_limits"]) {
        let degrees = row[0].as_f64().unwrap();
        same(size::upper_limit(1.0, degrees).unwrap(), &row[1], &format!("limit {degrees}"));
    }
}

#[test]
fn rank_agreement() {
    for case in list(&fixtures()["kendall"]) {
        let found = kendall(&pairs(&case["pairs"])).unwrap();
        same(found.tau, &case["tau"], "tau");
        if !case["chance"].is_null() {
            same(found.chance, &case["chance"], "chance");
        }
    }
}

#[test]
fn the_bootstraps_interval() {
    for case in list(&fixtures()["bca"]) {
        let estimate = case["estimate"].as_f64().unwrap();
        let (drawn, without) = (numbers(&case["drawn"]), numbers(&case["without"]));
        let found = bootstrap::interval(estimate, &drawn, &without, 0.95).unwrap();
        same_interval(found, &case["ci95"], "ci95");
    }
}
