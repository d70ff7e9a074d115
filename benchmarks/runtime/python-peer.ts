import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const sources = path.join(import.meta.dirname, '../../apps/gpu-runtime/src');
const answer = z.object({ measured: z.number() });

/** A Python program beside this file: it executes one request at a time and returns the measurement. */
export interface Peer {
  /** Has it do something once, and gives the number that it measured. */
  ask(what: string): Promise<number>;
  close(): Promise<void>;
}

/** Starts a Python program beside this file; its first line of input is an order as JSON. */
export function startPeer(python: string, program: string, order: object): Peer {
  const env = { ...process.env, PYTHONPATH: sources, HF_HUB_OFFLINE: '1', TOKENIZERS_PARALLELISM: 'false' };
  const child = spawn(python, [path.join(import.meta.dirname, program)], { stdio: ['pipe', 'pipe', 'inherit'], env });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.write(`${JSON.stringify(order)}\n`);
  const ask = async (what: string): Promise<number> => {
    child.stdin.write(`${what}\n`);
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${program} ended while it was asked to ${what}; see its words above`);
      // Libraries print what they like.
      if (value.startsWith('{"measured"')) return answer.parse(JSON.parse(value)).measured;
    }
  };
  const close = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  return { ask, close };
}
