from agentlightning_runtime.gen.agentlightning.runtime.v1 import model_pb2 as _model_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_CONFLICT: _ClassVar[ErrorReason]
    ERROR_REASON_SEQUENCE_REUSED: _ClassVar[ErrorReason]
    ERROR_REASON_SEQUENCE_GAP: _ClassVar[ErrorReason]
    ERROR_REASON_PRECONDITION: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_QUEUE_FULL: _ClassVar[ErrorReason]
    ERROR_REASON_OUT_OF_MEMORY: _ClassVar[ErrorReason]
    ERROR_REASON_NON_FINITE: _ClassVar[ErrorReason]
    ERROR_REASON_CANCELLED: _ClassVar[ErrorReason]
    ERROR_REASON_RESULT_EXPIRED: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_EXPIRED: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_SUPERSEDED: _ClassVar[ErrorReason]
    ERROR_REASON_UNAUTHENTICATED: _ClassVar[ErrorReason]
    ERROR_REASON_SHUTTING_DOWN: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_INCOMPLETE: _ClassVar[ErrorReason]
    ERROR_REASON_STALE_WEIGHTS: _ClassVar[ErrorReason]
    ERROR_REASON_DATA_LOSS: _ClassVar[ErrorReason]
    ERROR_REASON_ENGINE_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_WEIGHT_MISMATCH: _ClassVar[ErrorReason]

class ErrorCategory(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_CATEGORY_UNSPECIFIED: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_USER: _ClassVar[ErrorCategory]
    ERROR_CATEGORY_SERVER: _ClassVar[ErrorCategory]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_INVALID: ErrorReason
ERROR_REASON_NOT_FOUND: ErrorReason
ERROR_REASON_CONFLICT: ErrorReason
ERROR_REASON_SEQUENCE_REUSED: ErrorReason
ERROR_REASON_SEQUENCE_GAP: ErrorReason
ERROR_REASON_PRECONDITION: ErrorReason
ERROR_REASON_TOO_LARGE: ErrorReason
ERROR_REASON_QUEUE_FULL: ErrorReason
ERROR_REASON_OUT_OF_MEMORY: ErrorReason
ERROR_REASON_NON_FINITE: ErrorReason
ERROR_REASON_CANCELLED: ErrorReason
ERROR_REASON_RESULT_EXPIRED: ErrorReason
ERROR_REASON_SESSION_EXPIRED: ErrorReason
ERROR_REASON_SESSION_SUPERSEDED: ErrorReason
ERROR_REASON_UNAUTHENTICATED: ErrorReason
ERROR_REASON_SHUTTING_DOWN: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_INCOMPLETE: ErrorReason
ERROR_REASON_STALE_WEIGHTS: ErrorReason
ERROR_REASON_DATA_LOSS: ErrorReason
ERROR_REASON_ENGINE_UNAVAILABLE: ErrorReason
ERROR_REASON_WEIGHT_MISMATCH: ErrorReason
ERROR_CATEGORY_UNSPECIFIED: ErrorCategory
ERROR_CATEGORY_USER: ErrorCategory
ERROR_CATEGORY_SERVER: ErrorCategory

class RuntimeFailure(_message.Message):
    __slots__ = ("reason", "message", "field", "datum_index", "next_seq", "retry_after_ms", "gradients_discarded", "category", "remedy", "num_tokens", "max_tokens_seen_ok", "version_lag", "max_version_lag", "weight_probe")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DATUM_INDEX_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    GRADIENTS_DISCARDED_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    NUM_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_SEEN_OK_FIELD_NUMBER: _ClassVar[int]
    VERSION_LAG_FIELD_NUMBER: _ClassVar[int]
    MAX_VERSION_LAG_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_PROBE_FIELD_NUMBER: _ClassVar[int]
    reason: ErrorReason
    message: str
    field: str
    datum_index: int
    next_seq: int
    retry_after_ms: int
    gradients_discarded: bool
    category: ErrorCategory
    remedy: str
    num_tokens: int
    max_tokens_seen_ok: int
    version_lag: int
    max_version_lag: int
    weight_probe: _model_pb2.WeightProbe
    def __init__(self, reason: _Optional[_Union[ErrorReason, str]] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., datum_index: _Optional[int] = ..., next_seq: _Optional[int] = ..., retry_after_ms: _Optional[int] = ..., gradients_discarded: bool = ..., category: _Optional[_Union[ErrorCategory, str]] = ..., remedy: _Optional[str] = ..., num_tokens: _Optional[int] = ..., max_tokens_seen_ok: _Optional[int] = ..., version_lag: _Optional[int] = ..., max_version_lag: _Optional[int] = ..., weight_probe: _Optional[_Union[_model_pb2.WeightProbe, _Mapping]] = ...) -> None: ...
