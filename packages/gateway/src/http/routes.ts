import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { answerChatCompletion } from '../chat-completions/answer-chat-completion.ts';
import { GatewayError } from '../gateway-error.ts';
import type { GatewayLog } from '../gateway-options.ts';
import type { GatewayParts, IncomingCall } from '../gateway-parts.ts';
import type { PauseGate } from '../pause-gate.ts';
import { callUpstream } from '../upstream/call-upstream.ts';
import { forwardedHeaders } from './forwarded-headers.ts';

/** What the routes work with. */
export interface RouteOptions {
  readonly parts: GatewayParts;
  readonly gate: PauseGate;
  readonly log: GatewayLog;
  readonly apiKey: string | null;
  readonly maxBodyBytes: number;
}

/** Where the calls of an attempt go. */
const attemptPath = '/rollout/:rolloutId/attempt/:attemptId';

/** Base URLs, the last two of a plain proxy. Python clients may leave `/v1` out. */
const roots: readonly string[] = [`${attemptPath}/v1`, attemptPath, '/v1', ''];

type AnswerCall = (parts: GatewayParts, call: IncomingCall) => Promise<Response>;

/** Adds what the gateway answers to an application. */
export function addRoutes(app: Hono, options: RouteOptions): void {
  const { gate, parts, log } = options;
  app.get('/health', (c) => c.json({ status: 'ok', ...healthOf(gate) }));
  if (options.apiKey !== null) app.use(keyRequired(options.apiKey));
  app.use(limitedBody(options.maxBodyBytes));
  const chatCompletion = answered(options, answerChatCompletion);
  for (const root of roots) {
    app.post(`${root}/chat/completions`, chatCompletion);
    app.get(`${root}/models`, (c) => models(parts, c));
  }
  app.notFound((c) => noSuchAddress(c).toResponse());
  app.onError((error) => {
    const known = GatewayError.from(error);
    if (known.code === 'INTERNAL') log.error({ err: error }, 'a request failed');
    return known.toResponse();
  });
}

/** A model call is let in by the gate, read, and answered; it leaves when it is recorded too. */
function answered({ gate, parts }: RouteOptions, answer: AnswerCall): (c: Context) => Promise<Response> {
  return async (c) => {
    const leave = await gate.enter();
    try {
      const rolloutId = c.req.param('rolloutId');
      const attemptId = c.req.param('attemptId');
      return await answer(parts, {
        attempt: rolloutId === undefined || attemptId === undefined ? null : { rolloutId, attemptId },
        headers: c.req.raw.headers,
        text: await c.req.text(),
        signal: c.req.raw.signal,
        leave,
      });
    } catch (error) {
      leave();
      // Nobody reads this answer; a body that broke off is no fault of the gateway.
      if (c.req.raw.signal.aborted) return new Response(null, { status: 499 });
      throw error;
    }
  };
}

async function models(parts: GatewayParts, c: Context): Promise<Response> {
  const { answer, text } = await callUpstream(parts.caller, parts.pool.choose(null, null), {
    path: '/models',
    method: 'GET',
    headers: forwardedHeaders(c.req.raw.headers),
    body: null,
    signal: c.req.raw.signal,
  });
  return new Response(text, { status: answer.status, headers: answer.headers });
}

function healthOf(gate: PauseGate): object {
  const { isPaused, reason, inFlight } = gate.state();
  return { paused: isPaused, reason, in_flight: inFlight };
}

function keyRequired(apiKey: string): MiddlewareHandler {
  const expected = digest(`Bearer ${apiKey}`);
  return async (c, next) => {
    const given = digest(c.req.header('authorization') ?? '');
    if (!timingSafeEqual(given, expected)) throw wrongKey();
    return await next();
  };
}

/** Of equal length whatever the text is, so that comparing tells nothing of it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A body of known length is judged by that, and is not touched: reading it stays on the server's fast path. */
function limitedBody(maxBytes: number): MiddlewareHandler {
  const limitUnknownLength = bodyLimit({
    maxSize: maxBytes,
    onError: () => {
      throw tooLarge(maxBytes);
    },
  });
  return async (c, next) => {
    const length = c.req.header('content-length');
    if (length === undefined) return await limitUnknownLength(c, next);
    if (Number(length) > maxBytes) throw tooLarge(maxBytes);
    return await next();
  };
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError({
    code: 'PAYLOAD_TOO_LARGE',
    httpStatus: 413,
    type: 'invalid_request_error',
    message: `the request body is larger than ${maxBytes} bytes`,
    remedy: 'Send less, or raise the gateway option `maxBodyBytes`.',
  });
}

function wrongKey(): GatewayError {
  return new GatewayError({
    code: 'UNAUTHENTICATED',
    httpStatus: 401,
    type: 'authentication_error',
    message: 'the request carries no key of this gateway',
  });
}

function noSuchAddress(c: Context): GatewayError {
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    message: `the gateway does not answer ${c.req.method} ${c.req.path}`,
    remedy: 'Use a base URL of the form …/rollout/{rolloutId}/attempt/{attemptId}/v1, or …/v1.',
  });
}
