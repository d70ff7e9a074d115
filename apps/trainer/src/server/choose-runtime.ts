import { AgentLightningError } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { didYouMean } from '@agentlightning/core/settings';
import { baseModels } from '@agentlightning/runtime-cpu/internal';
import { countMachineGpus, gpusOf } from '../runtime/gpu-runtime.ts';
import { commandWords } from './command-words.ts';
import type { ServerSettings } from './settings/server-settings.ts';

/** The runtime that a server trains with. */
export type RuntimeChoice =
  | { readonly type: 'running'; readonly address: string }
  | {
      /** A server that speaks the Tinker API, through a runtime that the server starts. */
      readonly type: 'tinker';
      readonly baseUrl: string;
      readonly model: string;
      /** Further command line arguments of the runtime. */
      readonly arguments: readonly string[];
    }
  | { readonly type: 'embedded' }
  | {
      /** The GPU runtime, started by the server. */
      readonly type: 'gpu';
      readonly python: string;
      readonly model: string;
      /** 0 for the CPU. */
      readonly gpus: number;
      /** Further command line arguments. */
      readonly arguments: readonly string[];
    };

type RuntimeSettings = Pick<ServerSettings, 'runtime' | 'runtimePython' | 'runtimeArguments' | 'model' | 'gpus'>;

const embeddedModels = baseModels.map(({ name }) => name);

/**
 * Chooses the runtime: the Tinker server or the running one that is configured; the GPU runtime, when its interpreter, arguments or
 * GPUs are requested, or the model is not one of the embedded runtime; otherwise the embedded one.
 *
 * @throws AgentLightningError CONFIG when there are fewer GPUs than requested, no GPU runtime for the model, a Tinker server without a
 *   model, or arguments for a runtime that is already running
 */
export async function chooseRuntime(settings: RuntimeSettings): Promise<RuntimeChoice> {
  const { runtime, runtimePython, runtimeArguments, model, gpus } = settings;
  const args = runtimeArguments === null ? [] : commandWords(runtimeArguments);
  if (runtime !== null) {
    if (/^https?:\/\//.test(runtime)) return tinkerAt(runtime, { model, arguments: args });
    if (runtimeArguments !== null) throw argumentsOfRunning(runtime);
    return { type: 'running', address: runtime };
  }
  const hasEmbeddedModel = model === null || embeddedModels.includes(model);
  const isGpuRequested = runtimePython !== null || runtimeArguments !== null || (gpus ?? 0) > 0;
  if (!isGpuRequested && hasEmbeddedModel) return { type: 'embedded' };
  const python = runtimePython ?? 'python3';
  const found = await gpusOf(python).catch(async (cause: unknown) => {
    throw await withoutRuntime(settings, cause);
  });
  if (model === null) throw noModel(python);
  if (gpus !== null && gpus > found.length) throw tooFewGpus(gpus, `${python} finds ${listOf(found)}`);
  return { type: 'gpu', python, model, gpus: gpus ?? found.length, arguments: args };
}

/** Why a machine without the GPU runtime cannot train. */
async function withoutRuntime({ runtimePython, model, gpus }: RuntimeSettings, cause: unknown): Promise<unknown> {
  if (!AgentLightningError.isInstance(cause) || cause.code !== 'CONFIG') return cause;
  if (gpus !== null && gpus > 0) {
    const count = await countMachineGpus();
    if (count < gpus) return tooFewGpus(gpus, `this machine has ${count}`);
  }
  if (runtimePython !== null || model === null) return cause;
  const message = cause.message.replace(/^\[\w+\] /, '');
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the embedded runtime has no model "${model}"${didYouMean(model, embeddedModels)}; ${message}`,
    remedy: `Use one of its models (${embeddedModels.join(', ')}), or a GPU runtime. ${cause.remedy}`,
    cause,
  });
}

/** @param found - the predicate of the sentence: what there is */
export function tooFewGpus(gpus: number, found: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `${gpus} GPUs were requested, and ${found}`,
    remedy: 'Lower --gpus, leave it out, or pass --runtime host:port of a runtime on a machine with as many GPUs.',
  });
}

function argumentsOfRunning(runtime: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `--runtime-arguments has no effect on the runtime at ${runtime}, which is already running`,
    remedy: 'Pass the arguments where that runtime is started, or remove --runtime.',
  });
}

function tinkerAt(
  baseUrl: string,
  { model, ...rest }: { readonly model: string | null; readonly arguments: readonly string[] },
): RuntimeChoice {
  if (model !== null) return { type: 'tinker', baseUrl, model, ...rest };
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the Tinker server at ${addressText(baseUrl)} needs a model, and none is set`,
    remedy: 'Pass the name of one that it trains, such as --model Qwen/Qwen3-4B.',
  });
}

function listOf(gpus: readonly string[]): string {
  return gpus.length === 0 ? '0' : `${gpus.length}: ${gpus.join(', ')}`;
}

function noModel(python: string): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `the GPU runtime of ${python} needs a model, and none is set`,
    remedy: 'Pass one, such as --model Qwen/Qwen3-4B or --model name=/a/folder.',
  });
}
