import { AgentLightningError, parse, ValidationError } from '@agentlightning/core';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { streamSSE } from 'hono/streaming';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type AnswerIdentity, chatCompletion } from './chat-answer.ts';
import { type ChatRequest, chatRequestSchema } from './chat-request.ts';
import { type ChatSampling, startChatSampling } from './chat-sampling.ts';
import { abandon, chatChunks } from './chat-stream.ts';
import type { CpuModel } from './cpu-model.ts';
import type { ModelDirectory } from './model-directory.ts';

/** The largest request body, in bytes. */
const maxBodyBytes = 8 * 1024 * 1024;

/** The header that tells which policy version answered. */
export const policyVersionHeader = 'x-agl-policy-version';

/** The model API: OpenAI's chat completions and model list, over the models in memory. */
export function inferenceApp(models: ModelDirectory): Hono {
  const app = new Hono();
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.get('/v1/models', (context) =>
    context.json({
      object: 'list',
      data: [...models.keys()].map((id) => ({ id, object: 'model', created: 0, owned_by: 'agentlightning' })),
    }),
  );
  app.post('/v1/chat/completions', bodyLimit({ maxSize: maxBodyBytes, onError: () => tooLarge() }), async (context) => {
    const request = await readRequest(context.req.raw);
    const model = servingModel(models, request.model);
    const sampling = startChatSampling(model, request, context.req.raw.signal);
    const identity = newIdentity(model.modelId);
    context.header(policyVersionHeader, String(sampling.generations[0]?.weightVersion ?? 0));
    if (request.stream === true) return streamAnswer(context, { identity, request, sampling });
    const results = await Promise.all(sampling.generations.map(({ result }) => result));
    return context.json(chatCompletion(identity, { request, results, tools: sampling.tools }));
  });
  app.onError((error) => errorAnswer(error));
  app.notFound((context) => errorAnswer(notFound(`${context.req.method} ${context.req.path}`)));
  return app;
}

function streamAnswer(
  context: Parameters<typeof streamSSE>[0],
  answer: { readonly identity: AnswerIdentity; readonly request: ChatRequest; readonly sampling: ChatSampling },
): Response {
  const { identity, request, sampling } = answer;
  return streamSSE(context, async (stream) => {
    stream.onAbort(() => abandon(sampling.generations));
    try {
      for await (const chunk of chatChunks(identity, request, sampling)) {
        await stream.writeSSE({ data: JSON.stringify(chunk) });
      }
      await stream.writeSSE({ data: '[DONE]' });
    } catch (error) {
      await stream.writeSSE({ data: JSON.stringify(errorBody(error)) });
    }
  });
}

async function readRequest(request: Request): Promise<ChatRequest> {
  let body: unknown;
  try {
    body = JSON.parse(await request.text());
  } catch (cause) {
    if (cause instanceof HTTPException) throw cause;
    throw new ValidationError('The request body', [{ path: '', message: 'it is not JSON' }], cause);
  }
  return parse(chatRequestSchema, body, 'The request');
}

function servingModel(models: ModelDirectory, name: string): CpuModel {
  const model = models.get(name);
  if (model === undefined) throw notFound(`the model "${name}"`);
  if (model.isPaused) {
    throw new AgentLightningError({
      code: 'RUNTIME_UNAVAILABLE',
      message: `the model "${name}" is paused`,
      remedy: 'Send the request again after the time that Retry-After says.',
    });
  }
  return model;
}

function newIdentity(model: string): AnswerIdentity {
  return {
    id: `chatcmpl-${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`,
    created: Math.floor(Date.now() / 1000),
    model,
  };
}

function notFound(what: string): AgentLightningError {
  return new AgentLightningError({
    code: 'NOT_FOUND',
    message: `${what} is not here`,
    remedy: 'GET /v1/models lists the models; POST /v1/chat/completions asks one.',
  });
}

function tooLarge(): Response {
  return errorAnswer(
    new AgentLightningError({ code: 'PAYLOAD_TOO_LARGE', message: `a request may have ${maxBodyBytes} bytes at most` }),
  );
}

const statusOfCode: Readonly<Record<string, ContentfulStatusCode>> = {
  VALIDATION: 400,
  RUNTIME_REJECTED: 400,
  NOT_FOUND: 404,
  PAYLOAD_TOO_LARGE: 413,
  RUNTIME_UNAVAILABLE: 503,
  CANCELLED: 503,
};

function errorAnswer(error: unknown): Response {
  if (error instanceof HTTPException) return error.getResponse();
  const status = AgentLightningError.isInstance(error) ? (statusOfCode[error.code] ?? 500) : 500;
  return Response.json(errorBody(error), { status, headers: status === 503 ? { 'retry-after': '1' } : {} });
}

/** An error in OpenAI's form. The message of an unforeseen one stays in the process. */
function errorBody(error: unknown): { readonly error: Record<string, unknown> } {
  if (!AgentLightningError.isInstance(error)) {
    return { error: { message: 'the runtime failed', type: 'server_error', code: 'INTERNAL', param: null } };
  }
  const isCallers = (statusOfCode[error.code] ?? 500) < 500;
  const type = isCallers ? 'invalid_request_error' : 'server_error';
  return { error: { message: `${error.message} ${error.remedy}`, type, code: error.code, param: null } };
}
