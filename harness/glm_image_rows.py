"""What the rows of GLM-Image's seams share: upstream's module, and dimensions of a request."""

from harness.seam import Dim, one_of, size, whole_number

GLM_IMAGE = "sglang.multimodal_gen.runtime.pipelines_core.stages.model_specific_stages.glm_image"

RECORDS_DIM = Dim("a count of records, 1 to 64", whole_number(1, 64))
SHAPE_DIM = Dim("height x width in pixels, multiples of 32, as in 64x96", size(32))
SEEDS_DIM = Dim("none, int or list", one_of("none", "int", "list"), "int")
