import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../gateway-error.ts';
import { answerCall } from './answer-call.ts';
import type { ArrivedCall } from './arrived-call.ts';
import { type CallAnswer, sendAnswer } from './call-answer.ts';
import { type AddressParts, DirectCall, headersOf } from './direct-call.ts';
import type { HeaderReader } from './header-reader.ts';
import { foreignness } from './local-only.ts';
import { modelApis, refusal } from './model-apis.ts';
import { requestIdHeader, requestIdOf } from './request-id.ts';
import type { RouteOptions } from './route-options.ts';

type Answer = (call: ArrivedCall) => Promise<CallAnswer>;

/** Base URLs as `roots` has them; addresses with escapes, a query or anything else unusual are for the routes. */
const root: RegExp =
  /^(?:\/rollout\/([\w.~:-]+)\/attempt\/([\w.~:-]+)(?:\/v1)?|\/proxy\/rollout\/([\w.~:-]+)\/attempt\/([\w.~:-]+)\/mode\/(train|val|test)\/openai\/v1|\/v1)?/;

/**
 * Answers model calls on the connections of the gateway's own server. The routes answer them as well; but what they
 * are given and give back are objects of the web, and to make those takes longer than all else that a call needs.
 */
export class DirectCalls {
  readonly #options: RouteOptions;
  readonly #answers: ReadonlyMap<string, Answer>;

  constructor(options: RouteOptions) {
    this.#options = options;
    this.#answers = new Map(
      modelApis.flatMap((api) => {
        const answer = answerCall(options, api);
        return [api.path, ...(api.otherPaths ?? [])].map((path): [string, Answer] => [path, answer]);
      }),
    );
  }

  /** Answers a request if it is a model call like nearly all are; false when the routes must see what it is. */
  take(incoming: IncomingMessage, outgoing: ServerResponse): boolean {
    const { method, url = '', headers } = incoming;
    if (method !== 'POST' || !this.#hasUsualBody(headers)) return false;
    const found = root.exec(url);
    const path = found === null ? url : url.slice(found[0].length);
    const answer = this.#answers.get(path);
    if (answer === undefined) return false;
    void this.#answer({ incoming, outgoing, path, answer, parts: partsOf(found) });
    return true;
  }

  /** One whose length is known, and allowed. */
  #hasUsualBody(headers: IncomingHttpHeaders): boolean {
    const length = headers['content-length'];
    if (length === undefined || headers['transfer-encoding'] !== undefined || headers.expect !== undefined)
      return false;
    return Number(length) <= this.#options.maxBodyBytes;
  }

  async #answer({ incoming, outgoing, path, answer, parts }: FoundCall): Promise<void> {
    const headers = headersOf(incoming);
    const requestId = requestIdOf(headers);
    try {
      const caller = await this.#callerOf(headers);
      sendAnswer(await answer(new DirectCall({ incoming, outgoing, parts, headers, requestId, caller })), outgoing);
    } catch (error) {
      const known = GatewayError.from(error);
      if (known.code === 'INTERNAL') this.#options.log.error({ requestId, err: error }, 'a request failed');
      const refused = refusal(path, known);
      sendAnswer({ ...refused, headers: { ...refused.headers, [requestIdHeader]: requestId } }, outgoing);
    }
  }

  #callerOf(headers: HeaderReader): ReturnType<RouteOptions['access']['callerOf']> {
    const { access } = this.#options;
    const foreign = access.isOpen ? foreignness(headers) : null;
    if (foreign !== null) throw foreign;
    return access.callerOf(headers);
  }
}

interface FoundCall {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly path: string;
  readonly answer: Answer;
  readonly parts: AddressParts;
}

function partsOf(found: RegExpExecArray | null): AddressParts {
  return { rolloutId: found?.[1] ?? found?.[3], attemptId: found?.[2] ?? found?.[4], mode: found?.[5] };
}
