"""Sends every kind of request by the official SDK: sdk_requests.py URL MODEL. What this server refuses is left out."""

import sys

import tinker
from tinker import types

url, model = sys.argv[1:]
service = tinker.ServiceClient(base_url=url, api_key="tml-test")
training = service.create_lora_training_client(base_model=model, rank=8, seed=1)


def tensor(values, dtype="float32"):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def attempt(act):
    try:
        return act()
    except BaseException as error:
        print(type(error).__name__, str(error)[:200], file=sys.stderr)
        return None


inputs = {
    "target_tokens": tensor([2, 3, 4, 5], "int64"),
    "logprobs": tensor([-5.0, -5.0, -5.0, -5.0]),
    "advantages": tensor([0.0, 0.0, 0.5, 1.0]),
}
datum = types.Datum(model_input=types.ModelInput.from_ints([1, 2, 3, 4]), loss_fn_inputs=inputs)
weighted = {"target_tokens": inputs["target_tokens"], "weights": tensor([1.0, 1.0, 1.0, 1.0])}
scored = types.Datum(model_input=types.ModelInput.from_ints([1, 2, 3, 4]), loss_fn_inputs=weighted)
attempt(lambda: training.forward([scored], "cross_entropy").result(timeout=300))
attempt(lambda: training.forward_backward([datum], "importance_sampling").result(timeout=300))
attempt(lambda: training.optim_step(types.AdamParams(learning_rate=1e-3)).result(timeout=300))
sampler = attempt(training.save_weights_and_get_sampling_client)
params = types.SamplingParams(max_tokens=3, seed=3, temperature=1.0, stop=[])
if sampler is not None:
    prompt = types.ModelInput.from_ints([1, 2, 3])
    attempt(lambda: sampler.sample(prompt=prompt, num_samples=1, sampling_params=params).result(timeout=120))
saved = attempt(lambda: training.save_state("sdk").result(timeout=300))
if saved is not None:
    attempt(lambda: service.create_training_client_from_state_with_optimizer(saved.path))
