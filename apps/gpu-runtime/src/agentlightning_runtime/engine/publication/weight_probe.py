"""Compares the sampler with the trainer after a publication.

When a sampler serves other weights than the trained ones, training continues and learns nothing. A digest computed by
the sampler would be exact, but vLLM reports none, and it would not detect an adapter that is loaded and not applied.
Log-probabilities of prompts need a route that OpenAI's API does not have, and do not exercise decoding. A difference
below the rounding of the data type is not detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agentlightning_runtime.contract.batch import Batch, Datum, TrainedSpan
from agentlightning_runtime.contract.errors import EngineError, EngineErrorReason
from agentlightning_runtime.contract.results import ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from agentlightning_runtime.contract.inference_backend import InferenceBackend, ProbeResponse, ServedModel
    from agentlightning_runtime.engine.base.ranks import Ranks

    Score = Callable[[Batch], Sequence[NDArray[np.float32]]]

#: Each response is a separate request, so that every replica behind a load balancer is likely to sample some.
_PROMPTS = 16
#: Longer than a block of vLLM's prefix cache, so that stale cached prefixes are detected.
_PROMPT_TOKENS = 48
_FIRST_RESPONSE_TOKENS = 8
#: Of later publications: the prompt and one step of decoding. Each further token is a step of the sampler.
_RESPONSE_TOKENS = 2
#: Limit of the gap, as a multiple of the gap at the first publication: rounding differs between policies.
_LIMIT_FACTOR = 4.0
#: Smallest limit, in nats per token: in float32, sampler and trainer differ by less than 1e-4.
_SMALLEST_LIMIT = 1e-3
#: Largest gap at the first publication, in nats per token. Rounding in bfloat16 causes 0.01 to 0.05.
_LARGEST_FIRST_GAP = 0.5


class WeightProbe:
    """Samples responses to fixed prompts and scores them with the trained network.

    The gap of the first tokens at the first publication sets the limit for the later ones, which sample as many: it is
    caused by rounding, since the weights are the base's and a LoRA is zero.

    Args:
        served: The served model.
        inference: Its backend.
        ranks: The processes that train it.
        score: Log-probabilities of the trained tokens under the trained network. All ranks must call it.
    """

    def __init__(self, served: ServedModel, inference: InferenceBackend, ranks: Ranks, score: Score) -> None:
        self._served = served
        self._inference = inference
        self._ranks = ranks
        self._score = score
        self._limit: float | None = None

    def check(self, version: int) -> ProbeResult | None:
        """Probes the endpoint; None when the backend does not sample. All ranks must call this.

        Raises:
            EngineError: WEIGHT_MISMATCH when sampler and trainer disagree, ENGINE_UNAVAILABLE when the sampler fails.
        """
        prompts, max_tokens = self._prompts()
        model_id = self._served.model_id
        responses = self._ranks.agree(lambda: self._inference.probe(model_id, prompts, max_tokens))
        if not responses:
            return None
        found = self._score(Batch([_datum(each) for each in responses]))
        differences = [
            np.abs(own - np.asarray(each.logprobs, dtype=np.float32))
            for own, each in zip(found, responses, strict=True)
        ]
        gaps = [float(each.mean()) for each in differences]
        # A NaN in any response must not disappear in the maximum.
        gap = float(np.max(gaps))
        first_tokens = float(np.max([each[:_RESPONSE_TOKENS].mean() for each in differences]))
        limit = self._limit or max(_SMALLEST_LIMIT, _LIMIT_FACTOR * first_tokens)
        allowed = _LARGEST_FIRST_GAP if self._limit is None else limit
        result = ProbeResult(gap, allowed, sum(len(each.tokens) for each in responses))
        if not gap <= allowed:
            raise self._mismatch(version, result, sum(not each <= allowed for each in gaps))
        self._limit = limit
        return ProbeResult(gap, limit, result.tokens)

    def _prompts(self) -> tuple[Sequence[Sequence[int]], int]:
        """The same pseudo-random tokens at every publication, and the length of the responses."""
        wanted = _FIRST_RESPONSE_TOKENS if self._limit is None else _RESPONSE_TOKENS
        context = self._served.max_context or _PROMPT_TOKENS + wanted
        max_tokens = max(1, min(wanted, context // 2))
        length = max(1, min(_PROMPT_TOKENS, context - max_tokens))
        tokens = np.random.default_rng(0).integers(0, self._served.output_size, (_PROMPTS, length))
        return tokens.tolist(), max_tokens

    def _mismatch(self, version: int, result: ProbeResult, differing: int) -> EngineError:
        message = (
            f'The endpoint of model "{self._served.model_id}" does not sample from policy version {version}: '
            f"log-probabilities of sampler and trainer differ by {result.logprob_gap:.4g} nats per token, above "
            f"{result.max_logprob_gap:.4g}, in {differing} of {_PROMPTS} probe responses"
        )
        remedy = "Restart the runtime and resume from the last checkpoint; its log has the sampler's messages"
        return EngineError(EngineErrorReason.WEIGHT_MISMATCH, message, remedy=remedy, probe=result)


def _datum(response: ProbeResponse) -> Datum:
    start, count = len(response.prompt), len(response.tokens)
    zeros = np.zeros(count, dtype=np.float32)
    return Datum(
        token_ids=np.asarray([*response.prompt, *response.tokens], dtype=np.int32),
        trained=[TrainedSpan(start, start + count)],
        sampling_logprobs=np.asarray(response.logprobs, dtype=np.float32),
        advantages=zeros,
        weights=zeros,
        temperature=1.0,
    )
