export type { InstrumentMastraOptions, MastraAgentClass } from './instrument-mastra.ts';
export { instrumentMastra } from './instrument-mastra.ts';
