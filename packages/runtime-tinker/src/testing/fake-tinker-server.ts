import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@agentlightning/core/internal';
import { closeServer, listen } from '@agentlightning/core/protocol';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { protobufType } from '../wire/tinker-http.ts';
import type { Dialect } from '../wire/tinker-link.ts';
import {
  binaryOutput,
  binarySamples,
  type JsonPass,
  jsonOutput,
  type ReceivedPass,
  readBinaryPass,
  readJsonPass,
} from './fake-messages.ts';
import { type FakeDeviations, FakeModel, type WireAdam } from './fake-model.ts';

/** What happens to one request: a response instead of the server's, or a connection that breaks after or before the work. */
export type Fault = { readonly status: number; readonly body?: object } | 'break_before' | 'break_after';

/** Options of the fake server. */
export interface FakeTinkerOptions extends FakeDeviations {
  readonly dialect: Dialect;
  /** Folder of saved weights; they outlive the server. */
  readonly directory: string;
  /** @default a free one */
  readonly port?: number;
  /** @default ['tiny-chat'] */
  readonly baseModels?: readonly string[];
  /** Base models that are listed as not trainable. @default [] */
  readonly sampledOnly?: readonly string[];
  /** The key of all requests. @default 'tml-fake' */
  readonly apiKey?: string;
  /** Whether a request for a model that the server does not have is accepted, and fails, as after a restart of SkyRL. @default false */
  readonly acceptsLostModels?: boolean;
  /** Called for every request; returns what goes wrong with it. @default nothing */
  readonly fault?: (route: string) => Fault | undefined;
}

/** A listening fake server. */
export interface FakeTinkerServer {
  /** Without `/api/v1`. */
  readonly url: string;
  readonly apiKey: string;
  /** Number of times that each operation changed a model. */
  readonly applied: ReadonlyMap<string, number>;
  /** Number of models that are not unloaded. */
  readonly models: number;
  close(): Promise<void>;
}

type Body = Readonly<Record<string, unknown>>;
type Result = { readonly binary: Uint8Array<ArrayBuffer> } | { readonly json: object };
type FakeContext = Context<{ Bindings: HttpBindings }>;

interface Hosted {
  readonly model: FakeModel;
  readonly seed: number;
  sequence: number;
  /** Requests by their number: the promise of each, and the digest of its content. */
  readonly accepted: Map<number, { readonly requestId: string; readonly digest: string }>;
  turn: Promise<unknown>;
}

/** Time limit of a poll, in milliseconds. */
const holdMs = 2_000;

class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A Tinker server over the embedded runtime's real gradients: strict, in each dialect, with the deviations of real ones. */
class FakeServer {
  readonly applied = new Map<string, number>();
  readonly #options: FakeTinkerOptions;
  readonly #models = new Map<string, Hosted>();
  readonly #promises = new Map<string, Promise<Result>>();
  readonly #samplers = new Map<string, ReturnType<FakeModel['sampler']>>();
  #ids = 0;

  constructor(options: FakeTinkerOptions) {
    this.#options = options;
  }

  get models(): number {
    return this.#models.size;
  }

