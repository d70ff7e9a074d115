import { type ExecFileException, execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { AgentLightningError } from '@agentlightning/core';
import { parse } from '@agentlightning/core/internal';
import { randomApiKey } from '@agentlightning/runtime/internal/serving';
import { z } from 'zod';
import { environmentVariables } from '../config/environment.ts';
import { type LaunchedRuntime, launchRuntime } from './launch-runtime.ts';

/** The Python module of the GPU runtime. */
const runtimeModule = 'agentlightning_runtime';

/** Options of {@link launchGpuRuntime}. */
export interface GpuRuntimeOptions {
  /** The Python interpreter that has the runtime. */
  readonly python: string;
  /** `[NAME=]SOURCE` of the base model. */
  readonly model: string;
  /** The number of GPUs; 0 for the CPU. */
  readonly gpus: number;
  /** Further command line arguments, which replace those of the server. */
  readonly arguments: readonly string[];
  readonly checkpointDir: string;
  /** The file that its log is appended to. */
  readonly logFile: string;
}

/** Time limit for the start, in milliseconds: the first one may download the model. */
const startTimeoutMs = 3_600_000;

/** Time limit for the end, in milliseconds: a running operation finishes. */
const closeTimeoutMs = 60_000;

/** Time limit for the list of GPUs, in milliseconds: importing torch is slow on a busy machine. */
const listTimeoutMs = 120_000;

const devicesSchema = z.object({ gpus: z.array(z.string()) });

/**
 * The names of the GPUs that the runtime of a Python interpreter can use.
 *
 * @param timeoutMs - time limit of the list, in milliseconds
 * @throws AgentLightningError CONFIG when the interpreter or its runtime is missing; TIMEOUT
 */
export async function gpusOf(python: string, timeoutMs: number = listTimeoutMs): Promise<readonly string[]> {
  try {
    const { stdout } = await promisify(execFile)(python, ['-m', runtimeModule, 'devices'], { timeout: timeoutMs });
    return parse(devicesSchema, JSON.parse(stdout), 'the list of GPUs').gpus;
  } catch (cause) {
    const { stderr = '', message, killed = false } = cause as ExecFileException;
    if (killed) {
      throw new AgentLightningError({
        code: 'TIMEOUT',
        message: `${python} has not listed its GPUs within ${timeoutMs / 1000} s`,
        remedy: `Run \`${python} -m ${runtimeModule} devices\` to see what it waits for; a busy machine imports torch slowly.`,
        cause,
      });
    }
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `no GPU runtime is installed for ${python}: ${lastLineOf(stderr) ?? message}`,
      remedy:
        'Install it (`pip install` of apps/gpu-runtime) and pass the interpreter of its environment with --runtime-python, or --runtime host:port of a running one.',
      cause,
    });
  }
}

/** The number of GPUs of this machine according to the driver; 0 without one. */
export async function countMachineGpus(): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', ['-L'], { timeout: 20_000 });
    return stdout.split('\n').filter((line) => line.startsWith('GPU ')).length;
  } catch {
    // Without a driver there is no GPU to use.
    return 0;
  }
}

/**
 * Starts the GPU runtime in a separate process, with one process for each GPU.
 *
 * @throws AgentLightningError RUNTIME_UNAVAILABLE when it does not start
 */
export async function launchGpuRuntime(options: GpuRuntimeOptions): Promise<LaunchedRuntime> {
  const { python, model, gpus, checkpointDir, logFile } = options;
  await mkdir(path.dirname(logFile), { recursive: true });
  const log = createWriteStream(logFile, { flags: 'a' });
  const apiKey = randomApiKey();
  const launcher = gpus > 1 ? ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(gpus)] : [];
  const flags = ['--model', model, '--checkpoints', checkpointDir, '--port', '0', '--inference-port', '0'];
  const device = gpus === 0 ? ['--device', 'cpu'] : [];
  const runtime = await launchRuntime({
    name: 'the GPU runtime',
    command: [
      python,
      ...launcher,
      '-m',
      runtimeModule,
      'serve',
      ...flags,
      ...device,
      '--until-stdin-ends',
      ...options.arguments,
    ],
    environment: {
      ...environmentVariables(),
      AGENTLIGHTNING_RUNTIME_KEY: apiKey,
      AGENTLIGHTNING_INFERENCE_KEY: apiKey,
    },
    apiKey,
    startTimeoutMs,
    closeTimeoutMs,
    remedy: `Read its log: ${logFile}. \`${python} -m ${runtimeModule} doctor --model ${model}\` checks this machine.`,
    onLine: (line) => log.write(`${line}\n`),
  });
  void runtime.died.then(() => log.end());
  const close = async (): Promise<void> => {
    await runtime.close();
    log.end();
  };
  return { ...runtime, close };
}

function lastLineOf(text: string): string | null {
  return text.trimEnd().split('\n').at(-1) || null;
}
