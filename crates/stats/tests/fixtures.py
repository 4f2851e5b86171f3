#!/usr/bin/env python3
"""Writes scipy.json: reference figures of SciPy, for the test `cargo test -p tare-stats --test scipy` of this crate.

Needs SciPy and NumPy; the file records their versions. Run it from anywhere:
    python3 -m venv V && V/bin/pip install scipy && V/bin/python crates/stats/tests/fixtures.py
"""

import json
import pathlib

import numpy
import scipy
from scipy import stats

random = numpy.random.default_rng(20)


def floats(values):
    return [float(value) for value in values]


def paired():
    for n, centre, spread in [(4, -0.1, 0.02), (10, 0.0, 0.05), (30, 0.3, 0.2)]:
        base = numpy.exp(0.3 * random.standard_normal(n))
        network = base * numpy.exp(centre + spread * random.standard_normal(n))
        test = stats.ttest_rel(numpy.log(network), numpy.log(base))
        logs = numpy.log(network / base)
        yield {
            "pairs": [floats(pair) for pair in zip(network, base)],
            "value": float(numpy.exp(numpy.mean(logs))),
            "p": float(test.pvalue),
            "ci90": floats(numpy.exp(list(test.confidence_interval(0.90)))),
            "ci95": floats(numpy.exp(list(test.confidence_interval(0.95)))),
            # Both one-sided tests against a margin of 5 % (TOST).
            "tost": [
                float(stats.ttest_1samp(logs, -numpy.log(1.05), alternative="greater").pvalue),
                float(stats.ttest_1samp(logs, numpy.log(1.05), alternative="less").pvalue),
            ],
        }


def welch():
    for n, m in [(3, 3), (2, 5), (12, 7)]:
        base = 10 + random.standard_normal(n)
        new = 10.5 + 2 * random.standard_normal(m)
        test = stats.ttest_ind(new, base, equal_var=False)
        above = stats.ttest_ind(new, base, equal_var=False, alternative="greater")
        yield {
            "base": floats(base),
            "new": floats(new),
            "p": float(test.pvalue),
            "degrees": float(test.df),
            "ci90": floats(test.confidence_interval(0.90)),
            "ci95": floats(test.confidence_interval(0.95)),
            "lower99": float(above.confidence_interval(0.99).low),
        }


def samples():
    for n in [2, 9, 40]:
        values = numpy.exp(random.standard_normal(n))
        mean = numpy.mean(values)
        yield {
            "values": floats(values),
            "mean": float(mean),
            "sd": float(numpy.std(values, ddof=1)),
            "median": float(numpy.median(values)),
            "ci95": floats(stats.t.interval(0.95, n - 1, loc=mean, scale=stats.sem(values))),
            "quantiles": [[q, float(numpy.quantile(values, q))] for q in (0.1, 0.5, 0.99)],
        }


def student():
    for degrees in [1, 2, 4.7, 9, 29, 300]:
        for share in [0.6, 0.8, 0.9, 0.95, 0.975, 0.995, 0.9995]:
            yield [degrees, share, float(stats.t.ppf(share, degrees))]


def upper_limits():
    for degrees in [1, 2, 5.6, 14, 100]:
        yield [degrees, float(numpy.sqrt(degrees / stats.chi2.ppf(0.2, degrees)))]


def kendall():
    for n in [3, 4, 7, 15]:
        x, y = random.standard_normal(n), random.standard_normal(n)
        test = stats.kendalltau(x, x + y, alternative="greater", method="exact")
        yield {
            "pairs": [floats(pair) for pair in zip(x, x + y)],
            "tau": float(test.statistic),
            "chance": float(test.pvalue),
        }
    tied = stats.kendalltau([1, 1, 2, 3, 4], [2, 3, 3, 5, 4])
    yield {"pairs": [[1, 2], [1, 3], [2, 3], [3, 5], [4, 4]], "tau": float(tied.statistic)}


def bca():
    for name, n in [("median", 15), ("mean", 20)]:
        statistic = getattr(numpy, name)
        values = numpy.exp(0.5 * random.standard_normal(n))
        result = stats.bootstrap(
            (values,),
            statistic,
            n_resamples=500,
            confidence_level=0.95,
            method="BCa",
            rng=numpy.random.default_rng(1),
        )
        yield {
            "values": floats(values),
            "estimate": float(statistic(values)),
            "drawn": floats(result.bootstrap_distribution),
            "without": [float(statistic(numpy.delete(values, at))) for at in range(n)],
            "ci95": floats(result.confidence_interval),
        }


figures = {
    "scipy": scipy.__version__,
    "numpy": numpy.__version__,
    "paired": list(paired()),
    "welch": list(welch()),
    "samples": list(samples()),
    "student": list(student()),
    "upper_limits": list(upper_limits()),
    "kendall": list(kendall()),
    "bca": list(bca()),
}
path = pathlib.Path(__file__).with_name("scipy.json")
path.write_text(json.dumps(figures, indent=1) + "\n")
