import { AgentLightningError, NotFoundError } from '@agentlightning/core';
import type { CreateModelOptions } from '@agentlightning/core/training-runtime';
import type { EngineCapabilities, RuntimeEngine } from '@agentlightning/runtime';
import { lossDefinitions } from '@agentlightning/runtime/internal/losses';
import type { ServingPlace } from '@agentlightning/runtime/internal/serving';
import { packageVersion } from '../package-version.ts';
import type { ServerProfile } from '../profile.ts';
import type { ModelText } from '../text/model-text.ts';
import { type LayerGroup, layerGroups, type ServerModel, type TinkerSession } from '../wire/tinker-session.ts';
import { CheckpointFolder } from './checkpoint-folder.ts';
import { TinkerModel } from './tinker-model.ts';

/** Dependencies of the engine. */
export interface TinkerEngineOptions extends ServingPlace {
  /** For messages: the address of the server. */
  readonly serverUrl: string;
  readonly session: TinkerSession;
  readonly profile: ServerProfile;
  readonly base: ServerModel;
  readonly text: ModelText;
  /** Parent folder of checkpoints. */
  readonly checkpointDir: string;
  /** The models by id; shared with the model API. */
  readonly models: Map<string, TinkerModel>;
}

/** Servers do not say how large ranks may be. */
const maxLoraRank = 1024;

/** Parameters of losses that need the whole distribution or a value head, which the protocol does not have. */
const absentParameters: ReadonlySet<string> = new Set(['entropy_coefficient', 'value_coefficient', 'value_clip']);

/** Trains models on a Tinker server. */
export class TinkerEngine implements RuntimeEngine {
  readonly #options: TinkerEngineOptions;

  constructor(options: TinkerEngineOptions) {
    this.#options = options;
  }

  capabilities(): EngineCapabilities {
    const { serverUrl, base, text, profile } = this.#options;
    return {
      runtimeVersion: packageVersion(),
      device: `tinker (${serverUrl})`,
      models: [
        {
          name: base.name,
          maxContext: base.maxContext ?? text.maxContext ?? 32_768,
          vocabSize: text.vocabularySize,
          tokenizerSha256: text.tokenizerSha256,
          chatTemplateSha256: text.chatTemplateSha256,
          maxLoraRank,
          loraTargetModules: layerGroups,
        },
      ],
      losses: lossDefinitions.map(({ name, version, defaults }) => ({
        name,
        version,
        defaults: Object.fromEntries(Object.entries(defaults).filter(([key]) => !absentParameters.has(key))),
      })),
      maxBatchTokens: 4_000_000,
      features: [
        'lora',
        'lora_only',
        'unit_temperature',
        'reference_logprobs',
        'metrics',
        'progress',
        'pause',
        'initial_checkpoint',
        ...(profile.hasSnapshots ? [] : ['on_policy_only']),
      ],
    };
  }

  async createModel(options: CreateModelOptions): Promise<TinkerModel> {
    const { modelId, baseModel, seed, lora, initialCheckpoint } = options;
    const { base, models, checkpointDir, session, profile, text, baseUrl, clock } = this.#options;
    if (baseModel !== base.name) throw new NotFoundError('Base model', baseModel);
    const rank = lora?.rank ?? 1;
    assertAlpha(lora?.alpha, rank);
    const remoteOptions = { baseModel, rank, seed, layers: layersOf(lora?.targetModules) };
    const initialWeights = await initialWeightsOf(checkpointDir, initialCheckpoint, { baseModel, rank });
    const model = await TinkerModel.create({
      modelId,
      remoteOptions,
      session,
      profile,
      text,
      checkpoints: new CheckpointFolder(checkpointDir, modelId),
      ...initialWeights,
      baseUrl,
      clock,
      onUnload: () => models.delete(modelId),
    });
    models.set(modelId, model);
    return model;
  }

  async close(): Promise<void> {
    const { models, session, onClose } = this.#options;
    await Promise.allSettled([...models.values()].map((model) => model.unload()));
    session.close();
    await onClose();
  }
}

/** The server chooses alpha; the contract's default, the rank, means that none is asked for. */
function assertAlpha(alpha: number | undefined, rank: number): void {
  if (alpha === undefined || alpha === rank) return;
  throw new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `lora.alpha is ${alpha}, but a Tinker server chooses alpha itself`,
    remedy: 'Leave `alpha` out.',
    details: { field: 'lora.alpha' },
  });
}

function layersOf(modules: readonly string[] | undefined): readonly LayerGroup[] {
  return modules === undefined ? layerGroups : layerGroups.filter((group) => modules.includes(group));
}

async function initialWeightsOf(
  checkpointDir: string,
  uri: string | undefined,
  { baseModel, rank }: { readonly baseModel: string; readonly rank: number },
): Promise<{ readonly initialWeights?: string }> {
  if (uri === undefined) return {};
  const facts = await CheckpointFolder.readAny(checkpointDir, uri);
  if (facts.baseModel === baseModel && facts.rank === rank) return { initialWeights: facts.weights };
  throw new AgentLightningError({
    code: 'RUNTIME_REJECTED',
    message: `Checkpoint ${uri} is of ${facts.baseModel} with rank ${facts.rank}, not of ${baseModel} with rank ${rank}`,
    details: { field: 'initial_checkpoint' },
  });
}
