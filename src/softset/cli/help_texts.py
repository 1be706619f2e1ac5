"""The long help texts of options; short ones stand beside their options."""

from softset.query.logic import Logic

LOGIC = Logic()  # for its defaults
HELP = {
    "--against": "Baseline method for the significance tests.  [default: none/crisp/lattice(alpha=0.5), the paper's]",
    "--alpha": "Tolerance of AND in the lattice logic, from 0 (only directions in both sets) to below 1.  "
    f"[default: {LOGIC.alpha:g}]",
    "--aperture": "Aperture of the sets in the logics graded, product and minmax, above 0; inf gives crisp sets.  "
    f"[default: {LOGIC.aperture:g}]",
    "--batch-tokens": "Maximum number of tokens per batch; affects only speed and memory.",
    "--candidates": "Candidate file, one text per line; - is standard input.",
    "--collection": "Collection: a folder, milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME.  [default: word vectors]",
    "--collection-out": "Output folder for a collection that `softset find --collection` searches.  [default: none]",
    "--color": "Colour memberships.  [default: on a terminal, unless NO_COLOR is set]",
    "--column": "Column to print; repeat for more.  [default: all]",
    "--data": "Folder with the datasets, in subfolders sts, lda-1k and wmt18.  [default: $SOFTSET_DATA]",
    "--dataset": "Dataset, such as STS12, STS-B, SICK-R or STSB-dev; repeat for more.  [default: the seven test sets]",
    "--floor": f"Minimum grade for AND in the graded logic, between 0 and 1.  [default: {LOGIC.floor:g}]",
    "--host-name": "Additional host name that requests may use, such as that of a proxy; repeat for more.",
    "--idf": "File of `softset fit idf`, for metrics with weights=idf.  "
    "[default: computed on the references; `softset jobs score` needs the file]",
    "--input": "Parquet files: a path or a quoted pattern, such as 'data/*.parquet'.",
    "--kind": "Kind of model to import, if SOURCE has several kinds of files.  [default: detected]",
    "--latex": "Print a LaTeX table; it needs the package booktabs.",
    "--layer": "Layer: a number (0: the embeddings, -1: the last layer), a fraction of the depth such as 0.5, or last.",
    "--logic": "Logic that combines the memberships in the sets (logistic, product, minmax), or the sets themselves "
    f"(lattice, graded).  [default: {LOGIC.name}]",
    "--max-length": "Maximum number of tokens per window, special tokens included.  [default: the model's limit]",
    "--method": "Method or pattern, such as 'none/crisp/*'; repeat for more.  [default: all]",
    "--multi-reference": "How to combine several references: best score, mean score, or union of their tokens.",
    "--named-sets": "File (TOML or JSON) or folder of .txt files with named sets, which a query uses as @name.",
    "--overflow": "Encode texts longer than --max-length in overlapping windows, truncate them, or report an error.",
    "--pair": "Language pair, such as cs-en, or all; repeat for more.",
    "--paper-code": "Also score as the paper's code does: in batches of this size, with special tokens and padding.",
    "--preprocessing": "Preprocessing of the vectors: none, centre, all-but-the-top(K) or whiten(POWER).  "
    "[default: whiten(0.2) for word vectors in the logistic logic, otherwise none]",
    "--queries": "File with one query per line; - is standard input.",
    "--ranks": "Write a chart of the ranks in the task Set to a .png, .svg or .pdf file.",
    "--recall-check": "Report the share of the exact results that the approximate search finds.",
    "--references": "Reference file, one text per line; repeat for several references per candidate.",
    "--rescale": "Rescale scores so that unrelated texts score about 0: by the expected score of random tokens "
    "(chance), or by a FILE of `softset fit calibration`.  [default: no rescaling]",
    "--restrict-vocab": "Search only the first N words; most files list frequent words first.",
    "--resume": "Continue an interrupted run with the same --out.",
    "--score": "Result of the metric to compare: its score, precision or recall.",
    "--skip-unknown": "Skip examples that have no vector, and report them, instead of stopping with an error.",
    "--swaps": "Number of permutations in the approximate randomisation test.",
    "--table": "Table of the paper to reproduce: 1 compares metrics, 6 compares metrics at two layers "
    "(on STS-B by default).",
    "--text-form": "Form of the sentences: as written, or tokenised.",
    "--threads": "Number of threads.  [default: $OMP_NUM_THREADS, or all cores]",
    "--tsv": "Print tab-separated lines: query, id, membership, and the percentile with --percentile.",
    "--unit": "Build sets from tokens, or from words (the mean of each word's tokens).",
    "--vectors": "Word vectors, by name (`softset vectors list`) or folder.  [default: glove-840b-300d, bundled]",
    "--vectors-file": "Array file (.npy) with one row per item, used instead of encoding the texts.",
    "--where": "Filter expression in the store's own syntax, such as 'metadata[\"year\"] > 2000' for Milvus.",
}
