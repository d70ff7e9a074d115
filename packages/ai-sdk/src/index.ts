export type { RedirectedFetchOptions } from '@agentlightning/core/adapter';
export { redirectedFetch } from '@agentlightning/core/adapter';
export type { AgentNaming, AISDKCall } from './agent-naming.ts';
export type { InstrumentAISDKOptions } from './instrument-ai-sdk.ts';
export { instrumentAISDK } from './instrument-ai-sdk.ts';
export type { LanguageModelProvider } from './string-models.ts';
export type { WrappableModel } from './trace-model.ts';
export { traceModel } from './trace-model.ts';
