"""Evaluation: scorers, suites of cases, paired comparisons, and the gate that no version passes without a proof."""
