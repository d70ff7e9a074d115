export type { InstrumentGlobalFetchOptions } from './instrument-global-fetch.ts';
export { instrumentGlobalFetch } from './instrument-global-fetch.ts';
export type { InstrumentOpenAIOptions, OpenAIClass } from './instrument-openai.ts';
export { instrumentOpenAI } from './instrument-openai.ts';
export type { TraceFetchOptions } from './trace-fetch.ts';
export { traceFetch } from './trace-fetch.ts';
