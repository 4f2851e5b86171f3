//! Comparison of the methods with SciPy: the figures of `scipy.json`, written by `fixtures.py`, to a part in 10⁹.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use serde_json::Value;
use tare_stats::student::StudentT;
use tare_stats::{Contrast, PairedRatio, bootstrap, describe, kendall, sample_size};

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

/// Asserts equality to a part in 10⁹ of the expected figure, or of 1 if that is larger.
fn assert_close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().expect("a number");
    let off = (found - expected).abs() / expected.abs().max(1.0);
    assert!(off <= 1e-9, "{what}: {found} is not {expected}");
}

fn assert_interval_close(found: [f64; 2], expected: &Value, what: &str) {
    assert_close(found[0], &expected[0], what);
    assert_close(found[1], &expected[1], what);
}

#[test]
fn paired_ratios() {
    for case in list(&fixtures()["paired"]) {
        let ratio = PairedRatio::from_pairs(&pairs(&case["pairs"])).unwrap();
        assert_close(ratio.value, &case["value"], "value");
        assert_close(ratio.p, &case["p"], "p");
        assert_interval_close(ratio.ci90, &case["ci90"], "ci90");
        assert_interval_close(ratio.ci95, &case["ci95"], "ci95");
        // The 90 % interval lies within the margin exactly if both one-sided tests reject at 5 %.
        let rejected = numbers(&case["tost"]).iter().all(|p| *p < 0.05);
        let within = 1.0 / 1.05 < ratio.ci90[0] && ratio.ci90[1] < 1.05;
        assert_eq!(rejected, within, "{case}");
    }
}

#[test]
fn contrasts() {
    for case in list(&fixtures()["welch"]) {
        let found =
            Contrast::from_samples(&numbers(&case["base"]), &numbers(&case["new"])).unwrap();
        assert_close(found.p(), &case["p"], "p");
        assert_close(found.degrees, &case["degrees"], "degrees");
        assert_interval_close(found.interval(0.90), &case["ci90"], "ci90");
        assert_interval_close(found.interval(0.95), &case["ci95"], "ci95");
        assert_close(found.lower(0.99), &case["lower99"], "lower bound");
    }
}

#[test]
fn descriptions() {
    for case in list(&fixtures()["samples"]) {
        let values = numbers(&case["values"]);
        assert_close(describe::mean(&values).unwrap(), &case["mean"], "mean");
        assert_close(describe::sd(&values).unwrap(), &case["sd"], "sd");
        assert_close(describe::median(&values).unwrap(), &case["median"], "median");
        assert_interval_close(
            describe::mean_interval(&values, 0.95).unwrap(),
            &case["ci95"],
            "ci95",
        );
        for row in list(&case["quantiles"]) {
            let share = row[0].as_f64().unwrap();
            assert_close(describe::quantile(&values, share).unwrap(), &row[1], "quantile");
        }
    }
}

#[test]
fn quantiles_of_student_and_of_spreads() {
    for row in list(&fixtures()["student"]) {
        let (degrees, share) = (row[0].as_f64().unwrap(), row[1].as_f64().unwrap());
        let student = StudentT::new(degrees).unwrap();
        assert_close(student.quantile(share), &row[2], &format!("t {degrees} {share}"));
    }
    for row in list(&fixtures()["upper_limits"]) {
        let degrees = row[0].as_f64().unwrap();
        assert_close(
            sample_size::sd_upper_limit(1.0, degrees).unwrap(),
            &row[1],
            &format!("limit {degrees}"),
        );
    }
}

#[test]
fn rank_agreement() {
    for case in list(&fixtures()["kendall"]) {
        let found = kendall(&pairs(&case["pairs"])).unwrap();
        assert_close(found.tau, &case["tau"], "tau");
        if !case["chance"].is_null() {
            assert_close(found.chance, &case["chance"], "chance");
        }
    }
}

#[test]
fn the_bootstraps_interval() {
    for case in list(&fixtures()["bca"]) {
        let estimate = case["estimate"].as_f64().unwrap();
        let (drawn, without) = (numbers(&case["drawn"]), numbers(&case["without"]));
        let found = bootstrap::interval(estimate, &drawn, &without, 0.95).unwrap();
        assert_interval_close(found, &case["ci95"], "ci95");
    }
}
