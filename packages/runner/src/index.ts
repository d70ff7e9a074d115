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
export type { OutputScoring, ScoringOptions } from './score-output.ts';
export { primaryPart, scoreInTime, scoreOutput, scoringError, takeJudgeUses, verdictScore } from './score-output.ts';
export type { RegistrationOptions } from './workers/registration.ts';
export { Registration } from './workers/registration.ts';
