export type { RedirectedFetchOptions } from '@agentlightning/core/adapter';
export { redirectedFetch } from '@agentlightning/core/adapter';
export type { WrappableModel } from './agent-lightning-model.ts';
export { agentLightningModel } from './agent-lightning-model.ts';
export type { AgentNaming, AISDKCall } from './agent-naming.ts';
export type { InstrumentAISDKOptions } from './instrument-ai-sdk.ts';
export { instrumentAISDK } from './instrument-ai-sdk.ts';
export type { LanguageModelProvider } from './string-models.ts';
