export type { PatchGlobalFetchOptions } from './patch-global-fetch.ts';
export { patchGlobalFetch } from './patch-global-fetch.ts';
export type { TraceFetchOptions } from './trace-fetch.ts';
export { traceFetch } from './trace-fetch.ts';
