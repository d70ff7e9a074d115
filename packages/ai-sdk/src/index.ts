export type { RedirectedFetchOptions } from '@agentlightning/core/adapter';
export { redirectedFetch } from '@agentlightning/core/adapter';
export type { WrappableModel } from './agent-lightning-model.ts';
export { agentLightningModel } from './agent-lightning-model.ts';
export type { AgentNaming, AiSdkCall } from './agent-naming.ts';
export type { InstrumentAiSdkOptions } from './instrument-ai-sdk.ts';
export { instrumentAiSdk } from './instrument-ai-sdk.ts';
export type { LanguageModelProvider } from './string-models.ts';
