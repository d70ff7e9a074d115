import { randomUUID } from 'node:crypto';
import { AgentLightningError, type Clock, ValidationError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { crossOriginReason, headerNames, isSameSecret } from '@agentlightning/core/protocol';
import { Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { type CompletionIdentity, chatCompletion } from './chat-completion.ts';
import { type ChatRequestRules, chatRequestSchema, tokenizeRequestSchema } from './chat-request.ts';
import type { ChatModel } from './chat-sampling.ts';
import { chatChunks } from './chat-stream.ts';
import { errorBody, errorResponse } from './openai-error.ts';

/** Rejects requests from web pages of other origins, and requests for hosts other than loopback. */
const rejectCrossOrigin: MiddlewareHandler = async ({ req }, next) => {
  const { host } = new URL(req.url);
  const reason = crossOriginReason({ host, origin: req.header('origin') ?? null });
  if (reason === null) return await next();
  throw new AgentLightningError({
    code: 'PERMISSION_DENIED',
    message: `The model API of a runtime accepts requests of this machine only, and ${reason}`,
    remedy: 'Call it at localhost, and through the gateway from web pages.',
  });
};

/** Rejects requests without the API key. */
function requireKey(apiKey: string): MiddlewareHandler {
  const expected = `Bearer ${apiKey}`;
  return async ({ req }, next) => {
    const sent = req.header('authorization') ?? '';
    if (isSameSecret(sent, expected)) return await next();
    throw new AgentLightningError({
      code: 'UNAUTHENTICATED',
      message: sent === '' ? 'The request has no API key' : 'The API key of the request is wrong',
      remedy: 'Send the API key of the runtime as `Authorization: Bearer <key>`.',
    });
  };
}

const encoder = new TextEncoder();

/** The headers of an {@link eventStream} response. */
const eventStreamHeaders = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' } as const;

/**
 * Chunks as server-sent events in OpenAI's format, ending with `[DONE]`. An error becomes an event with `error`, which
 * OpenAI's clients throw. A disconnect ends the iteration.
 */
function eventStream(chunks: AsyncIterable<object>): ReadableStream<Uint8Array> {
  return ReadableStream.from(events(chunks));
}

async function* events(chunks: AsyncIterable<object>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of chunks) yield event(JSON.stringify(chunk));
    yield event('[DONE]');
  } catch (error) {
    yield event(JSON.stringify(errorBody(error)));
  }
}

function event(data: string): Uint8Array {
  return encoder.encode(`data: ${data}\n\n`);
}

/** The largest request body, in bytes. */
const maxBodyBytes = 8 * 1024 * 1024;

/** Dependencies of the model API. */
export interface InferenceAppOptions {
  /** The models by id. */
  readonly models: ReadonlyMap<string, ChatModel>;
  readonly rules: ChatRequestRules;
  /** Required by every route but `/health`. */
  readonly apiKey: string;
  readonly clock: Clock;
}

/** The model API: OpenAI's chat completions and model list, over the models in memory. */
export function inferenceApp({ models, rules, apiKey, clock }: InferenceAppOptions): Hono {
  const app = new Hono();
  const chatRequest = chatRequestSchema(rules);
  app.use(rejectCrossOrigin);
  app.use('/v1/*', requireKey(apiKey));
  app.use('/tokenize', requireKey(apiKey));
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/v1/models', (context) =>
    context.json({
      object: 'list',
      data: [...models.keys()].map((id) => ({ id, object: 'model', created: 0, owned_by: 'agentlightning' })),
    }),
  );
  app.post('/v1/chat/completions', limitBody, async (context) => {
    const request = parse(chatRequest, readJson(await context.req.text()), 'The request');
    const model = servingModel(models, request.model);
    const sampling = model.chat(request, context.req.raw.signal);
    const identity = newIdentity(model.modelId, clock);
    context.header(headerNames.policyVersion, String(sampling.policyVersion));
    if (request.stream === true) {
      return context.body(eventStream(chatChunks(identity, request, sampling)), 200, eventStreamHeaders);
    }
    const results = await Promise.all(sampling.responses.map(({ result }) => result));
    return context.json(chatCompletion(identity, { request, results, sampling }));
  });
  app.post('/tokenize', limitBody, async (context) => {
    const request = parse(tokenizeRequestSchema, readJson(await context.req.text()), 'The request');
    const tokens = knownModel(models, request.model).tokenize(request);
    return context.json({ count: tokens.length, tokens });
  });
  app.onError((error) => errorResponse(error));
  app.notFound(({ req }) => errorResponse(notFound(`Unknown route ${req.method} ${req.path}`)));
  return app;
}

const limitStreamedBody = bodyLimit({ maxSize: maxBodyBytes, onError: () => tooLarge() });

/** A body of known length is validated by its header: reading the body takes longer than responding. */
const limitBody: MiddlewareHandler = async (context, next) => {
  const length = context.req.header('content-length');
  if (length === undefined) return await limitStreamedBody(context, next);
  if (Number(length) > maxBodyBytes) return tooLarge();
  return await next();
};

function tooLarge(): Response {
  const message = `The request exceeds ${maxBodyBytes} bytes`;
  const remedy = 'Shorten the conversation.';
  return errorResponse(new AgentLightningError({ code: 'PAYLOAD_TOO_LARGE', message, remedy }));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ValidationError('The request body', [{ path: '', message: 'it is not JSON' }], cause);
  }
}

function knownModel(models: ReadonlyMap<string, ChatModel>, name: string): ChatModel {
  const model = models.get(name);
  if (model === undefined) throw notFound(`Unknown model "${name}"`, 'model');
  return model;
}

function servingModel(models: ReadonlyMap<string, ChatModel>, name: string): ChatModel {
  const model = knownModel(models, name);
  const { closedBecause } = model;
  if (closedBecause !== null) {
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `Model "${name}" ${closedBecause}`,
      remedy: 'Send the request again after the delay in Retry-After.',
    });
  }
  return model;
}

function newIdentity(model: string, clock: Clock): CompletionIdentity {
  return {
    id: `chatcmpl-${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    created: Math.floor(clock.now() / 1000),
    model,
  };
}

function notFound(message: string, field?: string): AgentLightningError {
  const remedy = 'GET /v1/models lists the models; POST /v1/chat/completions calls one.';
  return new AgentLightningError({ code: 'NOT_FOUND', message, remedy, details: { field } });
}
