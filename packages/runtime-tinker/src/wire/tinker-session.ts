import { AgentLightningError } from '@agentlightning/core';
import * as z from 'zod';
import { RemoteModel, unloadModel } from './remote-model.ts';
import { operationFailure, type TinkerReply, withoutCheckpoint } from './server-refusal.ts';
import { readAs, readJson, TinkerHttp, type TinkerHttpOptions } from './tinker-http.ts';
import { TinkerLink } from './tinker-link.ts';

/** The newest SDK whose messages this client speaks. */
const sdkVersion = '0.38.0';

const heartbeatMs = 10_000;

const sessionSchema = z.looseObject({ session_id: z.string(), error_message: z.string().nullish() });
const modelSchema = z.looseObject({
  model_name: z.string().optional(),
  max_context_length: z.number().nullish(),
  trainable: z.boolean().nullish(),
});
const capabilitiesSchema = z.looseObject({ supported_models: z.array(modelSchema) });
const createdSchema = z.looseObject({
  model_id: z.string(),
  lora_config: z.looseObject({ alpha: z.number().nullish() }).nullish(),
});
const limitsSchema = z.looseObject({
  fwdbwd_max_chunk_len: z.int().min(1).optional(),
  fwdbwd_max_chunk_bytes_count: z.int().min(1).optional(),
});

/** A base model of the server. */
export interface ServerModel {
  readonly name: string;
  /** In tokens; null: not stated. */
  readonly maxContext: number | null;
  /** Whether the server trains it, or samples from it only. */
  readonly isTrainable: boolean;
}

/** The groups of layers that can have adapters. */
export const layerGroups = ['attn', 'mlp', 'unembed'] as const;

/** One of {@link layerGroups}. */
export type LayerGroup = (typeof layerGroups)[number];

/** The options of a new model on the server. */
export interface RemoteModelOptions {
  readonly baseModel: string;
  readonly rank: number;
  readonly seed: number;
  /** Groups of layers with adapters. */
  readonly layers: readonly LayerGroup[];
}

/** Options of a session. */
export interface TinkerSessionOptions extends TinkerHttpOptions {
  /** Called with the ids of the session's models when one is created or unloaded. */
  readonly onModels?: (ids: readonly string[]) => void;
  /** Called when the server has lost the session's models. */
  readonly onLost?: (error: AgentLightningError) => void;
}

/** A session with a Tinker server: its models and samples end with it. */
export class TinkerSession {
  readonly #link: TinkerLink;
  readonly #id: string;
  readonly #onModels: (ids: readonly string[]) => void;
  readonly #live = new Set<string>();
  #models = 0;

  private constructor(link: TinkerLink, id: string, onModels: (ids: readonly string[]) => void) {
    this.#link = link;
    this.#id = id;
    this.#onModels = onModels;
  }

  /**
   * Opens a session, which lives until it is closed.
   * @throws AgentLightningError RUNTIME_UNAVAILABLE when the server does not respond, UNAUTHENTICATED for a wrong key
   */
  static async open({
    onModels = () => undefined,
    onLost = () => undefined,
    ...options
  }: TinkerSessionOptions): Promise<TinkerSession> {
    const http = new TinkerHttp(options);
    const config = await http.post('client/config', { sdk_version: sdkVersion });
    // Servers from before the configuration have the limits of their time.
    const given = config.status === 404 ? {} : readAs(limitsSchema, readJson(config, 'client/config'), 'client/config');
    const { fwdbwd_max_chunk_len: maxData = 1024, fwdbwd_max_chunk_bytes_count: maxBytes = 5_000_000 } = given;
    const body = { tags: [], user_metadata: {}, sdk_version: sdkVersion, type: 'create_session' };
    const reply = readJson(await http.post('create_session', body), 'create_session');
    const { session_id: id, error_message: error } = readAs(sessionSchema, reply, 'the session');
    if (error) throw operationFailure('create_session', error, true);
    const session = new TinkerSession(new TinkerLink(http, { maxData, maxBytes }, onLost), id, onModels);
    void session.#beat();
    return session;
  }

