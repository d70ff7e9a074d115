import type { AttemptAddress } from '../calling-attempt.ts';
import { GatewayError } from '../gateway-error.ts';
import { CallObservation } from '../observe/call-observation.ts';
import type { ArrivedCall } from './arrived-call.ts';
import { attemptAddressOf } from './attempt-address.ts';
import type { CallAnswer } from './call-answer.ts';
import { assertReadable } from './content-encoding.ts';
import { forwardedHeaders } from './forwarded-headers.ts';
import type { ModelApi } from './model-apis.ts';
import { anthropicRequestIdHeader, requestIdHeader } from './request-id.ts';
import type { RouteOptions } from './route-options.ts';

/** A model call is let in by the gate, read, and answered; it leaves when it is recorded too. */
export function answerCall(options: RouteOptions, api: ModelApi): (arrived: ArrivedCall) => Promise<CallAnswer> {
  const { clock } = options.parts.caller;
  return async (arrived) => {
    const { requestId } = arrived;
    const observation = new CallObservation({ requestId, api: api.name, startTimeMs: clock.now() });
    const report = options.observer.follow(observation);
    try {
      const answer = await letIn(options, { arrived, api, observation, onLeft: report.left });
      report.answered(answer.status);
      const headers = { [anthropicRequestIdHeader]: requestId, ...answer.headers, [requestIdHeader]: requestId };
      return { ...answer, headers };
    } catch (error) {
      report.left();
      // Nobody reads this answer; a body that broke off is no fault of the gateway.
      if (arrived.hasGone) {
        report.answered(499);
        return { status: 499, headers: {}, body: '' };
      }
      const known = GatewayError.from(error);
      report.answered(known.httpStatus, known);
      throw error;
    }
  };
}

interface EnteringCall {
  readonly arrived: ArrivedCall;
  readonly api: ModelApi;
  readonly observation: CallObservation;
  readonly onLeft: () => void;
}

async function letIn(options: RouteOptions, call: EnteringCall): Promise<CallAnswer> {
  const { parts, gate, calls } = options;
  const { arrived, api, observation, onLeft } = call;
  const { headers } = arrived;
  const named = attemptAddressOf(arrived);
  const attempt = named === null || options.aglServer === null ? named : await storedAddress(options.aglServer, named);
  observation.attempt = attempt;
  assertReadable(headers);
  if (attempt !== null) options.watch.begin();
  const { signal, end } = calls.begin(attempt, arrived, observation.startTimeMs);
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
      text: await arrived.text(),
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
async function storedAddress(
  aglServer: NonNullable<RouteOptions['aglServer']>,
  named: AttemptAddress,
): Promise<AttemptAddress> {
  return { ...named, attemptId: await aglServer.attemptIdOf(named) };
}
