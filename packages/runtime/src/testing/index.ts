export { aBatch, aDatum, type DatumOverrides } from './a-batch.ts';
export { describeRuntimeConformance } from './describe-runtime-conformance.ts';
export type {
  RuntimeConformanceOptions,
  RuntimeUnderTest,
  StartRuntimeOptions,
} from './runtime-under-test.ts';
export { WireProxy } from './wire-proxy.ts';
