"""ar-request: the AR server reads the /generate request of the diffusion stage.

What is asked for stands in three columns: `input_ids`, `image_data` and `sampling_params`, of one
prompt or of a batch. What must hold of each is in `contracts.clauses.generate_columns` and
`contracts.clauses.sampling_params`; here is that they belong together:

- the request says a prompt, and in one form only;
- a batch has image data and sampling parameters for each prompt, and one request id each;
- what stands in row i is prompt i's.

The payload is the parsed JSON body. The request is the body that the stage meant to send.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.clauses import generate_columns as columns
from contracts.clauses import sampling_params
from contracts.clauses.generate_columns import normalizing
from contracts.contract import Clause, Contract, OwnerOf, Unchecked, Violation

PROMPT_GIVEN = Clause(
    "prompt-given",
    "The request says a prompt: text or ids.",
    guards=(
        normalizing(
            "_validate_inputs", "Either text, input_ids or input_embeds should be provided."
        ),
    ),
)
PROMPT_ONCE = Clause("prompt-once", "The prompt is said in one form only.")
IDS_SOME = Clause(
    "ids-some",
    "There are ids.",
    guards=(normalizing("_determine_batch_size", "input_ids cannot be empty."),),
)
PARAMS_SOME = Clause(
    "params-some", "A list of parameters has at least one.", incidental=("IndexError",)
)
SAMPLES_EQUAL = Clause(
    "samples-equal",
    "Every prompt asks for the same count of samples.",
    guards=(
        normalizing(
            "_handle_parallel_sampling",
            "The parallel_sample_num should be the same for all samples in sample params.",
        ),
    ),
)
RIDS_COUNT = Clause(
    "rids-count",
    "A list of request ids has one for each prompt.",
    guards=(
        normalizing(
            "_normalize_rid",
            "The specified rids length mismatch with the batch_size for batch processing.",
        ),
    ),
)
IMAGES_COUNT = Clause(
    "images-count",
    "A list of image data has one entry for each prompt.",
    guards=(
        normalizing(
            "_normalize_image_data", "The length of image_data should be equal to the batch size."
        ),
    ),
)
RIDS_DISTINCT = Clause(
    "rids-distinct",
    "No two prompts have one request id.",
    guards=(
        normalizing(
            "_validate_rid_uniqueness",
            "Duplicate request IDs detected within the request: {twins}",
        ),
    ),
)
PARAMS_COUNT = Clause(
    "params-count",
    "A list of parameters has one entry for each prompt.",
    incidental=("IndexError",),
)
PARAMS_EACH = Clause("params-each", "Each prompt is asked for with its own parameters.")
IMAGES_EACH = Clause("images-each", "Each prompt has the grids of its picture.")
ROW_IDENTITY = Clause("row-identity", "Row i has prompt i's ids.", identity=True)

CLAUSES = (
    *columns.PARSED,
    *columns.SCHEMA,
    PROMPT_GIVEN,
    PROMPT_ONCE,
    IDS_SOME,
    PARAMS_SOME,
    SAMPLES_EQUAL,
    RIDS_COUNT,
    IMAGES_COUNT,
    RIDS_DISTINCT,
    PARAMS_COUNT,
    *sampling_params.CLAUSES,
    PARAMS_EACH,
    columns.IDS_EACH,
    IMAGES_EACH,
    ROW_IDENTITY,
)


def _walk(
    body: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    yield from columns.walk_parse(body)
    yield from columns.walk_schema(body)
    yield from _walk_inputs(body)
    if not isinstance(body.get("input_ids"), list):
        yield Unchecked(ROW_IDENTITY, "there are no ids")
        return
    rows, batch = columns.rows_of(body)
    yield from _walk_columns(body, len(rows), batch)
    yield from _walk_params(body, request, len(rows), batch)
    yield from columns.walk_ids(rows)
    yield from _walk_images(body, request, len(rows), batch)
    if owner_of is None:
        yield Unchecked(ROW_IDENTITY, "whose ids they are can be told only by a stamp reader")
        return
    for index, origin in enumerate(owner_of(rows)):
        if origin is None or origin.owner != index:
            said = "nobody's" if origin is None else f"those of prompt {origin.owner}"
            where = f"$.input_ids[{index}]"
            yield Violation(ROW_IDENTITY, where, f"the ids of prompt {index}", said)
            return


def _walk_inputs(body: Mapping[str, Any]) -> Iterator[Violation]:
    text, ids = body.get("text"), body.get("input_ids")
    if text is None and ids is None:
        yield Violation(PROMPT_GIVEN, "$", "text or ids", "neither")
    if text is not None and ids is not None:
        yield Violation(PROMPT_ONCE, "$.text", "ids alone", "text beside them")
    if ids == [] and text is None:
        yield Violation(IDS_SOME, "$.input_ids", "ids", "none")
    params = body.get("sampling_params")
    if params == []:
        yield Violation(PARAMS_SOME, "$.sampling_params", "parameters", "an empty list")
    counts = [one.get("n", 1) for one in columns.params_of(body) if isinstance(one, dict)]
    if len(set(counts)) > 1:
        yield Violation(SAMPLES_EQUAL, "$.sampling_params", "one count", str(counts))


def _walk_columns(body: Mapping[str, Any], count: int, batch: bool) -> Iterator[Violation]:
    rids, images = body.get("rid"), body.get("image_data")
    if batch and isinstance(rids, list) and len(rids) != count:
        yield Violation(RIDS_COUNT, "$.rid", f"{count} ids", str(len(rids)))
    if batch and isinstance(images, list) and images and len(images) != count:
        yield Violation(IMAGES_COUNT, "$.image_data", f"{count} entries", str(len(images)))
    if isinstance(rids, list) and (twins := [r for r in dict.fromkeys(rids) if rids.count(r) > 1]):
        yield Violation(RIDS_DISTINCT, "$.rid", "each once", str(twins), {"twins": twins})


def _walk_params(
    body: Mapping[str, Any], request: Mapping[str, Any], count: int, batch: bool
) -> Iterator[Violation]:
    params, where = body.get("sampling_params"), "$.sampling_params"
    # Prompt by prompt: what is wrong with the first is met before the second is missed.
    yield from sampling_params.walk(body, count)
    if batch and isinstance(params, list) and len(params) != count:
        accident = None if len(params) < count else ()
        said = str(len(params))
        yield Violation(PARAMS_COUNT, where, f"{count} entries", said, incidental=accident)
    meant = columns.params_of(request)[:count]
    given = params if isinstance(params, list) else [params] * len(meant)
    other = next((i for i, (p, m) in enumerate(zip(given, meant, strict=False)) if p != m), None)
    if other is not None:
        yield Violation(PARAMS_EACH, where, f"those of prompt {other}", str(given[other]))


def _walk_images(
    body: Mapping[str, Any], request: Mapping[str, Any], count: int, batch: bool
) -> Iterator[Violation]:
    images, meant = body.get("image_data"), request["image_data"]
    if not batch:
        # What is no list is made one.
        if images != meant and [images] != meant:
            yield Violation(IMAGES_EACH, "$.image_data", "the picture's grids", _short(images))
        return
    for index, want in enumerate(meant[:count]):
        got = columns.images_at(images, index)
        if got != want:
            where = f"$.image_data[{index}]"
            yield Violation(IMAGES_EACH, where, "the picture's grids", _short(got))
            return


def _short(value: Any) -> str:
    return "other grids" if value else repr(value)


CONTRACT = Contract(
    "ar-request",
    "The AR server reads the /generate request of the diffusion stage.",
    CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
