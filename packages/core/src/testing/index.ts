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
export { deepFreeze } from './deep-freeze.ts';
export { ManualClock } from './manual-clock.ts';
export { MemorySpanSink } from './memory-span-sink.ts';
export type { ScriptedModelScript } from './scripted-model.ts';
export { ScriptedModel } from './scripted-model.ts';
export type {
  ScriptedApi,
  ScriptedFailure,
  ScriptedRequest,
  ScriptedResponse,
  ScriptedStep,
  ScriptedToolCall,
} from './scripted-model-step.ts';
export { callTool, failWith, respondWith } from './scripted-model-step.ts';
