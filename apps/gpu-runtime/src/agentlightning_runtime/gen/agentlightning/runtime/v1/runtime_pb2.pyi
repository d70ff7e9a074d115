import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetCapabilitiesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetCapabilitiesResponse(_message.Message):
    __slots__ = ("runtime_version", "api_versions", "device", "base_models", "losses", "max_message_bytes", "max_batch_bytes", "max_batch_tokens", "max_batch_data", "max_inflight_bytes", "reorder_window", "heartbeat_interval_ms", "session_ttl_ms", "result_ttl_ms", "features", "dtype", "max_models", "abandoned_model_ttl_ms", "device_count")
    RUNTIME_VERSION_FIELD_NUMBER: _ClassVar[int]
    API_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    BASE_MODELS_FIELD_NUMBER: _ClassVar[int]
    LOSSES_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_DATA_FIELD_NUMBER: _ClassVar[int]
    MAX_INFLIGHT_BYTES_FIELD_NUMBER: _ClassVar[int]
    REORDER_WINDOW_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    SESSION_TTL_MS_FIELD_NUMBER: _ClassVar[int]
    RESULT_TTL_MS_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    MAX_MODELS_FIELD_NUMBER: _ClassVar[int]
    ABANDONED_MODEL_TTL_MS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_COUNT_FIELD_NUMBER: _ClassVar[int]
    runtime_version: str
    api_versions: _containers.RepeatedScalarFieldContainer[str]
    device: str
    base_models: _containers.RepeatedCompositeFieldContainer[BaseModel]
    losses: _containers.RepeatedCompositeFieldContainer[LossInfo]
    max_message_bytes: int
    max_batch_bytes: int
    max_batch_tokens: int
    max_batch_data: int
    max_inflight_bytes: int
    reorder_window: int
    heartbeat_interval_ms: int
    session_ttl_ms: int
    result_ttl_ms: int
    features: _containers.RepeatedScalarFieldContainer[str]
    dtype: str
    max_models: int
    abandoned_model_ttl_ms: int
    device_count: int
    def __init__(self, runtime_version: _Optional[str] = ..., api_versions: _Optional[_Iterable[str]] = ..., device: _Optional[str] = ..., base_models: _Optional[_Iterable[_Union[BaseModel, _Mapping]]] = ..., losses: _Optional[_Iterable[_Union[LossInfo, _Mapping]]] = ..., max_message_bytes: _Optional[int] = ..., max_batch_bytes: _Optional[int] = ..., max_batch_tokens: _Optional[int] = ..., max_batch_data: _Optional[int] = ..., max_inflight_bytes: _Optional[int] = ..., reorder_window: _Optional[int] = ..., heartbeat_interval_ms: _Optional[int] = ..., session_ttl_ms: _Optional[int] = ..., result_ttl_ms: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ..., dtype: _Optional[str] = ..., max_models: _Optional[int] = ..., abandoned_model_ttl_ms: _Optional[int] = ..., device_count: _Optional[int] = ...) -> None: ...

class BaseModel(_message.Message):
    __slots__ = ("name", "max_context", "vocab_size", "tokenizer_sha256", "chat_template_sha256", "max_lora_rank", "parameter_count", "lora_target_modules", "reads_images", "license")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    VOCAB_SIZE_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_SHA256_FIELD_NUMBER: _ClassVar[int]
    CHAT_TEMPLATE_SHA256_FIELD_NUMBER: _ClassVar[int]
    MAX_LORA_RANK_FIELD_NUMBER: _ClassVar[int]
    PARAMETER_COUNT_FIELD_NUMBER: _ClassVar[int]
    LORA_TARGET_MODULES_FIELD_NUMBER: _ClassVar[int]
    READS_IMAGES_FIELD_NUMBER: _ClassVar[int]
    LICENSE_FIELD_NUMBER: _ClassVar[int]
    name: str
    max_context: int
    vocab_size: int
    tokenizer_sha256: str
    chat_template_sha256: str
    max_lora_rank: int
    parameter_count: int
    lora_target_modules: _containers.RepeatedScalarFieldContainer[str]
    reads_images: bool
    license: str
    def __init__(self, name: _Optional[str] = ..., max_context: _Optional[int] = ..., vocab_size: _Optional[int] = ..., tokenizer_sha256: _Optional[str] = ..., chat_template_sha256: _Optional[str] = ..., max_lora_rank: _Optional[int] = ..., parameter_count: _Optional[int] = ..., lora_target_modules: _Optional[_Iterable[str]] = ..., reads_images: bool = ..., license: _Optional[str] = ...) -> None: ...

class LossInfo(_message.Message):
    __slots__ = ("name", "version", "defaults")
    class DefaultsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    defaults: _containers.ScalarMap[str, float]
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., defaults: _Optional[_Mapping[str, float]] = ...) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("client_session_key", "client_version")
    CLIENT_SESSION_KEY_FIELD_NUMBER: _ClassVar[int]
    CLIENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    client_session_key: str
    client_version: str
    def __init__(self, client_session_key: _Optional[str] = ..., client_version: _Optional[str] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchMetricsRequest(_message.Message):
    __slots__ = ("model_id", "after_cursor")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    after_cursor: str
    def __init__(self, model_id: _Optional[str] = ..., after_cursor: _Optional[str] = ...) -> None: ...

class WatchMetricsResponse(_message.Message):
    __slots__ = ("cursor", "points")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    points: _containers.RepeatedCompositeFieldContainer[MetricPoint]
    def __init__(self, cursor: _Optional[str] = ..., points: _Optional[_Iterable[_Union[MetricPoint, _Mapping]]] = ...) -> None: ...

class MetricPoint(_message.Message):
    __slots__ = ("model_id", "name", "value", "step", "time")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    name: str
    value: float
    step: int
    time: _timestamp_pb2.Timestamp
    def __init__(self, model_id: _Optional[str] = ..., name: _Optional[str] = ..., value: _Optional[float] = ..., step: _Optional[int] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
