export { anAttempt, anAttemptedRollout, aRollout, aRolloutContext } from './a-rollout.ts';
export { aRewardSpan, aSpan } from './a-span.ts';
export type { ACollectedRollout, ATurn } from './a-trajectory.ts';
export {
  aCollectedGroup,
  aCollectedRollout,
  aModelCall,
  aModelCallSpan,
  aTrajectory,
  aTrajectoryRow,
  aTransition,
  logprobOf,
} from './a-trajectory.ts';
export type {
  AdapterAbility,
  AdapterUnderTest,
  SceneAgent,
  SceneAsk,
  SceneFields,
  SceneInstrumentOptions,
  SceneModelOptions,
  SceneTool,
} from './adapter-contract/adapter-under-test.ts';
export { jsonSchemaOf } from './adapter-contract/adapter-under-test.ts';
export { describeAdapterContract } from './adapter-contract/describe-adapter-contract.ts';
export type { AdvantageEstimatorContractOptions } from './advantage-contract.ts';
export { describeAdvantageEstimatorContract } from './advantage-contract.ts';
export type { AlgorithmContractOptions } from './algorithm-contract.ts';
export { describeAlgorithmContract } from './algorithm-contract.ts';
export type { CreditAssignmentContractOptions } from './credit-assignment-contract.ts';
export { describeCreditAssignmentContract } from './credit-assignment-contract.ts';
export { deepFreeze } from './deep-freeze.ts';
export { ManualClock } from './manual-clock.ts';
export { MemorySpanSink } from './memory-span-sink.ts';
export type { ScriptedModelScript } from './scripted-model.ts';
export { ScriptedModel } from './scripted-model.ts';
export type {
  ScriptedAnswer,
  ScriptedApi,
  ScriptedFailure,
  ScriptedRequest,
  ScriptedStep,
  ScriptedToolCall,
} from './scripted-model-step.ts';
export { answer, callTool, failWith } from './scripted-model-step.ts';
export type { StoreContractOptions, StoreUnderTest } from './store-contract/describe-store-contract.ts';
export { describeStoreContract } from './store-contract/describe-store-contract.ts';
export type { TracerContractOptions } from './tracer-contract.ts';
export { describeTracerContract } from './tracer-contract.ts';
