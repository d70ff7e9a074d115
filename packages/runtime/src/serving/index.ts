export { writeFileAtomically } from './atomic-file.ts';
export type {
  ChatContentPart,
  ChatFinishReason,
  ChatMessage,
  ChatTool,
  ChatToolCall,
  ParsedResponse,
} from './chat-message.ts';
export { type ChatRequest, choiceSeeds, offeredTools, stopTexts, type TokenizeRequest } from './chat-request.ts';
export type {
  ChatModel,
  ChatSampling,
  SampledResponse,
  SamplingResponse,
  TextDelta,
  TextStream,
  TokenChoice,
  TokenLogprob,
} from './chat-sampling.ts';
export { CheckpointFiles } from './checkpoint-files.ts';
export { ContextLengthError } from './openai-error.ts';
export { parseFlags, serverFlags, serverOptionsOf, wrongFlag } from './process-flags.ts';
export { runRuntimeProcess } from './run-process.ts';
export { randomApiKey, type ServingPlace, startRuntime, writeKeyFile } from './start-runtime.ts';