  /** The base models of the server; empty when it does not name them. */
  async models(): Promise<readonly ServerModel[]> {
    const { supported_models: models } = readAs(
      capabilitiesSchema,
      await this.#link.http.get('get_server_capabilities'),
      'get_server_capabilities',
    );
    // Servers of the JSON dialect have a list of families instead, which need not have the model that they serve.
    return models.flatMap(({ model_name: name, max_context_length: maxContext, trainable }) =>
      name === undefined ? [] : [{ name, maxContext: maxContext ?? null, isTrainable: trainable !== false }],
    );
  }

  /** Creates a model with LoRA. */
  async createModel({ baseModel, rank, seed, layers }: RemoteModelOptions): Promise<RemoteModel> {
    return await this.#create('create_model', {
      base_model: baseModel,
      lora_config: { rank, seed, ...layerFlags(layers) },
      optimizer_config: { type: 'adamw' },
      type: 'create_model',
    });
  }

  /** Creates a model from saved weights; `path` is a URI of the server. */
  async loadModel(options: RemoteModelOptions, path: string, withOptimizer: boolean): Promise<RemoteModel> {
    if (this.#link.dialect === 'sequences') {
      const loading = { path, optimizer: withOptimizer, type: 'load_weights' };
      return await this.#create('load_weights', loading).catch((error: unknown) => {
        throw notLoaded(path, error);
      });
    }
    const model = await this.createModel(options);
    try {
      // Permitted as the first request of a model only.
      await model.loadWeights(path, withOptimizer);
      return model;
    } catch (error) {
      await model.unload();
      throw notLoaded(path, error);
    }
  }

  /** Deletes saved weights, where the server can. */
  async deleteWeights(uri: string): Promise<void> {
    const [, run, name] = /^tinker:\/\/([^/]+)\/(.+)$/.exec(uri) ?? [];
    if (run !== undefined) await this.#link.http.delete(`training_runs/${run}/checkpoints/${name}`);
  }

  async #create(path: string, options: object): Promise<RemoteModel> {
    const place = { session_id: this.#id, model_seq_id: this.#models };
    this.#models += 1;
    const submit = (): Promise<TinkerReply> => this.#link.http.post(path, { ...place, ...options });
    const result = readJson(await this.#link.result(path, submit), path);
    const { model_id: id, lora_config: lora } = readAs(createdSchema, result, 'the new model');
    this.#live.add(id);
    this.#onModels([...this.#live]);
    const onUnload = (): void => {
      this.#live.delete(id);
      this.#onModels([...this.#live]);
    };
    return new RemoteModel(this.#link, { id, alpha: lora?.alpha ?? null, onUnload });
  }

  /** Frees models that another session has left, where the server still has them. */
  async unloadLeft(ids: readonly string[]): Promise<void> {
    for (const id of ids) await unloadModel(this.#link, id);
  }

  /** Ends the session: heartbeats, requests and waits. */
  close(): void {
    this.#link.http.close();
  }

  async #beat(): Promise<void> {
    try {
      for (;;) {
        await this.#link.http.clock.sleep(heartbeatMs, this.#link.http.closing);
        const body = { session_id: this.#id, type: 'session_heartbeat' };
        // 410: the server has ended the session, and the next request reports it.
        if ((await this.#link.http.post('session_heartbeat', body)).status === 410) return;
      }
    } catch (error) {
      // The next request reports what is wrong.
      if (!this.#link.http.closing.aborted && !AgentLightningError.isInstance(error)) throw error;
    }
  }
}

/** Codes of a server that has no such checkpoint. */
const absent: ReadonlySet<string> = new Set(['NOT_FOUND', 'RUNTIME_REJECTED']);

function notLoaded(uri: string, error: unknown): unknown {
  return AgentLightningError.isInstance(error) && absent.has(error.code) ? withoutCheckpoint(uri, error) : error;
}

function layerFlags(layers: readonly LayerGroup[]): object {
  return Object.fromEntries(layerGroups.map((group) => [`train_${group}`, layers.includes(group)]));
}
