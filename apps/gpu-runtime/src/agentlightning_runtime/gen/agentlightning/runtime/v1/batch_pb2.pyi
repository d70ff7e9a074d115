from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BATCH_KIND_UNSPECIFIED: _ClassVar[BatchKind]
    BATCH_KIND_FORWARD: _ClassVar[BatchKind]
    BATCH_KIND_FORWARD_BACKWARD: _ClassVar[BatchKind]
BATCH_KIND_UNSPECIFIED: BatchKind
BATCH_KIND_FORWARD: BatchKind
BATCH_KIND_FORWARD_BACKWARD: BatchKind

class TrainedSpan(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Datum(_message.Message):
    __slots__ = ("token_ids", "trained", "sampling_logprobs", "advantages", "weights", "reference_logprobs", "temperature", "rollout_id", "group_id", "min_policy_version", "max_policy_version", "value_targets", "sampling_values", "images")
    TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    TRAINED_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    ADVANTAGES_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    ROLLOUT_ID_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    MIN_POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    MAX_POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    VALUE_TARGETS_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_VALUES_FIELD_NUMBER: _ClassVar[int]
    IMAGES_FIELD_NUMBER: _ClassVar[int]
    token_ids: bytes
    trained: _containers.RepeatedCompositeFieldContainer[TrainedSpan]
    sampling_logprobs: bytes
    advantages: bytes
    weights: bytes
    reference_logprobs: bytes
    temperature: float
    rollout_id: str
    group_id: str
    min_policy_version: int
    max_policy_version: int
    value_targets: bytes
    sampling_values: bytes
    images: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, token_ids: _Optional[bytes] = ..., trained: _Optional[_Iterable[_Union[TrainedSpan, _Mapping]]] = ..., sampling_logprobs: _Optional[bytes] = ..., advantages: _Optional[bytes] = ..., weights: _Optional[bytes] = ..., reference_logprobs: _Optional[bytes] = ..., temperature: _Optional[float] = ..., rollout_id: _Optional[str] = ..., group_id: _Optional[str] = ..., min_policy_version: _Optional[int] = ..., max_policy_version: _Optional[int] = ..., value_targets: _Optional[bytes] = ..., sampling_values: _Optional[bytes] = ..., images: _Optional[_Iterable[int]] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("data", "images")
    DATA_FIELD_NUMBER: _ClassVar[int]
    IMAGES_FIELD_NUMBER: _ClassVar[int]
    data: _containers.RepeatedCompositeFieldContainer[Datum]
    images: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, data: _Optional[_Iterable[_Union[Datum, _Mapping]]] = ..., images: _Optional[_Iterable[bytes]] = ...) -> None: ...

class LossSpec(_message.Message):
    __slots__ = ("name", "parameters")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    parameters: _containers.ScalarMap[str, float]
    def __init__(self, name: _Optional[str] = ..., parameters: _Optional[_Mapping[str, float]] = ...) -> None: ...

class OperationKey(_message.Message):
    __slots__ = ("session_id", "model_id", "seq")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    model_id: str
    seq: int
    def __init__(self, session_id: _Optional[str] = ..., model_id: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class BatchHeader(_message.Message):
    __slots__ = ("key", "kind", "loss", "datum_count", "token_count", "payload_bytes", "sha256", "use_reference", "max_version_lag")
    KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    DATUM_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    USE_REFERENCE_FIELD_NUMBER: _ClassVar[int]
    MAX_VERSION_LAG_FIELD_NUMBER: _ClassVar[int]
    key: OperationKey
    kind: BatchKind
    loss: LossSpec
    datum_count: int
    token_count: int
    payload_bytes: int
    sha256: bytes
    use_reference: bool
    max_version_lag: int
    def __init__(self, key: _Optional[_Union[OperationKey, _Mapping]] = ..., kind: _Optional[_Union[BatchKind, str]] = ..., loss: _Optional[_Union[LossSpec, _Mapping]] = ..., datum_count: _Optional[int] = ..., token_count: _Optional[int] = ..., payload_bytes: _Optional[int] = ..., sha256: _Optional[bytes] = ..., use_reference: bool = ..., max_version_lag: _Optional[int] = ...) -> None: ...

class BatchChunk(_message.Message):
    __slots__ = ("offset", "data")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    offset: int
    data: bytes
    def __init__(self, offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...
