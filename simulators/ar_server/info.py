"""What the health and information routes say, release by release.

Source: sglang 0.5.23, srt/entrypoints/http_server.py, health_generate, model_info, server_info
"""

from typing import Any

from contracts.releases import Span
from simulators.http_answer import Answer, json_answer

MODEL_PATH = "zai-org/GLM-Image"

#: Source: sglang 0.5.20, srt/entrypoints/http_server.py, ready
_READY = Span("0.5.20")
_NAMED = Span("0.5.18")
_DISAGGREGATED = Span("0.5.21")

#: An answer of status 200 and nothing else.
HEALTHY = Answer(200)


def get_routes(release: str) -> dict[str, Answer]:
    """Return the answer of each GET route that the release has, by path."""
    model = json_answer(200, _model_info(release))
    server = json_answer(200, _server_info(release))
    routes = {
        "/health": HEALTHY,
        "/health_generate": HEALTHY,
        "/model_info": model,
        "/get_model_info": model,
        "/server_info": server,
        "/get_server_info": server,
    }
    return routes | ({"/ready": HEALTHY} if release in _READY else {})


def _model_info(release: str) -> dict[str, Any]:
    named = release in _NAMED
    return {
        "model_path": MODEL_PATH,
        **({"served_model_name": MODEL_PATH} if named else {}),
        "tokenizer_path": MODEL_PATH,
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        **({"load_format": "auto", "reasoning_parser": None} if named else {}),
        **({"tool_call_parser": None} if named else {}),
        **({"disaggregation_mode": "null"} if release in _DISAGGREGATED else {}),
        "has_image_understanding": True,
        "has_audio_understanding": False,
        "model_type": "glm_image",
        "architectures": ["GlmImageForConditionalGeneration"],
    }


def _server_info(release: str) -> dict[str, Any]:
    # The real answer holds some hundred server arguments; these are the ones that name the model.
    return {
        "model_path": MODEL_PATH,
        "served_model_name": MODEL_PATH,
        "tokenizer_path": MODEL_PATH,
        **({"launch_command": "seamproof serve ar"} if release in _READY else {}),
        "kv_events": None,
        **({"startup_time": 0.0} if release in Span("0.5.17") else {}),
        "internal_states": [{}],
        "version": release,
        **({"frontend": "python"} if release in _DISAGGREGATED else {}),
    }
