"""Public reports of components that lied to each other, retold as small cases.

`docs/wild.md` says what was reported, and which reports are not here, and why.
"""

from dataclasses import dataclass

from harness.verdict import Verdict


@dataclass(frozen=True)
class Named:
    """One case with a name, and what it retells."""

    line: str
    #: What the newest release does with it.
    verdict: Verdict
    story: str


#: Public reports, retold as small inputs; `docs/wild.md` says which are not here, and why.
REPORTED = {
    "B01": Named(
        "image-resolution canvas-twelve-less shape=512x512",
        Verdict.TOLERATED,
        "500x500 is rounded one way before the AR server and another way before the denoiser",
    ),
    "B03a": Named(
        "ar-batch duplication-extra records=2 shape=64x96 at=1",
        Verdict.REFUSED,
        "an over-long prompt of a batch is answered twice: three outputs for two prompts",
    ),
    "B03b": Named(
        "ar-batch omission records=3 shape=64x96 at=1",
        Verdict.REFUSED,
        "an over-long prompt of a batch is dropped: two outputs for three prompts",
    ),
    "B03c": Named(
        "ar-batch duplication records=3 shape=64x96 at=1,2",
        Verdict.SILENT,
        "one output doubled and one dropped: the count is right, and a prompt gets another's",
    ),
    "B05": Named(
        "ar-batch truncation records=4 shape=64x96 entry=forward outputs=4 at=1",
        Verdict.REFUSED,
        "n=4 is accepted and ignored: one output for four",
    ),
    "B06": Named(
        "ar-tokens ids-prompt-front shape=1024x1024",
        Verdict.SILENT,
        "output_ids begin with the prompt's last five: every token stands five places off",
    ),
    "B09": Named(
        "ar-tokens finish-error+ids-empty shape=64x96 at=0;0",
        Verdict.REFUSED,
        "status 200, no ids, and a finish reason that says error",
    ),
    "B10": Named(
        "ar-tokens item-aborted+ids-half shape=1024x1024 at=0;0",
        Verdict.REFUSED,
        "an aborted request is answered with status 200 and half of the ids",
    ),
    "B10full": Named(
        "ar-single item-aborted shape=64x96",
        Verdict.TOLERATED,
        "an aborted request is answered with all of the ids: the finish reason is not read",
    ),
    "B11": Named(
        "ar-batch body-error records=8 shape=64x64",
        Verdict.REFUSED,
        "a proxy wraps an error into status 200",
    ),
    "B12": Named(
        "ar-transport html-504 shape=64x96",
        Verdict.REFUSED,
        "a gateway answers with its time-out page and status 504",
    ),
    "B12ok": Named(
        "ar-transport html-200 shape=64x96",
        Verdict.MISREPORTED,
        "a gateway answers with its time-out page and status 200",
    ),
    "B14": Named(
        "ar-transport error-404 shape=64x96",
        Verdict.REFUSED,
        "another process on the port is healthy, and has no such path",
    ),
    "B14old": Named(
        "ar-batch substitution records=2 shape=64x96 at=1",
        Verdict.SILENT,
        "another process on the port answers, with other weights",
    ),
    "B17": Named(
        "embedding-scatter placed-last-lost records=2 requests=2 at=0",
        Verdict.REFUSED,
        "a prompt has a placeholder more than there are rows: the batch of both requests ends",
    ),
    "B17more": Named(
        "embedding-scatter placed-first-doubled records=2 requests=2 at=0",
        Verdict.SILENT,
        "one row more than placeholders: the rows stand one place off",
    ),
    "B18": Named(
        "encoder-validate count-double records=1 at=0",
        Verdict.REFUSED,
        "a clip is counted by one frame sampler and encoded by another, which makes half of it",
    ),
    "B18long": Named(
        "encoder-validate embedding-twice records=1 at=0",
        Verdict.REFUSED,
        "the same of a long clip: twice the rows that were counted",
    ),
    "B19": Named(
        "encoder-precomputed-layout offsets-shared records=2 kinds=mixed entry=model at=0,1",
        Verdict.SILENT,
        "the places of a picture and of a clip are taken for one and the same",
    ),
    "B19more": Named(
        "encoder-precomputed-layout offsets-twice records=2 kinds=mixed entry=model at=0",
        Verdict.REFUSED,
        "a picture is given the places of a clip beside its own",
    ),
    "B20": Named(
        "encoder-validate counts-small-side records=1 pictures=23x3",
        Verdict.REFUSED,
        "a crop of 23x3 pixels is counted by a rule that minds small sides, and encoded without",
    ),
    "B23": Named(
        "embedding-scatter placed-all-wide records=2",
        Verdict.MISREPORTED,
        "rows twice as wide as the model's, and as many as the placeholders",
    ),
    "B23narrow": Named(
        "embedding-scatter placed-all-narrow records=2",
        Verdict.MISREPORTED,
        "rows narrower than the model's, and as many as the placeholders",
    ),
    "B24": Named(
        "encoder-grid-dim patch-grids-doubled requests=1 each=1",
        Verdict.REFUSED,
        "the server's formula counts four times the rows that the model pools together",
    ),
    "B24key": Named(
        "encoder-grid-dim patch-grids-stale-hws requests=2 each=1",
        Verdict.TOLERATED,
        "two grids of one picture under two names, and they disagree",
    ),
    "B26": Named(
        "encoder-precomputed-layout omission records=2 entry=own at=1",
        Verdict.REFUSED,
        "one picture of two is encoded",
    ),
    "B26same": Named(
        "encoder-stage embeddings-doubled requests=1 each=2 pictures=alike at=0,1",
        Verdict.SILENT,
        "two pictures of one size, and the rows of the first for both",
    ),
    "B27": Named(
        "encoder-parts part-grid-larger records=1 at=0",
        Verdict.SILENT,
        "the grid that goes with the rows is another picture size's",
    ),
    "B28": Named(
        "encoder-validate embedding-last-lost records=1 entry=cached at=0",
        Verdict.REFUSED,
        "a cache that is keyed too weakly answers with a picture of another size",
    ),
    "B28same": Named(
        "encoder-validate embedding-stale records=1 entry=cached at=0",
        Verdict.SILENT,
        "the same with a picture of the same size",
    ),
    "B30": Named(
        "encoder-destinations omission records=2 at=0",
        Verdict.REFUSED,
        "an encoder is done, and one rank of two has not registered where the rows shall be sent",
    ),
    "B30late": Named(
        "encoder-destinations destination-late records=2 at=0",
        Verdict.REFUSED,
        "the same, and the rank registers once the encoder has given up",
    ),
    "B31": Named(
        "encoder-stage count-one-less requests=3 each=1 at=1",
        Verdict.REFUSED,
        "one of three requests is miscounted, and all three are answered with the error",
    ),
    "B31moved": Named(
        "encoder-stage counts-moved requests=3 each=1 at=0,1",
        Verdict.SILENT,
        "two miscounts make up for one another: one request gets rows of the other",
    ),
    "B33": Named(
        "embedding-scatter placed-last-lost records=2 sizes=unlike window=cut at=0",
        Verdict.REFUSED,
        "a chunk begins within a picture, and the picture has a row too few",
    ),
    "B33moved": Named(
        "embedding-scatter offsets-shorter records=2 sizes=unlike window=cut at=0",
        Verdict.SILENT,
        "a chunk begins within a picture, and its rows are counted from another place",
    ),
    "B35": Named(
        "shard-gather splits-floor rows=5,4 entry=both",
        Verdict.SILENT,
        "a sequence is shared out by floor division: no rank holds the row that is left over",
    ),
    "B36": Named(
        "shard-gather split-one-more+split-one-more rows=5,3 entry=gather at=0;1",
        Verdict.SILENT,
        "every shard is counted with a row of padding: more is gathered than was shared out",
    ),
    "B36ceil": Named(
        "shard-gather splits-ceil rows=5,4 entry=both",
        Verdict.CRASHED,
        "equal shards of the rounded-up size, where the last rank has a row less",
    ),
    "B37": Named(
        "shard-gather rows-joined rows=4,4 entry=gather",
        Verdict.SILENT,
        "each rank joins its part of the noise and its part of the image, and calls it one run",
    ),
    "B38": Named(
        "shard-gather rows-repeated rows=4,4 entry=gather",
        Verdict.SILENT,
        "text that every rank holds whole is counted as if it were shared out",
    ),
    "B42": Named(
        "shard-splits rank-away rows=5,3 at=0",
        Verdict.HUNG,
        "one rank has dropped a request that the others kept, and never comes to the exchange",
    ),
    "B44": Named(
        "shard-all-to-all shards-uneven rows=4,4 entry=fixed-in",
        Verdict.CRASHED,
        "a collective over unequal shapes",
    ),
    "B45": Named(
        "shard-splits split-one-less rows=5,3 at=0",
        Verdict.MISREPORTED,
        "a count off by one ends one rank, and the others with it",
    ),
    "B45stays": Named(
        "shard-splits split-one-less rows=5,3 after=stays at=0",
        Verdict.HUNG,
        "the same, where the rank goes on to the next request and the others wait for it",
    ),
    "B51": Named(
        "ar-batch item-extra-field records=2 shape=64x96 at=0",
        Verdict.TOLERATED,
        "one release adds a field that is always null",
    ),
    "B55": Named(
        "ar-batch duplication-all records=3 shape=64x96 at=0",
        Verdict.SILENT,
        "a later stage reads only the first entry of a batch",
    ),
    "collapse": Named(
        "ar-tokens ids-few-distinct shape=256x256",
        Verdict.SILENT,
        "a collapsed sampler: fifteen distinct ids in all of a picture",
    ),
}
