from agentlightning_runtime.gen.agentlightning.runtime.v1 import batch_pb2 as _batch_pb2
from agentlightning_runtime.gen.agentlightning.runtime.v1 import operation_pb2 as _operation_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExportFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_FORMAT_UNSPECIFIED: _ClassVar[ExportFormat]
    EXPORT_FORMAT_SAFETENSORS: _ClassVar[ExportFormat]
    EXPORT_FORMAT_PEFT: _ClassVar[ExportFormat]
EXPORT_FORMAT_UNSPECIFIED: ExportFormat
EXPORT_FORMAT_SAFETENSORS: ExportFormat
EXPORT_FORMAT_PEFT: ExportFormat

class ExportCheckpointRequest(_message.Message):
    __slots__ = ("key", "uri", "format")
    KEY_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    key: _batch_pb2.OperationKey
    uri: str
    format: ExportFormat
    def __init__(self, key: _Optional[_Union[_batch_pb2.OperationKey, _Mapping]] = ..., uri: _Optional[str] = ..., format: _Optional[_Union[ExportFormat, str]] = ...) -> None: ...

class ExportCheckpointResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: _operation_pb2.Operation
    def __init__(self, operation: _Optional[_Union[_operation_pb2.Operation, _Mapping]] = ...) -> None: ...

class DownloadArtifactRequest(_message.Message):
    __slots__ = ("model_id", "artifact_id", "path", "offset")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    artifact_id: str
    path: str
    offset: int
    def __init__(self, model_id: _Optional[str] = ..., artifact_id: _Optional[str] = ..., path: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class DownloadArtifactResponse(_message.Message):
    __slots__ = ("offset", "data")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    offset: int
    data: bytes
    def __init__(self, offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...
