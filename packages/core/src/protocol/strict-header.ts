/**
 * The header of a client that asks for the checks of our store. Without it, requests have the semantics of Agent
 * Lightning 0.3: unknown resources are accepted, numbers are reserved for unknown attempts, and finished rollouts take
 * new attempts.
 */
export const strictHeader = 'x-agentlightning-strict';
