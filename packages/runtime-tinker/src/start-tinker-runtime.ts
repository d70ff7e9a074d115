import path from 'node:path';
import { AgentLightningError } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { didYouMean } from '@agentlightning/core/settings';
import type { ServedRuntime, ServedRuntimeOptions } from '@agentlightning/runtime';
import { startRuntime } from '@agentlightning/runtime/internal/serving';
import { LiveModels } from './engine/live-models.ts';
import { type MeasuredServer, measureServer } from './engine/measure-server.ts';
import { TinkerEngine } from './engine/tinker-engine.ts';
import type { TinkerModel } from './engine/tinker-model.ts';
import { environmentVariables } from './environment.ts';
import { ModelText } from './text/model-text.ts';
import { type ServerModel, TinkerSession } from './wire/tinker-session.ts';

/** A model of a Tinker server, and its tokenizer. */
export interface TinkerServerOptions {
  /** Address of the Tinker server, without `/api/v1`. */
  readonly serverUrl: string;
  /** The key of the server, such as `tml-…`. */
  readonly serverKey: string;
  /** The base model to train, by its name on the server. */
  readonly model: string;
  /** A folder with tokenizer and chat template, or a name in the cache of the Hugging Face hub. @default the model */
  readonly tokenizer?: string;
}

/** Options of the runtime over a Tinker server. It listens on loopback only. */
export interface TinkerRuntimeOptions extends ServedRuntimeOptions, TinkerServerOptions {
  /** Parent folder of what is kept of checkpoints here, with a folder for each model. */
  readonly checkpointDir: string;
  /** Called when the server has lost the models, as after a restart: start another runtime, and load the last checkpoint. */
  readonly onLost?: (error: AgentLightningError) => void;
}

/**
 * Starts a runtime in this process that trains on a Tinker server: gRPC for training, OpenAI's API for sampling. What the server does
 * differently from others is measured first, with about ten small steps of a separate model.
 *
 * @throws AgentLightningError UNAUTHENTICATED for a wrong key, CONFIG for an unknown model or a model without tokenizer or
 *   chat template, RUNTIME_UNAVAILABLE when the server does not respond
 * @example
 * ```ts
 * const runtime = await startTinkerRuntime({
 *   serverUrl: 'http://127.0.0.1:8000',
 *   serverKey: 'tml-key',
 *   model: 'Qwen/Qwen3-0.6B',
 *   checkpointDir: '.agl/checkpoints',
 * });
 * ```
 */
export async function startTinkerRuntime(options: TinkerRuntimeOptions): Promise<ServedRuntime> {
  const { serverUrl } = options;
  const checkpointDir = path.resolve(options.checkpointDir);
  const live = new LiveModels(checkpointDir, serverUrl);
  const { session, base, text, profile } = await openServer(options, live);
  try {
    const models = new Map<string, TinkerModel>();
    return await startRuntime(
      {
        name: 'the runtime over a Tinker server',
        models,
        rules: { modelName: 'a model of a Tinker server', vocabularySize: text.vocabularySize },
        createEngine: (place) =>
          new TinkerEngine({
            ...place,
            serverUrl,
            session,
            profile,
            base,
            text,
            checkpointDir,
            models,
          }),
      },
      options,
    );
  } catch (error) {
    session.close();
    throw error;
  }
}

/**
 * Measures what a Tinker server does differently from others, which the protocol does not say.
 *
 * @throws AgentLightningError as {@link startTinkerRuntime}
 */
export async function examineTinkerServer(options: TinkerServerOptions): Promise<MeasuredServer> {
  const { session, profile } = await openServer(options);
  session.close();
  return profile;
}

interface OpenServer {
  readonly session: TinkerSession;
  readonly base: ServerModel;
  readonly text: ModelText;
  readonly profile: MeasuredServer;
}

async function openServer(
  options: TinkerServerOptions & Pick<TinkerRuntimeOptions, 'clock' | 'onLost'>,
  live?: LiveModels,
): Promise<OpenServer> {
  const { serverUrl, serverKey, model, tokenizer = model, clock = systemClock, onLost } = options;
  const text = await ModelText.read(tokenizer, environmentVariables());
  const onModels = (ids: readonly string[]): void => live?.write(ids);
  const lost = onLost === undefined ? {} : { onLost };
  const session = await TinkerSession.open({ baseUrl: serverUrl, apiKey: serverKey, clock, onModels, ...lost });
  try {
    await session.unloadLeft(live?.takeLeft() ?? []);
    const base = modelOf(model, await session.models());
    const profile = await measureServer({ session, baseModel: base.name, vocabularySize: text.vocabularySize });
    return { session, base, text, profile };
  } catch (error) {
    session.close();
    throw error;
  }
}

function modelOf(name: string, models: readonly ServerModel[]): ServerModel {
  const found = models.find((model) => model.name === name);
  if (found?.isTrainable) return found;
  // Some servers do not name their models: creating one shows whether it exists.
  if (models.length === 0) return { name, maxContext: null, isTrainable: true };
  const names = models.filter(({ isTrainable }) => isTrainable).map((model) => model.name);
  const remedy = `Use one of the models that it trains: ${names.join(', ') || 'it has no such model'}.`;
  if (found !== undefined) {
    const message = `The Tinker server samples from "${name}", but does not train it`;
    throw new AgentLightningError({ code: 'CONFIG', message, remedy });
  }
  const message = `The Tinker server does not train "${name}"${didYouMean(name, names)}`;
  throw new AgentLightningError({ code: 'CONFIG', message, remedy });
}
