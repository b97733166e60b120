"""The nouns every room shares: cases, traces, scores, verdicts, model messages, errors, hashes and protocols."""
