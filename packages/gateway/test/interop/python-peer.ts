import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '@agentlightning/core';
import { freePort } from '../../../../tools/free-port.ts';

/** The input of a training run in Python. */
export interface TrainingOrder {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  readonly endpoint: string;
  readonly questions: readonly string[];
  readonly n: number;
  readonly is_train: boolean;
}

/** The result of a training run in Python. */
export interface TrainingOutcome {
  readonly registered: readonly JsonObject[];
  readonly completed: readonly CompletedRollout[];
  /** The responses to pause, state and resume. */
  readonly pause: readonly JsonObject[];
  /** The status of reading each rollout after the trainer deleted it. */
  readonly left: readonly number[];
  readonly deleted: JsonObject;
}

/** A finished rollout as the Python trainer reads it. */
export interface CompletedRollout {
  readonly rollout_id: string;
  readonly input: JsonObject;
  readonly rollout_state: string;
  readonly error_message: string | null;
  readonly final_reward: number | null;
  readonly triplets: readonly {
    readonly prompt: { readonly token_ids: readonly number[] };
    readonly response: { readonly token_ids: readonly number[]; readonly log_probs: readonly number[] | null };
    readonly reward: number | null;
    readonly metadata: JsonObject;
  }[];
  readonly events: readonly (JsonObject & { readonly event_type: string; readonly data: JsonObject })[];
  readonly triplet_events: readonly JsonObject[];
}

/** Runs a batch of rollouts on a server with the Python trainer and controller. */
export async function trainInPython(python: string, order: TrainingOrder): Promise<TrainingOutcome> {
  const child = spawn(python, [join(import.meta.dirname, 'peer.py')]);
  child.stdin.end(JSON.stringify(order));
  const [result, complaints] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (result === '') throw new TypeError(`The Python process failed:\n${complaints}`);
  return JSON.parse(result);
}

/** Python's `agl-server`. */
export interface PythonServer extends AsyncDisposable {
  readonly url: string;
}

/** Starts `agl-server` with one model. */
export async function startPythonServer(
  python: string,
  options: { readonly key: string; readonly model: string },
): Promise<PythonServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = [`host=127.0.0.1`, `port=${port}`, `key=${options.key}`, 'hydra.run.dir=/tmp'];
  const args = ['-m', 'agentlightning.server', ...settings, `default_proxy.model_name=${options.model}`];
  const child = spawn(python, [...args, 'hydra.output_subdir=null', 'hydra/job_logging=none'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  let complaints = '';
  const isUp = new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      complaints += part;
      if (complaints.includes('Uvicorn running')) resolve();
    });
    void ended.then(() => reject(new TypeError(`agl-server ended:\n${complaints}`)));
  });
  await isUp;
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
