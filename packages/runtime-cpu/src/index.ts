export type {
  ChatContentPart,
  ChatFinishReason,
  ChatMessage,
  ChatTool,
  ChatToolCall,
  ParsedResponse,
  TokenChoice,
  TokenLogprob,
} from '@agentlightning/runtime/serving';
export type { BaseModel } from './base-models.ts';
export { baseModels, loadBaseModel } from './base-models.ts';
export { isCheckpointFolder } from './checkpoint/checkpoint-marker.ts';
export type { ModelConfig } from './model/model-config.ts';
export { tinyModelConfig } from './model/model-config.ts';
export type { EngineOptions, SavedCheckpoint } from './model-engine.ts';
export { ModelEngine } from './model-engine.ts';
export type { Generation } from './sampling/generation.ts';
export type { SampleRequest, SampleResult } from './sampling/sample-request.ts';
export type { SamplingRule } from './sampling/token-choice.ts';
export type { CpuRuntime, CpuRuntimeOptions } from './service/start-cpu-runtime.ts';
export { startCpuRuntime } from './service/start-cpu-runtime.ts';
export { renderPrompt } from './text/chat-template.ts';
export type { ParseResponseOptions } from './text/response-parser.ts';
export { parseResponse } from './text/response-parser.ts';
export { decodeTokens, encodeText } from './text/tokenizer.ts';
export type { BatchOutcome, StepOutcome } from './training/model-trainer.ts';
export { ProgramCache } from './training/program-cache.ts';
