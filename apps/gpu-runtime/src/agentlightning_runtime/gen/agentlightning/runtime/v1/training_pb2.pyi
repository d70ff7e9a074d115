from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2 as _batch_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1 import export_pb2 as _export_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1 import model_pb2 as _model_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1 import operation_pb2 as _operation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BatchOutputKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BATCH_OUTPUT_KIND_UNSPECIFIED: _ClassVar[BatchOutputKind]
    BATCH_OUTPUT_KIND_LOGPROBS: _ClassVar[BatchOutputKind]
    BATCH_OUTPUT_KIND_VALUES: _ClassVar[BatchOutputKind]
BATCH_OUTPUT_KIND_UNSPECIFIED: BatchOutputKind
BATCH_OUTPUT_KIND_LOGPROBS: BatchOutputKind
BATCH_OUTPUT_KIND_VALUES: BatchOutputKind

class CreateModelRequest(_message.Message):
    __slots__ = ("session_id", "model_id", "base_model", "seed", "lora", "has_value_head", "initial_checkpoint")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    BASE_MODEL_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    LORA_FIELD_NUMBER: _ClassVar[int]
    HAS_VALUE_HEAD_FIELD_NUMBER: _ClassVar[int]
    INITIAL_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    model_id: str
    base_model: str
    seed: int
    lora: _model_pb2.LoraConfig
    has_value_head: bool
    initial_checkpoint: str
    def __init__(self, session_id: _Optional[str] = ..., model_id: _Optional[str] = ..., base_model: _Optional[str] = ..., seed: _Optional[int] = ..., lora: _Optional[_Union[_model_pb2.LoraConfig, _Mapping]] = ..., has_value_head: bool = ..., initial_checkpoint: _Optional[str] = ...) -> None: ...

class CreateModelResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class GetModelRequest(_message.Message):
    __slots__ = ("model_id",)
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    def __init__(self, model_id: _Optional[str] = ...) -> None: ...

class GetModelResponse(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: _model_pb2.ModelInfo
    def __init__(self, model: _Optional[_Union[_model_pb2.ModelInfo, _Mapping]] = ...) -> None: ...

class UnloadModelRequest(_message.Message):
    __slots__ = ("session_id", "model_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    model_id: str
    def __init__(self, session_id: _Optional[str] = ..., model_id: _Optional[str] = ...) -> None: ...

class UnloadModelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SubmitBatchRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: _batch_pb2.BatchHeader
    chunk: _batch_pb2.BatchChunk
    def __init__(self, header: _Optional[_Union[_batch_pb2.BatchHeader, _Mapping]] = ..., chunk: _Optional[_Union[_batch_pb2.BatchChunk, _Mapping]] = ...) -> None: ...

class SubmitBatchResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class AdamParameters(_message.Message):
    __slots__ = ("learning_rate", "beta1", "beta2", "epsilon", "weight_decay", "gradient_clip_norm")
    LEARNING_RATE_FIELD_NUMBER: _ClassVar[int]
    BETA1_FIELD_NUMBER: _ClassVar[int]
    BETA2_FIELD_NUMBER: _ClassVar[int]
    EPSILON_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_DECAY_FIELD_NUMBER: _ClassVar[int]
    GRADIENT_CLIP_NORM_FIELD_NUMBER: _ClassVar[int]
    learning_rate: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    gradient_clip_norm: float
    def __init__(self, learning_rate: _Optional[float] = ..., beta1: _Optional[float] = ..., beta2: _Optional[float] = ..., epsilon: _Optional[float] = ..., weight_decay: _Optional[float] = ..., gradient_clip_norm: _Optional[float] = ...) -> None: ...

class OptimStepRequest(_message.Message):
    __slots__ = ("key", "adam", "requires_seqs")
    KEY_FIELD_NUMBER: _ClassVar[int]
    ADAM_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_SEQS_FIELD_NUMBER: _ClassVar[int]
    key: _batch_pb2.OperationKey
    adam: AdamParameters
    requires_seqs: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, key: _Optional[_Union[_batch_pb2.OperationKey, _Mapping]] = ..., adam: _Optional[_Union[AdamParameters, _Mapping]] = ..., requires_seqs: _Optional[_Iterable[int]] = ...) -> None: ...

class OptimStepResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class SaveCheckpointRequest(_message.Message):
    __slots__ = ("key", "name", "client_state")
    KEY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLIENT_STATE_FIELD_NUMBER: _ClassVar[int]
    key: _batch_pb2.OperationKey
    name: str
    client_state: bytes
    def __init__(self, key: _Optional[_Union[_batch_pb2.OperationKey, _Mapping]] = ..., name: _Optional[str] = ..., client_state: _Optional[bytes] = ...) -> None: ...

class SaveCheckpointResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class LoadCheckpointRequest(_message.Message):
    __slots__ = ("key", "uri")
    KEY_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    key: _batch_pb2.OperationKey
    uri: str
    def __init__(self, key: _Optional[_Union[_batch_pb2.OperationKey, _Mapping]] = ..., uri: _Optional[str] = ...) -> None: ...

class LoadCheckpointResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class ListCheckpointsRequest(_message.Message):
    __slots__ = ("model_id",)
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    def __init__(self, model_id: _Optional[str] = ...) -> None: ...

class ListCheckpointsResponse(_message.Message):
    __slots__ = ("checkpoints",)
    CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    checkpoints: _containers.RepeatedCompositeFieldContainer[_model_pb2.CheckpointInfo]
    def __init__(self, checkpoints: _Optional[_Iterable[_Union[_model_pb2.CheckpointInfo, _Mapping]]] = ...) -> None: ...

class DeleteCheckpointRequest(_message.Message):
    __slots__ = ("session_id", "model_id", "uri")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    model_id: str
    uri: str
    def __init__(self, session_id: _Optional[str] = ..., model_id: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class DeleteCheckpointResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PublishSamplerWeightsRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: _batch_pb2.OperationKey
    def __init__(self, key: _Optional[_Union[_batch_pb2.OperationKey, _Mapping]] = ...) -> None: ...

class PublishSamplerWeightsResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class GetOperationRequest(_message.Message):
    __slots__ = ("model_id", "seq")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    seq: int
    def __init__(self, model_id: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class GetOperationResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class WatchOperationsRequest(_message.Message):
    __slots__ = ("model_id", "after_cursor")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_CURSOR_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    after_cursor: str
    def __init__(self, model_id: _Optional[str] = ..., after_cursor: _Optional[str] = ...) -> None: ...

class WatchOperationsResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: _operation_pb2.OperationEvent
    def __init__(self, event: _Optional[_Union[_operation_pb2.OperationEvent, _Mapping]] = ...) -> None: ...

class FetchBatchOutputRequest(_message.Message):
    __slots__ = ("model_id", "seq", "kind")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    seq: int
    kind: BatchOutputKind
    def __init__(self, model_id: _Optional[str] = ..., seq: _Optional[int] = ..., kind: _Optional[_Union[BatchOutputKind, str]] = ...) -> None: ...

class FetchBatchOutputResponse(_message.Message):
    __slots__ = ("offset", "data")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    offset: int
    data: bytes
    def __init__(self, offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class CancelOperationRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: _batch_pb2.OperationKey
    def __init__(self, key: _Optional[_Union[_batch_pb2.OperationKey, _Mapping]] = ...) -> None: ...

class CancelOperationResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...
