import type { JsonObject } from '@agentlightning/core';
import { headerNames } from '@agentlightning/core/protocol';
import type { CallingAttempt, ProductionCall } from '../attempts/calling-attempt.ts';
import { isForCandidate, type ProductionUnit, productionUnit } from '../deployments/production-unit.ts';
import type { RegisteredUpstream } from '../upstream/registered-upstream.ts';
import type { CallResponse } from '../wire/call-response.ts';
import { GatewayError } from '../wire/gateway-error.ts';
import type { DeploymentRoutes } from '../wire/gateway-options.ts';
import { textOf } from '../wire/json-access.ts';
import type { IncomingCall, ModelCallServices } from './model-call-services.ts';

/** Sends a call to the upstreams of a version. */
export type SendDeployed = (to: {
  readonly services: ModelCallServices;
  readonly attempt: CallingAttempt;
  readonly upstreams: readonly RegisteredUpstream[];
}) => Promise<CallResponse>;

/** A call of a deployment that is about to be sent. */
interface DeployedCall {
  readonly services: ModelCallServices;
  readonly deployment: string;
  readonly unit: ProductionUnit;
  readonly trial: string | null;
  readonly send: SendDeployed;
}

/** Limit for the first byte of a candidate, in milliseconds, where the gateway has none: its stable version can respond instead. */
const candidateFirstByteMs = 60_000;

/**
 * Sends a call of a deployment to its stable version or to its candidate, where it always goes for the same user. When the candidate is
 * away (no connection, a server error, no first byte in time), the stable version responds.
 *
 * @throws GatewayError 404 for a model that is not a deployment, 503 for a version without an upstream
 */
export async function callDeployment(
  routes: DeploymentRoutes,
  {
    services,
    call,
    request,
  }: { readonly services: ModelCallServices; readonly call: IncomingCall; readonly request: JsonObject },
  send: SendDeployed,
): Promise<CallResponse> {
  const deployment = textOf(request.model) ?? '';
  const route = call.attempt === null ? routes.route(deployment) : null;
  if (route === null) throw unknownDeployment(deployment, routes, call.attempt === null ? 'model' : 'attempt');
  const unit = productionUnit(request, call.headers);
  const { candidate } = route;
  const deployed = { services, deployment, unit, trial: candidate?.key ?? null, send };
  if (candidate === null || !isForCandidate(route, unit)) {
    return await callVersion(deployed, { role: 'live', version: route.live, fallback: null });
  }
  const failure = await tryCandidate(deployed, { version: candidate.version, signal: call.signal });
  if ('response' in failure) return failure.response;
  services.upstreamServices.log.warn(
    { deployment, version: candidate.version, reason: failure.reason },
    'the candidate is away; the stable version responds',
  );
  services.metrics.deploymentCalled(deployment, 'candidate', 'fell_back');
  const fallback = { from: candidate.version, reason: failure.reason };
  return await callVersion(deployed, { role: 'live', version: route.live, fallback });
}

/** Calls the candidate once at each of its upstreams. @returns its response, or the reason for which it is away */
async function tryCandidate(
  deployed: DeployedCall,
  { version, signal }: { readonly version: string; readonly signal: AbortSignal },
): Promise<{ readonly response: CallResponse } | { readonly reason: string }> {
  const { upstreamServices, pool } = deployed.services;
  const upstreams = pool.ofVersion(version);
  if (upstreams.length === 0) return { reason: 'no upstream serves it' };
  if (upstreams.every(({ health }) => !health.isUp)) return { reason: 'its upstreams are down' };
  const firstByteTimeoutMs = upstreamServices.firstByteTimeoutMs ?? candidateFirstByteMs;
  const quick = { ...upstreamServices, firstByteTimeoutMs, retry: { ...upstreamServices.retry, maxRetries: 0 } };
  let record: () => void = () => undefined;
  try {
    const response = await callVersion(
      { ...deployed, services: { ...deployed.services, upstreamServices: quick } },
      {
        role: 'candidate',
        version,
        fallback: null,
        deferFailure: (deferred) => {
          record = deferred;
        },
      },
    );
    if (isAway(response.status)) return { reason: `it returned status ${response.status}` };
    record();
    return { response };
  } catch (error) {
    const known = GatewayError.from(error);
    if (!signal.aborted && !upstreamServices.closing.aborted && isAway(known.httpStatus)) {
      return { reason: known.message.replace(/^\[\w+\] /, '') };
    }
    record();
    throw error;
  }
}

/** A request that it refuses would be refused by the stable version too; one for which it has no capacity would not. */
function isAway(status: number): boolean {
  return status >= 500 || status === 429;
}

interface VersionChoice extends Pick<ProductionCall, 'version' | 'fallback'> {
  readonly role: 'live' | 'candidate';
  readonly deferFailure?: ProductionCall['deferFailure'];
}

async function callVersion(deployed: DeployedCall, choice: VersionChoice): Promise<CallResponse> {
  const { services, deployment, unit, trial, send } = deployed;
  const { role, version, fallback, deferFailure = null } = choice;
  const upstreams = services.pool.ofVersion(version);
  if (upstreams.length === 0) throw notServed(deployment, version);
  const { user, conversation, traceId } = unit;
  const production: ProductionCall = { deployment, version, trial, user, conversation, fallback, deferFailure };
  try {
    const response = await send({ services, attempt: attemptOf(traceId, production), upstreams });
    const isFallenBack = role === 'candidate' && isAway(response.status);
    if (!isFallenBack)
      services.metrics.deploymentCalled(deployment, role, response.status < 400 ? 'responded' : 'failed');
    const ids = { [headerNames.rolloutId]: traceId, [headerNames.deploymentVersion]: version };
    return { ...response, headers: { ...response.headers, ...ids } };
  } catch (error) {
    if (role === 'live') services.metrics.deploymentCalled(deployment, role, 'failed');
    throw error;
  }
}

/** The rollout of a call is its trace, which the application names in its feedback. */
function attemptOf(traceId: string, production: ProductionCall): CallingAttempt {
  return {
    rolloutId: traceId,
    attemptId: `at-${traceId}`,
    runId: production.deployment,
    seedNumber: 1,
    mode: 'production',
    traceId,
    callIndex: 0,
    giveBackIndex: () => undefined,
    samplingKey: traceId,
    samplingSeed: null,
    isUnattributed: false,
    production,
  };
}

/** The error of a call that a gateway of deployments does not serve: by its model, its attempt, or an API that has no trace. */
export function unknownDeployment(
  model: string,
  routes: DeploymentRoutes,
  reason: 'model' | 'attempt' | 'forwarded',
): GatewayError {
  const names = routes.names().join(', ');
  const messages = {
    model: `the model "${model}" is not a deployment of this gateway; it serves ${names || 'none'}`,
    attempt: 'the gateway serves deployments, not attempts of runs',
    forwarded: 'the gateway serves responses of deployments only, not embeddings and token counts',
  };
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    param: 'model',
    message: messages[reason],
    remedy:
      reason === 'model'
        ? 'Send the name of a deployment as the model; `agl deployments` lists them.'
        : 'Send such calls to another endpoint, such as the gateway of a run.',
  });
}

function notServed(deployment: string, version: string): GatewayError {
  return new GatewayError({
    code: 'UPSTREAM_FAILED',
    httpStatus: 503,
    type: 'upstream_error',
    message: `no upstream serves ${version}, the live version of ${deployment}`,
    remedy: 'Retry; the log of `agl serve` has the reason.',
    headers: { 'retry-after': '2' },
  });
}
