"""The nouns, without torch: heads, results, statistics, provenance, study folders."""