  routes(): Hono<{ Bindings: HttpBindings }> {
    const app = new Hono<{ Bindings: HttpBindings }>().basePath('/api/v1');
    const { dialect, apiKey = 'tml-fake', baseModels = ['tiny-chat'], sampledOnly = [] } = this.#options;
    app.use(async (context, next) => {
      if (context.req.header('x-api-key') !== apiKey) return context.json({ detail: 'invalid API key' }, 401);
      const fault = this.#options.fault?.(context.req.path.replace('/api/v1/', ''));
      if (fault === 'break_before') context.env.incoming.socket.destroy();
      else if (typeof fault === 'object') return Response.json(fault.body ?? {}, { status: fault.status });
      await next();
      if (fault === 'break_after') context.env.incoming.socket.destroy();
      return undefined;
    });
    app.post('/client/config', (context) => context.json(dialect === 'json' ? {} : { fwdbwd_max_chunk_len: 64 }));
    app.post('/create_session', (context) => context.json({ session_id: this.#newId('session'), error_message: null }));
    app.post('/session_heartbeat', (context) => context.json({}));
    app.get('/get_server_capabilities', (context) => {
      const models = [
        ...baseModels.map((name) => ({ model_name: name })),
        ...sampledOnly.map((name) => ({ model_name: name, trainable: false })),
      ];
      // As real ones: a server of the JSON dialect lists families, which need not have the model that it serves.
      return context.json({ supported_models: dialect === 'json' ? [{ model_id: 'Qwen/Qwen3.5' }] : models });
    });
    app.post('/create_model', async (context) => context.json(await this.#createModel(await context.req.json())));
    app.post('/unload_model', async (context) => {
      const { model_id: id } = await context.req.json<{ model_id: string }>();
      return this.#models.delete(id) ? context.json(this.#promise(Promise.resolve({ json: {} }))) : refuse(404, id);
    });
    app.post('/forward_backward', (context) => this.#acceptPass(context, false));
    app.post('/forward', (context) => (dialect === 'json' ? this.#acceptPass(context, true) : refuse(404, 'forward')));
    for (const route of ['optim_step', 'save_weights', 'save_weights_for_sampler', 'load_weights'] as const) {
      app.post(`/${route}`, async (context) => context.json(await this.#accept(route, await context.req.json())));
    }
    app.post('/asample', async (context) => context.json(this.#sample(await context.req.json())));
    app.post('/retrieve_future', (context) => this.#retrieve(context));
    app.delete('/training_runs/:run/checkpoints/weights/:name', async ({ req }) => {
      await rm(this.#fileOf(`tinker://${req.param('run')}/weights/${req.param('name')}`));
      return new Response(null, { status: 204 });
    });
    app.onError((error) => refuse(error instanceof Refused ? error.status : 400, error.message));
    return app;
  }

  async #createModel(body: Body): Promise<object> {
    const { baseModels = ['tiny-chat'] } = this.#options;
    const base = String(body['base_model']);
    const { rank, seed } = body['lora_config'] as { readonly rank: number; readonly seed: number };
    if (!baseModels.includes(base)) throw new Refused(400, `Unknown base model ${base}`);
    if (!(rank >= 1 && rank <= 64)) throw new Refused(422, `lora_config.rank is ${rank}`);
    return this.#host(base, seed);
  }

  async #host(base: string, seed: number): Promise<{ readonly request_id: string; readonly model_id: string }> {
    const id = this.#newId('model');
    const model = await FakeModel.create(base, seed, this.#options);
    this.#models.set(id, { model, seed, sequence: 0, accepted: new Map(), turn: Promise.resolve() });
    const { alpha } = this.#options;
    const json = { model_id: id, ...(alpha === undefined ? {} : { lora_config: { alpha } }) };
    return { ...this.#promise(Promise.resolve({ json })), model_id: id };
  }

  async #acceptPass(context: FakeContext, isForwardRoute: boolean): Promise<Response> {
    const isBinary = context.req.header('content-type') === protobufType;
    // As real ones: a server that reads JSON fails at a binary message, instead of refusing it.
    if (isBinary && this.#options.dialect === 'json') return refuse(500, 'Internal Server Error');
    if (!isBinary && this.#options.dialect !== 'json') return refuse(415, `this requires an ${protobufType} body`);
    const pass = isBinary
      ? readBinaryPass(new Uint8Array(await context.req.arrayBuffer()))
      : readJsonPass(await context.req.json<JsonPass>());
    if (!isBinary && pass.isForwardOnly !== isForwardRoute) throw new Refused(422, 'forward_input is for /forward');
    this.#check(pass);
    const content = JSON.stringify(pass, (_, value: unknown) =>
      ArrayBuffer.isView(value) ? [...(value as Float32Array)] : value,
    );
    const place = { id: pass.modelId, sequence: pass.sequence, content };
    return context.json(
      this.#enqueue(place, async ({ model }) => {
        if (!pass.isForwardOnly) this.#count('forward_backward');
        const logprobs = await (pass.isForwardOnly ? model.score(pass.data) : model.addGradients(pass.data));
        return isBinary ? { binary: binaryOutput(logprobs) } : { json: jsonOutput(logprobs) };
      }),
    );
  }

  #check({ loss, data }: ReceivedPass): void {
    const known: Readonly<Record<string, readonly string[]>> = {
      cross_entropy: ['weights'],
      importance_sampling: ['logprobs', 'advantages', ...(this.#averages ? ['weights'] : [])],
    };
    for (const { tokenIds, inputs } of data) {
      for (const [name, values] of Object.entries(inputs)) {
        if (!known[loss]?.includes(name)) throw new Refused(400, `${loss} has no input ${name}`);
        if (values.length !== tokenIds.length - 1) throw new Refused(400, `${name} has ${values.length} values`);
        if (!values.every(Number.isFinite)) throw new Refused(400, `${name} is not finite`);
      }
    }
  }

  get #averages(): boolean {
    return (this.#options.lossScale ?? 'sum') !== 'sum';
  }

  async #accept(route: string, body: Body): Promise<object> {
    if (route === 'load_weights' && body['model_id'] === undefined) return await this.#createByLoading(body);
    const place = { id: String(body['model_id']), sequence: Number(body['seq_id']), content: JSON.stringify(body) };
    if (route === 'load_weights' && place.sequence !== 1) {
      throw new Refused(400, `LoadWeights is not permitted with seq_id ${place.sequence}`);
    }
    return this.#enqueue(place, async (hosted) => {
      this.#count(route);
      switch (route) {
        case 'optim_step':
          return { json: { metrics: await hosted.model.step(body['adam_params'] as WireAdam) } };
        case 'save_weights':
          return { json: { path: await this.#save(place.id, hosted, body) } };
        case 'load_weights':
          await this.#load(hosted, String(body['path']));
          return { json: { path: body['path'] } };
        default: {
          const session = this.#newId('sampling');
          this.#samplers.set(session, hosted.model.sampler());
          return { json: { path: null, sampling_session_id: session } };
        }
      }
    });
  }

  async #createByLoading(body: Body): Promise<object> {
    if (this.#options.dialect !== 'sequences') throw new Refused(422, 'model_id is missing');
    const { baseModels = ['tiny-chat'] } = this.#options;
    const made = await this.#host(baseModels[0] ?? '', 0);
    const hosted = this.#models.get(made.model_id);
    if (hosted !== undefined) await this.#load(hosted, String(body['path']));
    return made;
  }

  async #save(id: string, { model }: Hosted, body: Body): Promise<string> {
    const uri = `tinker://${id}/weights/${String(body['path'])}`;
    const file = this.#fileOf(uri);
    if (existsSync(file) && body['overwrite'] !== true) throw new Refused(409, `${uri} exists`);
    await mkdir(path.dirname(file), { recursive: true });
    await model.engine.saveCheckpoint(file, new Uint8Array());
    return uri;
  }

  async #load({ model }: Hosted, uri: string): Promise<void> {
    const file = this.#fileOf(uri);
    if (!existsSync(file)) throw new Refused(404, `${uri} does not exist, or has expired`);
    await model.engine.loadCheckpoint(file);
  }

  #fileOf(uri: string): string {
    return path.join(this.#options.directory, `${uri.replace('tinker://', '').replaceAll('/', '-')}.safetensors`);
  }

  /** Accepts a request of a model in its place, and runs it after those before. */
  #enqueue(
    { id, sequence, content }: { readonly id: string; readonly sequence: number; readonly content: string },
    run: (hosted: Hosted) => Promise<Result>,
  ): { readonly request_id: string } {
    const hosted = this.#models.get(id);
    if (hosted === undefined) return this.#withoutModel(id);
    const digest = createHash('sha256').update(content).digest('hex');
    const known = hosted.accepted.get(sequence);
    if (known !== undefined) {
      if (known.digest === digest) return { request_id: known.requestId };
      throw new Refused(409, `seq_id ${sequence} was used for another request`);
    }
    if (sequence !== hosted.sequence + 1)
      throw new Refused(400, `seq_id is ${sequence}; ${hosted.sequence + 1} follows`);
    hosted.sequence = sequence;
    const result = hosted.turn.then(() => run(hosted));
    hosted.turn = result.catch(() => undefined);
    const promise = this.#promise(result);
    hosted.accepted.set(sequence, { requestId: promise.request_id, digest });
    return promise;
  }

  #withoutModel(id: string): { readonly request_id: string } {
    if (this.#options.acceptsLostModels !== true) throw new Refused(404, `Unknown model ${id}`);
    return this.#promise(Promise.reject(new Refused(400, `Model ${id} not loaded`)));
  }

  #sample(body: Body): object {
    const sampler = this.#samplers.get(String(body['sampling_session_id']));
    if (sampler === undefined) return this.#withoutModel('of the sampling session');
    const prompt = body['prompt'] as { readonly chunks: readonly { readonly tokens: readonly number[] }[] };
    const params = body['sampling_params'] as {
      readonly max_tokens: number;
      readonly temperature: number;
      readonly top_p: number;
      readonly top_k: number;
      readonly seed?: number;
      readonly stop: readonly number[];
    };
    const sampling = sampler({
      promptTokens: prompt.chunks.flatMap(({ tokens }) => tokens),
      maxTokens: params.max_tokens,
      temperature: params.temperature,
      topP: params.top_p,
      vocabularySize: params.top_k,
      stopTokens: params.stop,
      seed: params.seed,
    });
    const result = sampling.then(
      (sample): Result =>
        this.#options.dialect === 'json'
          ? {
              json: {
                sequences: [{ tokens: sample.tokens, logprobs: sample.logprobs, stop_reason: sample.stopReason }],
              },
            }
          : { binary: binarySamples([sample]) },
    );
    const names = this.#options.dialect === 'sequences' ? { sample_sequence_ids: [this.#newId('sample')] } : {};
    return { ...this.#promise(result), ...names };
  }

  #promise(result: Promise<Result>): { readonly request_id: string } {
    const requestId = this.#newId('future');
    result.catch(() => undefined);
    this.#promises.set(requestId, result);
    return { request_id: requestId };
  }

  async #retrieve(context: FakeContext): Promise<Response> {
    const { request_id: id } = await context.req.json<{ request_id: string }>();
    const promise = this.#promises.get(id);
    if (promise === undefined) return refuse(410, `Unknown promise ${id}`);
    const result = await Promise.race([promise, sleep(holdMs, null)]);
    if (result === null) return context.json({ type: 'try_again', request_id: id, queue_state: 'active' });
    if ('json' in result) return context.json(result.json);
    return context.body(result.binary, 200, { 'content-type': protobufType });
  }

  #count(route: string): void {
    this.applied.set(route, (this.applied.get(route) ?? 0) + 1);
  }

  #newId(kind: string): string {
    this.#ids += 1;
    return `${kind}-${process.pid}-${this.#ids}`;
  }
}

function refuse(status: number, detail: string): Response {
  return Response.json({ detail }, { status });
}

/**
 * Starts a fake Tinker server on loopback, for tests without a service: it trains a tiny model for real.
 *
 * @example
 * ```ts
 * const server = await startFakeTinkerServer({ dialect: 'binary', directory: '/tmp/weights' });
 * ```
 */
export async function startFakeTinkerServer(options: FakeTinkerOptions): Promise<FakeTinkerServer> {
  const fake = new FakeServer(options);
  await mkdir(options.directory, { recursive: true });
  const server = createServer(getRequestListener(fake.routes().fetch, { overrideGlobalObjects: false }));
  const host = '127.0.0.1';
  const port = await listen(server, 'the fake Tinker server', { host, port: options.port ?? 0 });
  return {
    url: `http://${host}:${port}`,
    apiKey: options.apiKey ?? 'tml-fake',
    applied: fake.applied,
    get models() {
      return fake.models;
    },
    close: () => closeServer(server, 100, systemClock),
  };
}
