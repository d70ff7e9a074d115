export type { InstrumentLangChainOptions } from './instrument-langchain.ts';
export { agentLightningCallbackHandler, instrumentLangChain } from './instrument-langchain.ts';
