export type { InstrumentLangChainOptions } from './instrument-langchain.ts';
export { instrumentLangChain, traceCallbacks } from './instrument-langchain.ts';
