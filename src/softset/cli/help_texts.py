"""The help text of each option; a flag has the same meaning in every verb. Other texts are given where they differ."""

import re

TEXTS = r"""
--address  Address of a Ray cluster, HOST:PORT or auto. [default: start one on this machine]
--against  Baseline method for the significance tests. [default: none/crisp/lattice(alpha=0.5), the paper's]
--all-correlations  Also compute Pearson's r and the mean over sub-datasets.
--approximate  Use an approximate index, which is faster for many items.
--batch-tokens  Maximum number of tokens per batch; affects only speed and memory.
--block-size  Number of rows in one output file.
--cache  Folder in which encoded texts are cached. [default: no cache]
--candidate-field  Column with the candidates.
--candidates  Candidate file, one text per line; - is standard input.
--collection-out  Output folder for a collection that `softset find --collection` searches. [default: none]
--color  Colour memberships. [default: on a terminal without NO_COLOR]
--column  Column to print; repeat for more. [default: all]
--confidence  Confidence level of the intervals.
--data  Folder with the datasets, in subfolders sts, lda-1k and wmt18. [default: $SOFTSET_DATA]
--dataset  Dataset, such as STS12, STS-B, SICK-R or STSB-dev; repeat for more. [default: the seven test sets]
--device  Device for torch models, such as cuda. [default: the best available]
--drop  Delete results in --out whose rows are no longer in the input.
--dtype  Data type for torch models: float32, bfloat16 or float16. [default: float32]
--explain  Show the membership in each set and the nearest examples.
--float16  Store vectors in half precision.
--format  Format: text, word2vec-binary, npy, safetensors or model2vec. [default: detected]
--host  Address to listen on.
--host-name  Additional host name that requests may use, such as that of a proxy; repeat for more.
--html  Write an HTML page for at most 200 tokens per text.
--idf  File of `softset fit idf`, for metrics with weights=idf. [default: computed on the references]
--include-examples  Include the query's examples in the results.
--inline  Read the values of -c and -r as texts, not as file names.
--input  Parquet files: a path or a quoted pattern, such as 'data/*.parquet'.
--jsonl  Print one JSON object per pair, line by line.
--key-file  File with the API key. [default: $SOFTSET_API_KEY, or no key]
--kind  Kind of model to import, if SOURCE has several kinds of files. [default: detected]
--latex  Print a LaTeX table; it needs the package booktabs.
--layer  Layer: a number (0 is the embeddings, -1 the last layer), a fraction of the depth such as 0.5, or last.
--markdown  Print a Markdown table.
--max-length  Maximum number of tokens per window, special tokens included. [default: the model's limit]
--member  File to read from an archive with several files.
--method  Method or pattern, such as 'none/crisp/*'; repeat for more. [default: all]
--metric  Metric, such as 'subspace(weights=l2)'.
--min-score  Minimum membership of a result, from 0 to 1.
--multi-reference  How to combine several references: the best score, the mean score, or the union of their tokens.
--name  Name for the import, which other commands then use.
--named-sets  File (TOML or JSON) or folder of .txt files with named sets, which a query uses as @name.
--only-summary  Print only the mean scores.
--overflow  Encode texts longer than --max-length in overlapping windows, truncate them, or report an error.
--pair  Language pair, such as cs-en, or all; repeat for more.
--paper-code  Also score as the paper's code does: in batches of this size, with special tokens and padding.
--percentile  Show the percentage of items that rank below each result.
--plan  Show how the query is parsed and resolved, without searching.
--plot  Write a chart to a .png, .svg or .pdf file.
--png  Write a heat map (.png) for at most 1,000 tokens per text and 6 metrics.
--port  Port to listen on; 0 chooses a free one.
--preprocessing  Preprocessing of the vectors: none, centre, all-but-the-top(K) or whiten(POWER). [default:
    whiten(0.2) for word vectors in the logistic logic, otherwise none]
--queries  File with one query per line; - is standard input.
--quiet  Print only warnings and errors.
--ranks  Write a chart of the ranks in the task Set to a .png, .svg or .pdf file.
--recall-check  Report the share of the exact results that the approximate search finds.
--reference-field  Column with the references: texts, or lists of texts.
--references  Reference file, one text per line; repeat for several references per candidate.
--rescale  Rescale scores so that unrelated texts score about 0: by the expected score of random tokens (chance), or
    by a FILE of `softset fit calibration`. [default: no rescaling]
--restrict-vocab  Search only the first N words; most files list frequent words first.
--resume  Continue an interrupted run with the same --out.
--rounds  Number of random partners for each text.
--samples  Number of bootstrap samples.
--score  Number of the metric that is compared: its score, precision or recall.
--seed  Random seed.
--sets-table  File sets.json of `softset eval sets --out`.
--skip-bad  Skip malformed and repeated lines, and report their number.
--skip-unknown  Skip examples that have no vector, and report them, instead of stopping with an error.
--special-tokens  Include special tokens such as [CLS] in the sets.
--split  Split of the data.
--sts-table  File sts.json of `softset eval sts --out`.
--swaps  Number of permutations in the approximate randomisation test.
--table  Table of the paper to reproduce: 1 compares metrics, 6 compares layers (on STS-B by default).
--text-form  Form of the sentences: as written, or tokenised.
--top  Number of items to print.
--transport  Include the slow metrics wmd and wrd in --metric all.
--tsv  Print tab-separated lines: query, id, membership, and the percentile with --percentile.
--unit  Build sets from tokens, or from words (the mean of each word's tokens).
--vector-field  Column with the vectors.
--vectors-file  Array file (.npy) with one row per item, used instead of encoding the texts.
--verify  Check every file against its SHA-256 checksum.
--where  Filter expression in the store's own syntax, such as 'metadata["year"] > 2000' for Milvus.
--words  File with one word per line, for a .npy or .safetensors file.
--workers  Number of worker processes.
"""

HELP = {
    flag: re.sub(r"\s+", " ", text).replace(" [default:", "  [default:")
    for flag, text in re.findall(r"^(--[\w-]+)  (.*(?:\n    .*)*)$", TEXTS, re.MULTILINE)
}
