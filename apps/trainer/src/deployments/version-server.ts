import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import type { ModelSource, ModelVersion } from '@agentlightning/core/protocol';
import { readSecret } from '@agentlightning/core/settings';
import type { Upstream } from '@agentlightning/gateway';
import type { RuntimeModel } from '@agentlightning/runtime';
import { areInsecureKeysAllowed } from '../config/environment.ts';
import { chooseBaseModel } from '../runtime/choose-base-model.ts';
import { type OpenRuntime, openRuntime } from '../runtime/open-runtime.ts';

/** Options of {@link VersionServer}. */
export interface VersionServerOptions {
  /** The folder of the checkpoints of the embedded runtime. */
  readonly dataDir: string;
  /** `host:port` of a runtime that serves all weights; null: each by the runtime of its run. */
  readonly runtimeAddress: string | null;
  /** The environment variables that may be sent to endpoints as keys. */
  readonly keyVariables: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly log: { warn(details: object, message: string): void };
}

/** A runtime, with its models by version. */
interface ServingRuntime {
  readonly connection: OpenRuntime;
  readonly models: Map<string, RuntimeModel>;
  isAlive: boolean;
}

/** Limit for a runtime to respond, in milliseconds. */
const connectTimeoutMs = 60_000;

/** Length of the digest in the name of a model. */
const digestLength = 32;

/**
 * Serves versions of deployments: weights by a training runtime, which loads the checkpoint into a separate model, and models of
 * endpoints where they are. Several processes may serve one version.
 */
export class VersionServer {
  readonly #options: VersionServerOptions;
  readonly #runtimes: Map<string, Promise<ServingRuntime>> = new Map();

  constructor(options: VersionServerOptions) {
    this.#options = options;
  }

  /**
   * The upstream of a version; its weights are loaded when it resolves.
   *
   * @throws AgentLightningError CONFIG for a version that cannot be served, NOT_FOUND without its checkpoint
   */
  async open(version: ModelVersion): Promise<Upstream> {
    const { source } = version;
    if (source === null) throw notServable(version);
    return source.type === 'endpoint' ? this.#endpoint(version, source) : await this.#weights(version, source);
  }

  /** Whether the model of a version is still in its runtime. */
  async isServed({ version, source }: ModelVersion): Promise<boolean> {
    if (source === null || source.type === 'endpoint') return true;
    const runtime = await this.#runtimes.get(this.#placeOf(source))?.catch(() => null);
    const model = runtime?.models.get(version);
    if (runtime == null || model === undefined || !runtime.isAlive) return false;
    try {
      await model.state();
      return true;
    } catch (error) {
      // A runtime that does not respond may have the model; one that has restarted has not.
      const isLost = AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND';
      if (isLost) runtime.models.delete(version);
      return !isLost;
    }
  }

  /** Frees the model of a version. */
  async release({ version, source }: ModelVersion): Promise<void> {
    if (source === null || source.type === 'endpoint') return;
    const runtime = await this.#runtimes.get(this.#placeOf(source))?.catch(() => null);
    const model = runtime?.models.get(version);
    runtime?.models.delete(version);
    // Another process may have freed it.
    await model?.unload().catch(() => undefined);
  }

  /** Closes the runtimes. Models in a runtime of another process stay there, for other gateways and for a restart. */
  async close(): Promise<void> {
    const runtimes = await Promise.allSettled(this.#runtimes.values());
    this.#runtimes.clear();
    for (const each of runtimes) if (each.status === 'fulfilled') await each.value.connection.close();
  }

  #endpoint({ version }: ModelVersion, source: Extract<ModelSource, { readonly type: 'endpoint' }>): Upstream {
    const { baseUrl, model, keyVariable } = source;
    const { keyVariables, environment } = this.#options;
    // Clients of the store write the record, and must not choose which variable of this machine is sent where.
    if (keyVariable !== null && !keyVariables.includes(keyVariable)) throw notAllowed(version, baseUrl, keyVariable);
    const apiKey = keyVariable === null ? null : readSecret({ env: keyVariable }, environment);
    if (keyVariable !== null && apiKey === null) {
      throw new AgentLightningError({
        code: 'CONFIG',
        message: `the environment variable ${keyVariable}, named by the record of the deployment, is not set`,
        remedy: `Set it: ${keyVariable}=… agl serve …`,
      });
    }
    const allowInsecureKey = areInsecureKeysAllowed();
    return { baseUrl, model, apiKey, allowInsecureKey, capture: 'text', versions: [version], id: version };
  }

