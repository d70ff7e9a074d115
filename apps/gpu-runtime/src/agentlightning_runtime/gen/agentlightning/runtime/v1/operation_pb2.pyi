import datetime

from agentlightning_runtime.gen.agentlightning.runtime.v1 import artifact_pb2 as _artifact_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1 import error_pb2 as _error_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1 import model_pb2 as _model_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_STATE_UNSPECIFIED: _ClassVar[OperationState]
    OPERATION_STATE_STAGED: _ClassVar[OperationState]
    OPERATION_STATE_RUNNING: _ClassVar[OperationState]
    OPERATION_STATE_SUCCEEDED: _ClassVar[OperationState]
    OPERATION_STATE_FAILED: _ClassVar[OperationState]
    OPERATION_STATE_CANCELLED: _ClassVar[OperationState]

class QueueReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUEUE_REASON_UNSPECIFIED: _ClassVar[QueueReason]
    QUEUE_REASON_EARLIER_OPERATION: _ClassVar[QueueReason]
    QUEUE_REASON_SEQUENCE_GAP: _ClassVar[QueueReason]
    QUEUE_REASON_ENGINE_BUSY: _ClassVar[QueueReason]
    QUEUE_REASON_PAUSED: _ClassVar[QueueReason]
OPERATION_STATE_UNSPECIFIED: OperationState
OPERATION_STATE_STAGED: OperationState
OPERATION_STATE_RUNNING: OperationState
OPERATION_STATE_SUCCEEDED: OperationState
OPERATION_STATE_FAILED: OperationState
OPERATION_STATE_CANCELLED: OperationState
QUEUE_REASON_UNSPECIFIED: QueueReason
QUEUE_REASON_EARLIER_OPERATION: QueueReason
QUEUE_REASON_SEQUENCE_GAP: QueueReason
QUEUE_REASON_ENGINE_BUSY: QueueReason
QUEUE_REASON_PAUSED: QueueReason

class OperationProgress(_message.Message):
    __slots__ = ("fraction", "tokens_done", "tokens_total")
    FRACTION_FIELD_NUMBER: _ClassVar[int]
    TOKENS_DONE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_TOTAL_FIELD_NUMBER: _ClassVar[int]
    fraction: float
    tokens_done: int
    tokens_total: int
    def __init__(self, fraction: _Optional[float] = ..., tokens_done: _Optional[int] = ..., tokens_total: _Optional[int] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ("model_id", "seq", "state", "create_time", "start_time", "end_time", "progress", "queue_position", "queue_reason", "batch", "optim_step", "checkpoint", "endpoint", "model", "artifact", "error")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_REASON_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    OPTIM_STEP_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    seq: int
    state: OperationState
    create_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    progress: OperationProgress
    queue_position: int
    queue_reason: QueueReason
    batch: BatchResult
    optim_step: OptimStepResult
    checkpoint: _model_pb2.CheckpointInfo
    endpoint: _model_pb2.InferenceEndpoint
    model: _model_pb2.ModelInfo
    artifact: _artifact_pb2.ArtifactInfo
    error: _error_pb2.RuntimeFailure
    def __init__(self, model_id: _Optional[str] = ..., seq: _Optional[int] = ..., state: _Optional[_Union[OperationState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., progress: _Optional[_Union[OperationProgress, _Mapping]] = ..., queue_position: _Optional[int] = ..., queue_reason: _Optional[_Union[QueueReason, str]] = ..., batch: _Optional[_Union[BatchResult, _Mapping]] = ..., optim_step: _Optional[_Union[OptimStepResult, _Mapping]] = ..., checkpoint: _Optional[_Union[_model_pb2.CheckpointInfo, _Mapping]] = ..., endpoint: _Optional[_Union[_model_pb2.InferenceEndpoint, _Mapping]] = ..., model: _Optional[_Union[_model_pb2.ModelInfo, _Mapping]] = ..., artifact: _Optional[_Union[_artifact_pb2.ArtifactInfo, _Mapping]] = ..., error: _Optional[_Union[_error_pb2.RuntimeFailure, _Mapping]] = ...) -> None: ...

class OperationEvent(_message.Message):
    __slots__ = ("cursor", "operation")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    operation: Operation
    def __init__(self, cursor: _Optional[str] = ..., operation: _Optional[_Union[Operation, _Mapping]] = ...) -> None: ...

class BatchResult(_message.Message):
    __slots__ = ("loss", "trained_tokens", "metrics", "output_bytes", "value_output_bytes")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    LOSS_FIELD_NUMBER: _ClassVar[int]
    TRAINED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    VALUE_OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    loss: float
    trained_tokens: int
    metrics: _containers.ScalarMap[str, float]
    output_bytes: int
    value_output_bytes: int
    def __init__(self, loss: _Optional[float] = ..., trained_tokens: _Optional[int] = ..., metrics: _Optional[_Mapping[str, float]] = ..., output_bytes: _Optional[int] = ..., value_output_bytes: _Optional[int] = ...) -> None: ...

class OptimStepResult(_message.Message):
    __slots__ = ("step", "gradient_norm", "is_skipped", "is_gradient_norm_unknown")
    STEP_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_NORM_FIELD_NUMBER: _ClassVar[int]
    IS_SKIPPED_FIELD_NUMBER: _ClassVar[int]
    IS_GRADIENT_NORM_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    step: int
    gradient_norm: float
    is_skipped: bool
    is_gradient_norm_unknown: bool
    def __init__(self, step: _Optional[int] = ..., gradient_norm: _Optional[float] = ..., is_skipped: bool = ..., is_gradient_norm_unknown: bool = ...) -> None: ...
