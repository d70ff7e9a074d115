export type { Agent, AgentContext, AgentResult } from './agent.ts';
export type { AttemptEnding, AttemptOutcome } from './attempt-outcome.ts';
export type { RunTaskOptions } from './run-rollouts.ts';
export { runRollouts, runTask } from './run-rollouts.ts';
export { Runner } from './runner.ts';
export type {
  AttemptOptions,
  HookedRollout,
  RunnerEvents,
  RunnerHooks,
  RunnerOptions,
  RunnerSummary,
} from './runner-options.ts';
export type { RunnerStore } from './runner-store.ts';
export type { OutputScoring } from './score-output.ts';
