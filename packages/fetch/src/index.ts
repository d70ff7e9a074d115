export type { PatchGlobalFetchOptions } from './patch-global-fetch.ts';
export { patchGlobalFetch } from './patch-global-fetch.ts';
export type { OpenAIClass, PatchOpenAIOptions } from './patch-openai.ts';
export { patchOpenAI } from './patch-openai.ts';
export type { TraceFetchOptions } from './trace-fetch.ts';
export { traceFetch } from './trace-fetch.ts';
