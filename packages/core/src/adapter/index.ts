/**
 * What adapters are made of: for those who write one, not for those who use one.
 *
 * @module
 */

export type { AgentStep, AgentStepEnd, AgentStepKind, CallPlace } from './agent-step.ts';
export type { AgentStepsOptions } from './agent-steps.ts';
export { AgentSteps } from './agent-steps.ts';