  async #weights(
    version: ModelVersion,
    source: Exclude<ModelSource, { readonly type: 'endpoint' }>,
  ): Promise<Upstream> {
    const uri = onlyCheckpointOf(version);
    const place = this.#placeOf(source);
    const wasOpen = this.#runtimes.has(place);
    const runtime = await this.#runtime(place);
    const { connection, models } = runtime;
    let model = models.get(version.version);
    try {
      model ??= await load(connection, { version, uri, source });
    } catch (error) {
      // A runtime that has restarted does not know the session of the connection.
      const isLost = AgentLightningError.isInstance(error) && error.code === 'RUNTIME_UNAVAILABLE';
      if (!isLost || !wasOpen) throw error;
      await this.#disconnect(place, runtime);
      return await this.#weights(version, source);
    }
    models.set(version.version, model);
    const endpoint = await model.endpoint();
    return {
      baseUrl: endpoint.baseUrl,
      model: endpoint.model,
      apiKey: connection.inferenceKey(endpoint),
      allowInsecureKey: areInsecureKeysAllowed(),
      versions: [version.version],
      id: version.version,
    };
  }

  #placeOf(source: Exclude<ModelSource, { readonly type: 'endpoint' }>): string {
    return this.#options.runtimeAddress ?? (source.type === 'grpc' ? source.address : 'embedded');
  }

  async #runtime(place: string): Promise<ServingRuntime> {
    const known = this.#runtimes.get(place);
    if (known !== undefined && (await known.catch(() => null))?.isAlive === true) return await known;
    const opened = this.#openRuntime(place);
    this.#runtimes.set(place, opened);
    return await opened;
  }

  /** Ends a connection, so that the next use of the runtime opens another one, with all of its models. */
  async #disconnect(place: string, runtime: ServingRuntime): Promise<void> {
    if (!runtime.isAlive) return;
    runtime.isAlive = false;
    this.#options.log.warn({ runtime: place }, 'the runtime has restarted; it is connected again');
    this.#runtimes.delete(place);
    await runtime.connection.close().catch(() => undefined);
  }

  async #openRuntime(place: string): Promise<ServingRuntime> {
    const { dataDir, environment, log } = this.#options;
    const apiKey = environment['AGL_RUNTIME_KEY'];
    const key = apiKey === undefined || apiKey === '' ? {} : { apiKey };
    const connection = await openRuntime(
      place === 'embedded' ? { type: 'embedded' } : { type: 'grpc', address: place, ...key },
      { dataDir, timeoutMs: connectTimeoutMs, onWait: (message) => log.warn({}, message) },
    );
    const runtime: ServingRuntime = { connection, models: new Map(), isAlive: true };
    void connection.died.then((error) => {
      runtime.isAlive = false;
      log.warn({ err: error }, 'the runtime has ended; it is started again');
    });
    return runtime;
  }
}

/** Loads a checkpoint into a model that all processes name alike; a model that exists already has these weights. */
async function load(
  { runtime }: OpenRuntime,
  { version, uri, source }: { readonly version: ModelVersion; readonly uri: string; readonly source: ModelSource },
): Promise<RuntimeModel> {
  const capabilities = await runtime.capabilities();
  const digest = createHash('sha256').update(`${version.version} ${uri}`).digest('hex').slice(0, digestLength);
  const lora = source.type === 'grpc' ? source.lora : null;
  return await runtime.createModel({
    modelId: `deployed--${digest}`,
    baseModel: chooseBaseModel(version.baseModel ?? undefined, capabilities),
    seed: 0,
    initialCheckpoint: uri,
    ...(lora === null ? {} : { lora }),
  });
}

function onlyCheckpointOf({ version, location }: ModelVersion): string {
  const uris = typeof location === 'object' && location !== null ? Object.values(location) : [];
  const [uri] = uris;
  if (uri !== undefined && uris.length === 1) return uri;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `${version} has ${uris.length} policies, and a deployment serves one model`,
    remedy: 'Serve each policy by an endpoint: `agl deploy <version> --endpoint <url> --model <name>`.',
  });
}

function notServable({ version, kind }: ModelVersion): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message:
      kind === 'prompts'
        ? `${version} is prompts, not a model`
        : `${version} was recorded without a place that serves it`,
    remedy:
      kind === 'prompts'
        ? 'Applications load prompts with `loadPrompts`; they need no server.'
        : 'Deploy it again with `--endpoint <url> --model <name>`.',
  });
}

function notAllowed(version: string, baseUrl: string, name: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${version} is served by ${baseUrl} with the key of ${name}, which is not one of the variables that may be sent`,
    remedy: `Pass \`--key-env ${name}\` if the endpoint may have it.`,
  });
}
