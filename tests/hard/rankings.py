"""Bad input of embedding models and rerankers: similarity, retrieval and reranking."""

from __future__ import annotations

from tests.hard.row import bad, over

ALIKE = "sweep {bare} --task similarity --data "
RETRIEVAL = "sweep {bare} --task retrieval --data "

ROWS = [
    # Pairs with scores
    bad("similarity: a score is missing", ALIKE + "{pair-without-score}", "{pair-without-score}", "row 2", "nan"),
    bad("similarity: scores in words", ALIKE + "{pairs-in-words}", "'good'", "number"),
    bad("similarity: one score for all", ALIKE + "{pairs-alike}", "score 1", "different scores"),
    bad("similarity: one column of texts", ALIKE + "{scored-pairs} --text sentence1", "1 text column", "--text"),
    bad("similarity: a number for a text", ALIKE + "{pair-of-numbers}", "row 1", "'sentence2'", "a string"),
    bad("similarity: classes", ALIKE + "{scored-pairs} --labels yes no", "--labels", "similarity"),
    bad("similarity: a metric of rankings", ALIKE + "{scored-pairs} --metric ndcg@10", "'ndcg@10'", "spearman"),
    *over(
        {
            "sweep": "sweep {bare} --task similarity,pooling=frist --data {scored-pairs}",
            "importance": "importance {bare} --task similarity,pooling=frist --data {scored-pairs}",
        },
        "a pooling that is none",
        "'frist'",
        "mean, first, last",
    ),
    bad(
        "similarity: a prompt with a comma",
        "sweep {bare} --task 'similarity,prompt=Represent, please:' --data {scored-pairs}",
        "' please:'",
        "hc.find_task",
    ),
    bad(
        "similarity: too few to choose",
        "choose {bare} --task similarity --data {scored-pairs} --tolerance 1",
        "at least 40",
    ),
    # Queries with documents
    bad(
        "retrieval: a document is missing", RETRIEVAL + "{document-missing}", "row 1", "'documents'", "list of strings"
    ),
    bad("retrieval: a judgement is missing", RETRIEVAL + "{judgement-missing}", "row 1", "nan"),
    bad("retrieval: too few judgements", RETRIEVAL + "{judgements-short}", "row 1", "2 documents"),
    bad("retrieval: nothing is relevant", RETRIEVAL + "{nothing-relevant}", "relevant", "'relevance'"),
    bad("retrieval: pairs with scores", RETRIEVAL + "{scored-pairs}", "query", "sentence1"),
    bad("retrieval: a depth of 0", RETRIEVAL + "{ranked-queries} --metric ndcg@0", "'ndcg@0'", "ndcg@5"),
    bad(
        "retrieval: one candidate",
        RETRIEVAL.replace(" --data", ",candidates=1 --data") + "{ranked-queries}",
        "at least 2",
    ),
    # Folders in BEIR's layout
    bad("BEIR: a score that is no number", RETRIEVAL + "{beir-without-score}", "line 2", "nan"),
    bad("BEIR: an unknown document", RETRIEVAL + "{beir-other-id}", "'d9'", "corpus.jsonl"),
    bad("BEIR: judgements of trec_eval", RETRIEVAL + "{beir-trec}", "query-id, corpus-id, score"),
    # Cross-encoders
    bad("reranking: two outputs", "sweep {classifier} --task reranking --data {ranked-queries}", "2 outputs", "one"),
    bad("reranking: no head", "sweep {bare} --task reranking --data {ranked-queries}", "reranking", "head"),
]
