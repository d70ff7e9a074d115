/**
 * Request header that enables strict checks. Without it, requests have the semantics of Agent Lightning 0.3: unknown
 * resources are accepted, sequence ids are reserved for unknown attempts, and finished rollouts accept new attempts.
 */
export const strictHeader = 'x-agentlightning-strict';
