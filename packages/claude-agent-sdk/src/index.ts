export type { QueryFunction, TraceQueryOptions } from './trace-query.ts';
export { traceQuery } from './trace-query.ts';
