import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LoraConfig(_message.Message):
    __slots__ = ("rank", "alpha", "target_modules")
    RANK_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    TARGET_MODULES_FIELD_NUMBER: _ClassVar[int]
    rank: int
    alpha: float
    target_modules: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, rank: _Optional[int] = ..., alpha: _Optional[float] = ..., target_modules: _Optional[_Iterable[str]] = ...) -> None: ...

class ModelInfo(_message.Message):
    __slots__ = ("model_id", "base_model", "seed", "next_seq", "step", "policy_version", "has_pending_gradients", "is_corrupted", "lora", "has_value_head", "trainable_parameter_count")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    BASE_MODEL_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    HAS_PENDING_GRADIENTS_FIELD_NUMBER: _ClassVar[int]
    IS_CORRUPTED_FIELD_NUMBER: _ClassVar[int]
    LORA_FIELD_NUMBER: _ClassVar[int]
    HAS_VALUE_HEAD_FIELD_NUMBER: _ClassVar[int]
    TRAINABLE_PARAMETER_COUNT_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    base_model: str
    seed: int
    next_seq: int
    step: int
    policy_version: int
    has_pending_gradients: bool
    is_corrupted: bool
    lora: LoraConfig
    has_value_head: bool
    trainable_parameter_count: int
    def __init__(self, model_id: _Optional[str] = ..., base_model: _Optional[str] = ..., seed: _Optional[int] = ..., next_seq: _Optional[int] = ..., step: _Optional[int] = ..., policy_version: _Optional[int] = ..., has_pending_gradients: bool = ..., is_corrupted: bool = ..., lora: _Optional[_Union[LoraConfig, _Mapping]] = ..., has_value_head: bool = ..., trainable_parameter_count: _Optional[int] = ...) -> None: ...

class CheckpointInfo(_message.Message):
    __slots__ = ("uri", "name", "step", "policy_version", "size_bytes", "create_time", "client_state")
    URI_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    CLIENT_STATE_FIELD_NUMBER: _ClassVar[int]
    uri: str
    name: str
    step: int
    policy_version: int
    size_bytes: int
    create_time: _timestamp_pb2.Timestamp
    client_state: bytes
    def __init__(self, uri: _Optional[str] = ..., name: _Optional[str] = ..., step: _Optional[int] = ..., policy_version: _Optional[int] = ..., size_bytes: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., client_state: _Optional[bytes] = ...) -> None: ...

class InferenceEndpoint(_message.Message):
    __slots__ = ("base_url", "model", "policy_version", "weights")
    BASE_URL_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    base_url: str
    model: str
    policy_version: int
    weights: PublishedWeights
    def __init__(self, base_url: _Optional[str] = ..., model: _Optional[str] = ..., policy_version: _Optional[int] = ..., weights: _Optional[_Union[PublishedWeights, _Mapping]] = ...) -> None: ...

class PublishedWeights(_message.Message):
    __slots__ = ("digest", "probe")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    digest: str
    probe: WeightProbe
    def __init__(self, digest: _Optional[str] = ..., probe: _Optional[_Union[WeightProbe, _Mapping]] = ...) -> None: ...

class WeightProbe(_message.Message):
    __slots__ = ("logprob_gap", "max_logprob_gap", "tokens")
    LOGPROB_GAP_FIELD_NUMBER: _ClassVar[int]
    MAX_LOGPROB_GAP_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    logprob_gap: float
    max_logprob_gap: float
    tokens: int
    def __init__(self, logprob_gap: _Optional[float] = ..., max_logprob_gap: _Optional[float] = ..., tokens: _Optional[int] = ...) -> None: ...

class InferenceState(_message.Message):
    __slots__ = ("is_paused", "in_flight", "policy_version")
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    is_paused: bool
    in_flight: int
    policy_version: int
    def __init__(self, is_paused: bool = ..., in_flight: _Optional[int] = ..., policy_version: _Optional[int] = ...) -> None: ...
