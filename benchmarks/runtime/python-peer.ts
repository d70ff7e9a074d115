import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const sources = path.join(import.meta.dirname, '../../apps/gpu-runtime/src');
const speeds = z.object({ stepSeconds: z.array(z.number()), sampledPerSecond: z.array(z.number()).default([]) });

/** What a Python program beside this file measured. */
export type PeerSpeeds = z.infer<typeof speeds>;

/** Runs a Python program beside this file: it gets an order as JSON, and ends with a line of JSON. */
export async function runPeer(python: string, program: string, order: object): Promise<PeerSpeeds> {
  const env = { ...process.env, PYTHONPATH: sources, HF_HUB_OFFLINE: '1', TOKENIZERS_PARALLELISM: 'false' };
  const child = spawn(python, [path.join(import.meta.dirname, program)], { stdio: ['pipe', 'pipe', 'inherit'], env });
  child.stdin.end(JSON.stringify(order));
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${program} ended with exit code ${code}`);
  return speeds.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? ''));
}
