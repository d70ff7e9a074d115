import type { AttemptAddress } from '../calling-attempt.ts';
import { GatewayError } from '../gateway-error.ts';
import { CallObservation } from '../observe/call-observation.ts';
import { attemptAddressOf } from './attempt-address.ts';
import { type CallAnswer, OwnConnection, respond } from './call-answer.ts';
import { forwardedHeaders } from './forwarded-headers.ts';
import type { ModelApi } from './model-apis.ts';
import { anthropicRequestIdHeader, requestIdHeader } from './request-id.ts';
import { requestText } from './request-text.ts';
import type { GatewayContext, RouteOptions } from './route-options.ts';

/** A model call is let in by the gate, read, and answered; it leaves when it is recorded too. */
export function answerCall(options: RouteOptions, api: ModelApi): (c: GatewayContext) => Promise<Response> {
  return async (c) => {
    const { clock } = options.parts.caller;
    const observation = new CallObservation({ requestId: c.var.requestId, api: api.name, startTimeMs: clock.now() });
    const report = options.observer.follow(observation);
    try {
      const answer = await letIn(options, { c, api, observation, onLeft: report.left });
      report.answered(answer.status);
      const { requestId } = observation;
      const headers = { [anthropicRequestIdHeader]: requestId, ...answer.headers, [requestIdHeader]: requestId };
      return respond({ ...answer, headers }, OwnConnection.of(c.env));
    } catch (error) {
      report.left();
      // Nobody reads this answer; a body that broke off is no fault of the gateway.
      if (c.req.raw.signal.aborted) {
        report.answered(499);
        return new Response(null, { status: 499 });
      }
      const known = GatewayError.from(error);
      report.answered(known.httpStatus, known);
      throw error;
    }
  };
}

interface ArrivedCall {
  readonly c: GatewayContext;
  readonly api: ModelApi;
  readonly observation: CallObservation;
  readonly onLeft: () => void;
}

async function letIn(options: RouteOptions, { c, api, observation, onLeft }: ArrivedCall): Promise<CallAnswer> {
  const { parts, gate, calls } = options;
  const { headers } = c.req.raw;
  const named = attemptAddressOf({ param: (name) => c.req.param(name), headers, caller: c.var.caller });
  const attempt = named === null ? null : await storedAddress(options, named);
  observation.attempt = attempt;
  if (attempt !== null) options.watch.begin();
  const { signal, end } = calls.begin(attempt, c.req.raw.signal, observation.startTimeMs);
  let passGate: () => void = () => undefined;
  const leave = (): void => {
    end();
    passGate();
    onLeft();
  };
  try {
    passGate = await gate.enter(signal);
    return await api.answer(parts, {
      attempt,
      headers,
      forwardedHeaders: forwardedHeaders(headers, { requestId: observation.requestId, names: options.forwardedNames }),
      text: await requestText(c),
      signal,
      observation,
      leave,
    });
  } catch (error) {
    leave();
    throw error;
  }
}

/** Controllers of 1.0 call every attempt `0`; the store has ids of its own for them. */
async function storedAddress({ aglServer }: RouteOptions, named: AttemptAddress): Promise<AttemptAddress> {
  if (aglServer === null) return named;
  return { ...named, attemptId: await aglServer.attemptIdOf(named) };
}
