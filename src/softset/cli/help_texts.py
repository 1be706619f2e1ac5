"""Long help texts of options; short ones are next to their options."""

from softset.query.logic import Logic

LOGIC = Logic()  # for its defaults
HELP = {
    "--baseline": "Baseline method for the significance tests.  [default: none/crisp/lattice(alpha=0.5), the paper's]",
    "--alpha": "Tolerance of AND in the lattice logic, from 0 (only directions in both sets) to below 1.  "
    f"[default: {LOGIC.alpha:g}]",
    "--aperture": "Aperture of the sets in the graded logic, above 0; inf gives crisp sets.  "
    f"[default: {LOGIC.aperture:g}]",
    "--batch-tokens": "Maximum number of tokens per batch; affects only speed and memory.",
    "--candidates": "Candidate file, one text per line; - is standard input.",
    "--chunks": "Parts of texts that have vectors of their own: sentences, windows of about 60 words, or tokens.",
    "--collection": "Collection: a folder, milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME.  [default: word vectors]",
    "--collection-out": "Output folder for a collection that `softset find --collection` searches.  [default: none]",
    "--color": "Colour memberships.  [default: on a terminal, unless NO_COLOR is set]",
    "--column": "Column to print; repeat for more.  [default: all]",
    "--data": "Folder with the datasets, in subfolders sts, lda-1k, wmt18 and text-sets.  [default: $SOFTSET_DATA]",
    "--dataset": "Dataset, such as STS12, STS-B or STSB-dev; repeat for more.  [default: the seven test sets]",
    "--distinct": "Leave out items whose cosine with a better item is at least this value, such as 0.95.  "
    "[default: keep all]",
    "--filter": 'Condition that items must meet, such as \'year > 1900 and lang in ("en", "de")\'.',
    "--floor": f"Minimum grade for AND in the graded logic, between 0 and 1.  [default: {LOGIC.floor:g}]",
    "--header": "Column names, separated by commas, for a CSV or TSV file that has no header line.",
    "--host-name": "Additional host name that requests may use, such as that of a proxy; repeat for more.",
    "--idf": "File of `softset fit idf`, for metrics with weights=idf.  "
    "[default: computed on the references; `softset jobs score` needs the file]",
    "--input": "Input files (Parquet): a path or a quoted pattern, such as 'data/*.parquet'.",
    "--kind": "Kind of model to import, if SOURCE has several kinds of files.  [default: detected]",
    "--language": "Language of the lexical index, such as english or german; none leaves words unchanged.",
    "--latex": "Print a LaTeX table; it needs the package booktabs.",
    "--layer": "Layer: a number (0: the embeddings, -1: the last layer), a fraction of the depth such as 0.5, or last.",
    "--logic": "How sets are combined: by log-odds (logistic), as graded subspaces (graded) or as subspaces, as in the "
    f"paper (lattice).  [default: {LOGIC.name}]",
    "--max-length": "Maximum number of tokens per window, special tokens included.  [default: the model's limit]",
    "--method": "Method or pattern, such as 'none/crisp/*'; repeat for more.  [default: all]",
    "--multi-reference": "How to combine several references: best score, mean score, or union of their tokens.",
    "--named-sets": "File (TOML or JSON) or folder of .txt files with named sets, which a query uses as @name.",
    "--overflow": "Encode texts longer than --max-length in overlapping windows, truncate them, or report an error.",
    "--pair": "Language pair, such as cs-en, or all; repeat for more.",
    "--preprocessing": "Preprocessing of the vectors: none, centre, all-but-the-top(K) or whiten(POWER).  "
    "[default: whiten(0.2) for word vectors in the logistic logic, otherwise none]",
    "--queries": "File with one query per line; - is standard input.",
    "--recall-check": "Report the share of the exact results that the approximate search finds.",
    "--references": "Reference file, one text per line; repeat for several references per candidate.",
    "--rescale": "Rescale scores so that unrelated texts score about 0: by the expected score of random tokens "
    "(chance), or by a FILE of `softset fit calibration`.  [default: no rescaling]",
    "--restrict-vocab": "Search only the first N words; most files list frequent words first.",
    "--resume": "Continue an interrupted run with the same --out.",
    "--score": "Number to compare: the score, precision or recall of the metric.",
    "--skip-unknown": "Skip examples that have no vector, and report them, instead of stopping with an error.",
    "--swaps": "Number of permutations in the approximate randomisation test.",
    "--text-form": "Form of the sentences: as written, or tokenised.",
    "--threads": "Number of threads.  [default: $OMP_NUM_THREADS, or all cores]",
    "--tsv": "Print tab-separated lines: query, id, membership, and the percentile with --percentile.",
    "--type": "Type of a field: text, integer, number, boolean, date or datetime, such as year=text; repeat for more.  "
    "[default: inferred]",
    "--unit": "Build sets from tokens, or from words (the mean of each word's tokens).",
    "--vectors": "Word vectors, by name (`softset vectors list`) or folder.  [default: glove-840b-300d, bundled]",
    "--vectors-file": "Array file (.npy) with one row per item, used instead of encoding the texts.",
}
