export type {
  AdapterAbility,
  AdapterUnderTest,
  SceneAgent,
  SceneAsk,
  SceneFields,
  SceneInstrumentOptions,
  SceneModelOptions,
  SceneTool,
} from '../testing/adapter-contract/adapter-under-test.ts';
export { jsonSchemaOf } from '../testing/adapter-contract/adapter-under-test.ts';
export { describeAdapterContract } from '../testing/adapter-contract/describe-adapter-contract.ts';
export type { AdvantageEstimatorContractOptions } from '../testing/advantage-contract.ts';
export { describeAdvantageEstimatorContract } from '../testing/advantage-contract.ts';
export type { AlgorithmContractOptions } from '../testing/algorithm-contract.ts';
export { describeAlgorithmContract } from '../testing/algorithm-contract.ts';
export type { CreditAssignmentContractOptions } from '../testing/credit-assignment-contract.ts';
export { describeCreditAssignmentContract } from '../testing/credit-assignment-contract.ts';
export type { StoreContractOptions, StoreUnderTest } from '../testing/store-contract/describe-store-contract.ts';
export { describeStoreContract } from '../testing/store-contract/describe-store-contract.ts';
export type { TracerContractOptions } from '../testing/tracer-contract.ts';
export { describeTracerContract } from '../testing/tracer-contract.ts';
