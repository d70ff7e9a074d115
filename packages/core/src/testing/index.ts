export { anAttempt, anAttemptedRollout, aRollout, aRolloutContext } from './a-rollout.ts';
export { aRewardSpan, aSpan } from './a-span.ts';
export { ManualClock } from './manual-clock.ts';
export { MemorySpanSink } from './memory-span-sink.ts';
export type { ScriptedModelScript } from './scripted-model.ts';
export { ScriptedModel } from './scripted-model.ts';
export type {
  ScriptedAnswer,
  ScriptedFailure,
  ScriptedRequest,
  ScriptedStep,
  ScriptedToolCall,
} from './scripted-model-step.ts';
export { answer, callTool, failWith } from './scripted-model-step.ts';
export type { TracerContractOptions } from './tracer-contract.ts';
export { describeTracerContract } from './tracer-contract.ts';
