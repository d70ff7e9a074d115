/** The names of the HTTP headers of this project, in lower case. Values are ASCII. */
export const headerNames = {
  /** Request of an adapter: the trace of the call. */
  traceId: 'x-agl-trace-id',
  /** Request of an adapter: the span that the call belongs to. */
  parentSpanId: 'x-agl-parent-span-id',
  /** Request of an adapter: the calling agent, percent-encoded when it has a percent sign or non-ASCII characters. */
  agentName: 'x-agl-agent-name',
  /** Request of an adapter: the nested agents, outermost first, each percent-encoded, joined by `>`. */
  agentPath: 'x-agl-agent-path',
  /** Request of an attempt without its own address. Response to a call of a deployment: the id for feedback. */
  rolloutId: 'x-rollout-id',
  /** Request of an attempt without its own address. */
  attemptId: 'x-attempt-id',
  /** Response of the gateway: the span that records the call. */
  spanId: 'x-agl-span-id',
  /** Response of a runtime and of the gateway: the version of the policy that sampled it. */
  policyVersion: 'x-agl-policy-version',
  /** Response of the gateway: it refused the call because calls are paused. */
  paused: 'x-agl-paused',
  /** Request by OTLP: the deployment of the spans whose resource names none. */
  deployment: 'x-agl-deployment',
  /** Request of an application to a deployment: the user, who stays with one version. */
  user: 'x-agl-user',
  /** Request of an application to a deployment: the conversation, which stays with one version where the user is unknown. */
  conversation: 'x-agl-conversation',
  /** Response to a call of a deployment: the version that responded. */
  deploymentVersion: 'x-agl-deployment-version',
  /** Request and response: correlates the logs of client, gateway, store and upstream. */
  requestId: 'x-request-id',
  /**
   * Request to the store: enables strict checks. Without it, requests have the semantics of Agent Lightning 0.3: unknown
   * resources are accepted, sequence ids are reserved for unknown attempts, and finished rollouts accept new attempts.
   */
  strict: 'x-agentlightning-strict',
} as const;

/** The prefix of the headers that are not forwarded to upstreams. */
export const ownHeaderPrefix = 'x-agl-';

/** Accepted request ids of clients: short and without characters that need quoting. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** The request id that a client sent, if it is valid in logs and headers; else a new one. */
export function requestIdFrom(given: unknown): string {
  return typeof given === 'string' && requestIdPattern.test(given) ? given : `req-${crypto.randomUUID()}`;
}
