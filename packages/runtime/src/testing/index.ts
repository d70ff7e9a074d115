export { aBatch, aDatum, type DatumOverrides } from './a-batch.ts';
export { describeRuntimeConformance } from './describe-runtime-conformance.ts';
export {
  type ReferenceLoss,
  referenceTokenLoss,
  type ScoredToken,
  type TokenLoss,
} from './reference-loss.ts';
export type {
  RuntimeConformanceOptions,
  RuntimeUnderTest,
  StartRuntimeOptions,
} from './runtime-under-test.ts';
export { WireProxy } from './wire-proxy.ts';
