import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ModelCall, RolloutMode, Span, Store } from '@agentlightning/core';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { type AttemptedRollout, attemptBaseUrl } from '@agentlightning/core/store';
import { ScriptedModel, type ScriptedModelScript, type ScriptedStep } from '@agentlightning/core/testing';
import { openStore } from '@agentlightning/store';
import OpenAI from 'openai';
import { type RetryOptions, type ServedGateway, type ServeGatewayOptions, serveGateway } from '../src/index.ts';

/** A gateway in front of a scripted model, with a real store behind it. */
export interface GatewayFixture extends AsyncDisposable {
  readonly store: Store;
  readonly model: ScriptedModel;
  readonly gateway: ServedGateway;
  /** A running attempt. */
  attempt(mode?: RolloutMode): Promise<AttemptedRollout>;
  /** The official client at the attempt's base URL, or at the plain one. */
  client(attempt?: AttemptedRollout, maxRetries?: number): OpenAI;
  /** The attempt's base URL, or the plain one. */
  baseUrl(attempt?: AttemptedRollout): string;
  /** The recorded spans of an attempt, in order. */
  spans(attempt: AttemptedRollout): Promise<readonly Span[]>;
  /** The recorded model calls of an attempt, in order. */
  calls(attempt: AttemptedRollout): Promise<readonly ModelCall[]>;
}

/** Options of a fixture: those of the gateway, any of them, and the script. */
export interface FixtureOptions extends Partial<ServeGatewayOptions> {
  readonly script?: readonly ScriptedStep[] | ScriptedModelScript;
}

/** Retries without delays. */
export const quickRetry: Partial<RetryOptions> = { maxRetries: 3, baseDelayMs: 1, maxDelayMs: 2 };

/** Starts store, model and gateway on free ports. */
export async function startGateway(options: FixtureOptions = {}): Promise<GatewayFixture> {
  const store = options.store ?? (await openStore(':memory:'));
  const model = await ScriptedModel.start(options.script ?? []);
  const { script: _, ...gatewayOptions } = options;
  const gateway = await serveGateway({
    upstream: { baseUrl: model.baseUrl, model: 'policy' },
    retry: quickRetry,
    ...gatewayOptions,
    store,
  });
  const spans = async ({ rolloutId, attempt }: AttemptedRollout): Promise<readonly Span[]> =>
    (await store.querySpans({ rolloutId, attemptId: attempt.attemptId })).items;
  return {
    store,
    model,
    gateway,
    attempt: (mode) => store.startRollout({ input: { question: '2 + 3' }, ...(mode === undefined ? {} : { mode }) }),
    client: (attempted, maxRetries = 0) =>
      new OpenAI({ baseURL: baseUrl(gateway, attempted), apiKey: 'unused', maxRetries }),
    baseUrl: (attempted) => baseUrl(gateway, attempted),
    spans,
    calls: async (attempted) => (await spans(attempted)).map(modelCallFromSpan).filter((call) => call !== null),
    [Symbol.asyncDispose]: async () => {
      await gateway.close();
      await model.close();
      await store.close();
    },
  };
}

function baseUrl(gateway: ServedGateway, attempted: AttemptedRollout | undefined): string {
  const endpoint = `${gateway.url}/v1`;
  if (attempted === undefined) return endpoint;
  return attemptBaseUrl(endpoint, { rolloutId: attempted.rolloutId, attemptId: attempted.attempt.attemptId });
}

/** A minimal request. */
export const simpleRequest: OpenAI.ChatCompletionCreateParamsNonStreaming = {
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'What is 2 + 3?' }],
};

interface UpstreamRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An upstream with arbitrary responses. */
export interface BareUpstream extends AsyncDisposable {
  readonly baseUrl: string;
  readonly requests: readonly UpstreamRequest[];
}

/** Starts an upstream with a request handler. */
export async function startUpstream(
  respond: (response: ServerResponse, index: number) => void | Promise<void>,
  port = 0,
): Promise<BareUpstream> {
  const requests: UpstreamRequest[] = [];
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      requests.push({
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(parts).toString('utf8'),
      });
      void respond(response, requests.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const at = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${at}/v1`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A vLLM-like body of two response tokens. */
export function completionBody(changes: object = {}, choice: object = {}): object {
  return {
    id: 'chatcmpl-7',
    object: 'chat.completion',
    created: 1,
    model: 'policy-7',
    prompt_token_ids: [10, 11, 12],
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: '5' },
        finish_reason: 'stop',
        token_ids: [20, 21],
        logprobs: {
          content: [
            { token: '5', logprob: -0.25 },
            { token: '<eos>', logprob: -0.5 },
          ],
        },
        ...choice,
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ...changes,
  };
}

/** The same body as the only chunk of a stream. */
export function completionChunk(...changes: Parameters<typeof completionBody>): object {
  const body = completionBody(...changes) as { readonly choices: readonly [{ readonly message: object }] };
  const [{ message, ...choice }] = body.choices;
  return { ...body, object: 'chat.completion.chunk', choices: [{ ...choice, delta: message }] };
}

/** Waits for an asynchronous condition. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Responds with JSON. */
export function respondJson(response: ServerResponse, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A store with some methods replaced. */
export function storeWith(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}

/** A promise that the test settles. */
export function signalled(): { readonly promise: Promise<void>; readonly send: () => void } {
  let send: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    send = resolve;
  });
  return { promise, send };
}
